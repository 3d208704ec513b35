# twin: shared
"""Every event carries its source, and a payload of the promised shape."""

import json
from dataclasses import replace
from typing import Any

import pytest

from dex_agents.model.events import AgentEvent, AgentEventType, EventSource
from dex_agents.model.interrupts import InterruptKind
from dex_agents.model.tool_calls import ToolCallStatus
from tests.shared.model.samples import INTERRUPT, TOOL_CALL, USAGE

SOURCE = EventSource("turn-2", "RunModel-2", 3)


def read(text: str) -> tuple[str, dict[str, Any]]:
    event = AgentEvent.from_text(text)
    assert (event.turn_id, event.step_execution_id, event.attempt) == ("turn-2", "RunModel-2", 3)
    assert event.to_text() == text
    return event.type, json.loads(event.payload)


@pytest.mark.parametrize(
    ("text", "event_type", "payload"),
    [
        (SOURCE.turn_started(4), "turn_started", {"sequence": 4}),
        (SOURCE.turn_completed(2), "turn_completed", {"message_count": 2}),
        (SOURCE.turn_failed("no"), "turn_failed", {"error": "no"}),
        (SOURCE.text_delta('a"ü'), "text_delta", {"text": 'a"ü'}),
        (SOURCE.reasoning_delta("hm"), "reasoning_delta", {"text": "hm"}),
        (
            SOURCE.tool_call_started("c", "t"),
            "tool_call_started",
            {"tool_call_id": "c", "tool_name": "t"},
        ),
        (
            SOURCE.tool_call_finished("c", "t", ToolCallStatus.FAILED),
            "tool_call_finished",
            {"tool_call_id": "c", "tool_name": "t", "status": "failed"},
        ),
        (
            SOURCE.tool_call_deferred(TOOL_CALL),
            "tool_call_deferred",
            {
                "tool_call_id": "call-1",
                "tool_name": "lookup_order",
                "effect": "read",
                "requires_approval": False,
            },
        ),
        (
            SOURCE.interrupt_raised(INTERRUPT),
            "interrupt_raised",
            {
                "interrupt_id": "call-2",
                "tool_call_id": "call-2",
                "tool_name": "refund_order",
                "deadline": "2026-12-01T04:05:06.789000+00:00",
                "kind": "question",
                "question": "Which account?",
                "choices": ["first", "second"],
                "allows_free_text": False,
            },
        ),
        (
            SOURCE.interrupt_resolved(
                "call-2", InterruptKind.APPROVAL, approved=False, rejection_message="no"
            ),
            "interrupt_resolved",
            {
                "interrupt_id": "call-2",
                "approved": False,
                "rejection_message": "no",
                "kind": "approval",
                "answered": False,
                "cancellation_reason": None,
            },
        ),
        (
            SOURCE.usage_recorded(USAGE, USAGE + USAGE),
            "usage_recorded",
            {"recorded": USAGE.to_json(), "session": (USAGE + USAGE).to_json()},
        ),
    ],
)
def test_events_have_the_promised_shape(
    text: str, event_type: str, payload: dict[str, Any]
) -> None:
    assert read(text) == (event_type, payload)


def test_an_interrupt_without_deadline_or_choices_says_so() -> None:
    raised = SOURCE.interrupt_raised(replace(INTERRUPT, deadline=None, choices=None))
    _, payload = read(raised)
    assert (payload["deadline"], payload["choices"]) == (None, None)


def test_a_tool_source_may_write_types_of_its_own() -> None:
    assert read(SOURCE.event("mcp.tool_progress", {"progress": 1})) == (
        "mcp.tool_progress",
        {"progress": 1},
    )


def test_a_lone_surrogate_of_the_model_does_not_break_the_stream() -> None:
    event = SOURCE.text_delta("a\ud800")
    event.encode()
    assert json.loads(AgentEvent.from_text(event).payload) == {"text": "a�"}


def test_the_event_types_are_the_promised_ones() -> None:
    assert len(AgentEventType) == 19
