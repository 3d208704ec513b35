# twin: shared
"""Build a model's input from committed state alone.

Whatever is stored, a provider gets every tool call with exactly one result, and no result without
its call. IDs of tool calls may repeat in later turns, so a call and its result belong to one turn.
"""

from collections.abc import Sequence
from dataclasses import replace

from dex_agents.model.messages import AgentMessage
from dex_agents.model.tool_calls import AgentToolCall, ToolCallStatus, ToolEffect
from dex_agents.runner.turn_values import AgentTurn
from dex_agents.session.notes import describe_tool_call_outcome
from dex_agents.stepwise.model_types import (
    ModelInputItem,
    ModelOutputItem,
    ModelOutputKind,
    ToolResultItem,
    UserTextItem,
)
from dex_agents.stepwise.stored_items import is_tool_call, read_item


def results_to_store(turn: AgentTurn) -> tuple[ToolResultItem, ...]:
    """Return the results that this turn's stored tool calls still lack, in the model's order.

    A call without a final record may have taken effect, and its result says so.
    """
    answered: set[str] = set()
    results: list[ToolResultItem] = []
    for message in reversed(turn.messages):
        if message.turn_id != turn.turn_id:
            break
        call_id = message.tool_call_id
        if call_id is None or call_id in answered:
            continue
        answered.add(call_id)
        if is_tool_call(message):
            results.append(_result_of(message, turn.recorded_tool_call(call_id)))
    return tuple(reversed(results))


def build_input_items(
    messages: Sequence[AgentMessage], turn_id: str, unstored_results: Sequence[ToolResultItem]
) -> tuple[ModelInputItem, ...]:
    """Return messages of whole turns as a model reads them, and results that are not stored yet.

    Args:
        messages: Stored messages, oldest first.
        turn_id: The turn of the results.
        unstored_results: What `results_to_store` returned.

    Raises:
        NonRetryableError: A stored message cannot be read.
    """
    entries = [(message.turn_id, read_item(message)) for message in messages]
    entries += ((turn_id, result) for result in unstored_results)
    return pair_tool_calls(entries)


def pair_tool_calls(entries: Sequence[tuple[str, ModelInputItem]]) -> tuple[ModelInputItem, ...]:
    """Put the result of each tool call directly after the response that asked for it.

    Args:
        entries: Turn ID and item, oldest first.

    Returns:
        The items, with a text for each missing result and without a result that has no call.
    """
    results = _match_results(entries)
    items: list[ModelInputItem] = []
    # The calls of one response, by ID, with the positions of their entries.
    open_calls: dict[str, int] = {}
    has_result_begun = False

    def close_response() -> None:
        items.extend(
            results.get(position) or _missing_result(*entries[position])
            for position in open_calls.values()
        )
        open_calls.clear()

    turn_id = ""
    for position, (item_turn_id, item) in enumerate(entries):
        if isinstance(item, ToolResultItem):
            has_result_begun = has_result_begun or bool(open_calls)
            continue
        call_id = _call_id(item)
        is_user = isinstance(item, UserTextItem)
        if is_user or has_result_begun or item_turn_id != turn_id or call_id in open_calls:
            close_response()
            has_result_begun = False
        turn_id = item_turn_id
        items.append(item)
        if call_id is not None:
            open_calls[call_id] = position
    close_response()
    return tuple(items)


def _match_results(
    entries: Sequence[tuple[str, ModelInputItem]],
) -> dict[int, ToolResultItem]:
    """Return the result of each call by the position of the call; the first result counts."""
    unanswered: dict[tuple[str, str], int] = {}
    results: dict[int, ToolResultItem] = {}
    for position, (turn_id, item) in enumerate(entries):
        call_id = _call_id(item)
        if call_id is not None:
            unanswered[turn_id, call_id] = position
        elif isinstance(item, ToolResultItem):
            answered = unanswered.pop((turn_id, item.tool_call_id), None)
            if answered is not None:
                results[answered] = item
    return results


def _call_id(item: ModelInputItem) -> str | None:
    if isinstance(item, ModelOutputItem) and item.kind is ModelOutputKind.TOOL_CALL:
        return item.tool_call_id or ""
    return None


def _result_of(message: AgentMessage, record: AgentToolCall | None) -> ToolResultItem:
    """Return the result of a stored call from its record."""
    if record is None:
        output = _unknown_outcome(message.turn_id, message.tool_call_id or "")
    elif record.is_final:
        output = describe_tool_call_outcome(record)
    else:
        output = describe_tool_call_outcome(replace(record, status=ToolCallStatus.OUTCOME_UNKNOWN))
    return ToolResultItem(
        tool_call_id=message.tool_call_id or "", tool_name=message.tool_name or "", output=output
    )


def _missing_result(turn_id: str, item: ModelInputItem) -> ToolResultItem:
    call_id = _call_id(item) or ""
    name = item.tool_name if isinstance(item, ModelOutputItem) else None
    return ToolResultItem(
        tool_call_id=call_id, tool_name=name or "", output=_unknown_outcome(turn_id, call_id)
    )


def _unknown_outcome(turn_id: str, tool_call_id: str) -> str:
    """Return the text of an outcome that nobody knows, in the session's own words."""
    record = AgentToolCall(
        tool_call_id=tool_call_id,
        turn_id=turn_id,
        tool_name="",
        arguments="",
        effect=ToolEffect.UNCLASSIFIED,
        requires_approval=False,
        status=ToolCallStatus.OUTCOME_UNKNOWN,
        deferral_order=0,
    )
    return describe_tool_call_outcome(record)
