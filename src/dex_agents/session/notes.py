# twin: shared
"""What the model reads about its tool calls when no tool wrote it."""

from collections.abc import Iterable
from typing import Final

from dex_agents.model.text import bounded_text
from dex_agents.model.tool_calls import AgentToolCall, CancellationReason, ToolCallStatus
from dex_agents.model.wire import json_text

TOOL_CALL_NOT_RUN_ERROR_PREFIX: Final = "the tool did not run, so it is safe to call again"
MODEL_CALL_REFUSED_ERROR_PREFIX: Final = "the spend limit refused the model call"
TURN_FAILURE_NOTE_HEADER: Final = "[Dex] The previous turn failed after these tool calls ran:"
TURN_FAILURE_NOTE_END: Final = "Do not repeat these tool calls unless the user asks again."
DEADLINE_REJECTION_MESSAGE: Final = "approval deadline passed"

_CANCELLATION_OUTCOMES: Final = {
    CancellationReason.STEERED: "superseded_by_steered_user_message",
    CancellationReason.TURN_CANCELLED: "turn_cancelled_by_user",
}

# A note stays in the conversation for good, so it quotes no more of a call than tells it apart.
_NOTE_QUOTE_BYTES: Final = 2000


def describe_tool_call_outcome(record: AgentToolCall) -> str:
    """Return the text that the model reads as the result of a finished call.

    Raises:
        ValueError: The call is not over yet.
    """
    if record.status is ToolCallStatus.SUCCEEDED:
        return record.output or ""
    if record.cancellation_reason is not None and record.status is ToolCallStatus.REJECTED:
        reason = _CANCELLATION_OUTCOMES[record.cancellation_reason]
        return json_text({"status": "cancelled", "reason": reason})
    if record.status is ToolCallStatus.REJECTED:
        return _with_detail("The tool was not run: the call was rejected", record.rejection_message)
    if record.status is ToolCallStatus.FAILED:
        return _with_detail("The tool call failed", record.error)
    if record.status is ToolCallStatus.OUTCOME_UNKNOWN:
        return _with_detail(
            "It is unknown whether the tool took effect; it was not run again", record.error
        )
    raise ValueError(f"tool call {record.tool_call_id!r} is still {record.status}")


def build_turn_failure_note(records: Iterable[AgentToolCall]) -> str:
    """Return the note that keeps the next turn from repeating what a failed one did.

    Args:
        records: The failed turn's finished calls, in the model's order.
    """
    lines = [TURN_FAILURE_NOTE_HEADER]
    for record in records:
        arguments = bounded_text(record.arguments, _NOTE_QUOTE_BYTES)
        outcome = bounded_text(describe_tool_call_outcome(record), _NOTE_QUOTE_BYTES)
        lines.append(f"- {record.tool_name} {arguments} -> {record.status}: {outcome}")
    lines.append(TURN_FAILURE_NOTE_END)
    return "\n".join(lines)


def result_left_out_error(tool_name: str, reason: str) -> str:
    """Return the error of a read whose result cannot be kept."""
    return f"tool {tool_name}: the result was left out: {reason}"


def result_left_out_output(tool_name: str, reason: str) -> str:
    """Return the output of a write that ran and whose result cannot be kept."""
    return f"Tool {tool_name} ran to its end. Its result was left out: {reason}"


def result_over_limit_reason(size_bytes: int, limit_bytes: int) -> str:
    """Say that a result is too large, for the two texts above."""
    return f"it has {size_bytes} bytes and the limit is {limit_bytes} bytes"


def conversation_too_large_error(needed_bytes: int, limit_bytes: int) -> str:
    """Return the error of a turn whose conversation is too large for one Step of this engine."""
    return (
        f"the conversation has grown to {needed_bytes:,} bytes, and one model call of this engine "
        f"reads at most {limit_bytes:,}; set AgentSessionOptions.compaction, so that older "
        "messages are summarized"
    )


def tool_not_run_error(detail: str) -> str:
    """Return the error of a call whose tool provably never ran."""
    return f"{TOOL_CALL_NOT_RUN_ERROR_PREFIX}: {detail}"


def model_call_refused_error(reason: str) -> str:
    """Return the error of a turn that ends because a spend limit refused its model call."""
    return f"{MODEL_CALL_REFUSED_ERROR_PREFIX}: {reason}"


def _with_detail(sentence: str, detail: str | None) -> str:
    return f"{sentence}: {detail}" if detail else f"{sentence}."
