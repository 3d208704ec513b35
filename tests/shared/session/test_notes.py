# twin: shared
"""What the model reads about its tool calls says what happened, in few words."""

from typing import Any

import pytest

from dex_agents.model.tool_calls import CancellationReason, ToolCallStatus
from dex_agents.session.notes import build_turn_failure_note, describe_tool_call_outcome
from tests.shared.session.flows import tool_call


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"status": ToolCallStatus.SUCCEEDED, "output": "7"}, "7"),
        ({"status": ToolCallStatus.SUCCEEDED}, ""),
        ({"status": ToolCallStatus.FAILED, "error": "no order"}, "The tool call failed: no order"),
        ({"status": ToolCallStatus.FAILED}, "The tool call failed."),
        (
            {"status": ToolCallStatus.REJECTED, "rejection_message": "too much"},
            "The tool was not run: the call was rejected: too much",
        ),
        ({"status": ToolCallStatus.REJECTED}, "The tool was not run: the call was rejected."),
        (
            {
                "status": ToolCallStatus.REJECTED,
                "cancellation_reason": CancellationReason.STEERED,
            },
            '{"status":"cancelled","reason":"superseded_by_steered_user_message"}',
        ),
        (
            {
                "status": ToolCallStatus.REJECTED,
                "cancellation_reason": CancellationReason.TURN_CANCELLED,
            },
            '{"status":"cancelled","reason":"turn_cancelled_by_user"}',
        ),
        (
            {"status": ToolCallStatus.OUTCOME_UNKNOWN, "error": "died"},
            "It is unknown whether the tool took effect; it was not run again: died",
        ),
    ],
)
def test_every_end_of_a_call_has_its_text(changes: dict[str, Any], text: str) -> None:
    assert describe_tool_call_outcome(tool_call(**changes)) == text


@pytest.mark.parametrize("status", [status for status in ToolCallStatus if not status.is_final])
def test_a_call_that_still_runs_has_no_outcome(status: ToolCallStatus) -> None:
    with pytest.raises(ValueError, match="'call-1' is still"):
        describe_tool_call_outcome(tool_call(status=status))


def test_a_note_quotes_no_more_than_it_must() -> None:
    record = tool_call(status=ToolCallStatus.SUCCEEDED, output="x" * 200_000, arguments="y" * 9000)
    assert len(build_turn_failure_note([record])) < 5000
