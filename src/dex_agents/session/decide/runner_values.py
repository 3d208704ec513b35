# twin: shared
"""Check what a runner hands over, so that nothing invalid is ever stored."""

from collections.abc import Collection, Sequence
from types import UnionType
from typing import Final, cast

from dex_agents.model.messages import FrameworkMessage, MessageRole
from dex_agents.model.state import AgentUsage
from dex_agents.model.text import clean_text
from dex_agents.model.tool_calls import ToolPolicy
from dex_agents.runner.builders import UserMessageBuilder
from dex_agents.runner.outcomes import (
    AgentTurnOutcome,
    DeferredToolCall,
    ToolCallsRequested,
    TurnCompleted,
)
from dex_agents.session.call_values import error_text

_STR_OR_NONE: Final = str | None


class InvalidRunnerValueError(ValueError):
    """Say what a runner handed over wrongly; its text ends the turn."""


def checked_user_message(runner: UserMessageBuilder, text: str) -> FrameworkMessage:
    """Return the runner's user message for this text.

    Raises:
        InvalidRunnerValueError: It is no user message, or the runner raised.
    """
    try:
        message: object = runner.build_user_message(text)
    except Exception as error:
        # A pure function of the text: it would raise again on every attempt.
        raise InvalidRunnerValueError(f"build_user_message raised {error_text(error)}") from error
    (checked,) = checked_messages((message,), "build_user_message")
    if checked.role != MessageRole.USER:
        raise InvalidRunnerValueError(
            f"build_user_message returned a message with role {checked.role!r}, not 'user'"
        )
    return checked


def checked_messages(values: object, where: str) -> tuple[FrameworkMessage, ...]:
    """Return the values when all of them are messages that can be stored.

    Raises:
        InvalidRunnerValueError: They are not; the text starts with `where`.
    """
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise InvalidRunnerValueError(f"{where}: expected FrameworkMessage values")
    messages = tuple(cast("Sequence[object]", values))
    for message in messages:
        if not isinstance(message, FrameworkMessage):
            raise InvalidRunnerValueError(
                f"{where}: expected FrameworkMessage, found {type(message).__name__}"
            )
        _check_message(message, where)
    return cast("tuple[FrameworkMessage, ...]", messages)


def checked_turn_outcome(
    value: object, *, used_tool_call_ids: Collection[str], stores_unfinished_turns: bool
) -> AgentTurnOutcome:
    """Return what `run_model_step` returned, when the session can go on from it.

    Args:
        value: What it returned.
        used_tool_call_ids: The IDs of the turn's earlier calls.
        stores_unfinished_turns: Whether the runner implements `build_unfinished_turn_messages`.

    Raises:
        InvalidRunnerValueError: It is invalid; the text says what is wrong.
    """
    if not isinstance(value, TurnCompleted | ToolCallsRequested):
        raise InvalidRunnerValueError(
            "run_model_step must return TurnCompleted or ToolCallsRequested, "
            f"not {type(value).__name__}"
        )
    _check_usage(value.usage)
    checked_messages(value.new_messages, f"{type(value).__name__}.new_messages")
    if isinstance(value, ToolCallsRequested):
        _check_run_state(value.framework_run_state)
        if value.new_messages and not stores_unfinished_turns:
            raise InvalidRunnerValueError(
                "ToolCallsRequested.new_messages needs a runner that implements "
                "build_unfinished_turn_messages"
            )
        _check_tool_calls(value.tool_calls, used_tool_call_ids)
    return value


def _check_message(message: FrameworkMessage, where: str) -> None:
    if message.role not in tuple(MessageRole):
        raise InvalidRunnerValueError(f"{where}: {message.role!r} is no MessageRole")
    _check_fields(message, ("framework_item", "text"), str, where)
    _check_fields(message, ("tool_call_id", "tool_name", "tool_arguments"), _STR_OR_NONE, where)


def _check_fields(
    value: object, names: Sequence[str], expected: type | UnionType, where: str
) -> None:
    for name in names:
        found: object = getattr(value, name)
        if not isinstance(found, expected):
            wanted = getattr(expected, "__name__", str(expected))
            raise InvalidRunnerValueError(
                f"{where}: {type(value).__name__}.{name} must be of type {wanted}, "
                f"not {type(found).__name__}"
            )


def _check_usage(usage: object) -> None:
    if not isinstance(usage, AgentUsage):
        raise InvalidRunnerValueError(f"usage must be an AgentUsage, not {type(usage).__name__}")
    for name, count in usage.to_json().items():
        if type(count) is not int or count < 0:
            raise InvalidRunnerValueError(
                f"usage.{name} must be a whole number that is not negative"
            )


def _check_run_state(run_state: object) -> None:
    if not isinstance(run_state, str) or not run_state:
        raise InvalidRunnerValueError(
            "ToolCallsRequested.framework_run_state must be a str that is not empty"
        )


def _check_tool_calls(calls: object, used_tool_call_ids: Collection[str]) -> None:
    if not isinstance(calls, Sequence) or isinstance(calls, str) or not calls:
        raise InvalidRunnerValueError("ToolCallsRequested.tool_calls must hold at least one call")
    seen = set(used_tool_call_ids)
    for call in cast("Sequence[object]", calls):
        if not isinstance(call, DeferredToolCall):
            raise InvalidRunnerValueError(
                f"ToolCallsRequested.tool_calls: expected DeferredToolCall, "
                f"found {type(call).__name__}"
            )
        _check_tool_call(call)
        if call.tool_call_id in seen:
            raise InvalidRunnerValueError(
                f"tool call ID {call.tool_call_id!r} is used twice in one turn"
            )
        seen.add(call.tool_call_id)


def _check_tool_call(call: DeferredToolCall) -> None:
    where = "ToolCallsRequested.tool_calls"
    _check_fields(call, ("tool_call_id", "tool_name", "arguments"), str, where)
    _check_fields(call, ("policy",), ToolPolicy, where)
    _check_fields(call, ("tool_source_reference",), _STR_OR_NONE, where)
    call_id = call.tool_call_id
    if not call_id or "/" in call_id or clean_text(call_id) != call_id:
        raise InvalidRunnerValueError(
            f"tool call ID {call_id!r} must be valid text, not empty, and without '/'"
        )
