# twin: shared
"""Stored conversations for the tests, and the rule that every model request must keep."""

import threading
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from dex_agents.model.messages import AgentMessage, FrameworkMessage
from dex_agents.model.tool_calls import AgentToolCall, ToolCallStatus, ToolEffect
from dex_agents.stepwise.model_types import (
    ModelInputItem,
    ModelOutputItem,
    ModelOutputKind,
    ToolResultItem,
    UserTextItem,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)
UNKNOWN_OUTCOME = "It is unknown whether the tool took effect; it was not run again."


def stored(
    messages: Iterable[FrameworkMessage], turn_id: str = "turn-1", first_sequence: int = 1
) -> list[AgentMessage]:
    """Return messages as a session stores them."""
    return [
        AgentMessage(
            sequence=sequence,
            turn_id=turn_id,
            role=message.role,
            framework_item=message.framework_item,
            text=message.text,
            created_at=NOW,
            tool_call_id=message.tool_call_id,
            tool_name=message.tool_name,
            tool_arguments=message.tool_arguments,
        )
        for sequence, message in enumerate(messages, start=first_sequence)
    ]


def message_item(text: str, provider: str = "test") -> ModelOutputItem:
    """Return a model's message."""
    item = f'{{"said": "{text}"}}'
    return ModelOutputItem(kind=ModelOutputKind.MESSAGE, provider=provider, item=item, text=text)


def reasoning_item(text: str = "") -> ModelOutputItem:
    """Return a model's reasoning, opaque but for its summary."""
    item = '{"encrypted" :\t"\\u00e9=="}'
    return ModelOutputItem(kind=ModelOutputKind.REASONING, provider="test", item=item, text=text)


def call_item(call_id: str, name: str = "look", arguments: str = "{}") -> ModelOutputItem:
    """Return a model's tool call."""
    return ModelOutputItem(
        kind=ModelOutputKind.TOOL_CALL,
        provider="test",
        item=f'{{"id": "{call_id}"}}',
        tool_call_id=call_id,
        tool_name=name,
        arguments=arguments,
    )


def result_item(call_id: str, output: str = "found", name: str = "look") -> ToolResultItem:
    """Return the result of a call of `call_item`."""
    return ToolResultItem(tool_call_id=call_id, tool_name=name, output=output)


def record(
    call_id: str,
    status: ToolCallStatus = ToolCallStatus.SUCCEEDED,
    *,
    name: str = "look",
    arguments: str = "{}",
    output: str | None = "found",
    order: int = 0,
    turn_id: str = "turn-1",
    reference: str | None = None,
) -> AgentToolCall:
    """Return the record of a call."""
    return AgentToolCall(
        tool_call_id=call_id,
        turn_id=turn_id,
        tool_name=name,
        arguments=arguments,
        effect=ToolEffect.READ,
        requires_approval=False,
        status=status,
        deferral_order=order,
        output=output if status is ToolCallStatus.SUCCEEDED else None,
        tool_source_reference=reference,
    )


def check_paired(items: Sequence[ModelInputItem]) -> None:
    """Check that each response's calls have one result each, directly after it and in order."""
    pending: list[str] = []
    is_answering = False
    for item in items:
        if isinstance(item, ToolResultItem):
            assert pending, f"a result without its call: {item}"
            assert item.tool_call_id == pending.pop(0), f"a result out of order: {item}"
            is_answering = True
            continue
        assert not (pending and is_answering), f"a call without its result before {item}"
        is_answering = False
        if isinstance(item, UserTextItem):
            assert not pending, f"calls without results: {pending}"
        elif item.kind is ModelOutputKind.TOOL_CALL:
            assert item.tool_call_id not in pending, f"one ID twice in one response: {item}"
            pending.append(item.tool_call_id or "")
    assert not pending, f"calls without results: {pending}"


def thread_name() -> str:
    """Return the name of the thread that calls."""
    return threading.current_thread().name
