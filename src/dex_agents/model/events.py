# twin: shared
"""Live events: what a browser or a log may follow while a turn runs.

Events are best effort. A page groups them by `(turn_id, step_execution_id, attempt)`, keeps the
highest attempt of a Step execution, and loads the snapshot once a turn has ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from dex_agents.model.interrupts import AgentInterrupt, InterruptKind
from dex_agents.model.state import AgentUsage
from dex_agents.model.tool_calls import AgentToolCall, CancellationReason, ToolCallStatus
from dex_agents.model.wire import JsonValue, WireValue, json_text, time_text


class AgentEventType(StrEnum):
    """What happened; a tool source may write types of its own."""

    TURN_STARTED = "turn_started"
    TURN_COMPLETED = "turn_completed"
    TURN_FAILED = "turn_failed"
    TURN_STEERED = "turn_steered"
    TURN_CANCELLED = "turn_cancelled"
    TEXT_DELTA = "text_delta"
    REASONING_DELTA = "reasoning_delta"
    TOOL_CALL_STARTED = "tool_call_started"
    TOOL_CALL_FINISHED = "tool_call_finished"
    TOOL_CALL_DEFERRED = "tool_call_deferred"
    INTERRUPT_RAISED = "interrupt_raised"
    INTERRUPT_RESOLVED = "interrupt_resolved"
    TIMER_STARTED = "timer_started"
    PLAN_UPDATED = "plan_updated"
    PLAN_EXECUTION_STARTED = "plan_execution_started"
    TOOL_TASK_STARTED = "tool_task_started"
    USAGE_RECORDED = "usage_recorded"
    COMPACTION_STARTED = "compaction_started"
    COMPACTION_FINISHED = "compaction_finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEvent(WireValue):
    """One event.

    Attributes:
        type: An `AgentEventType`, or a tool source's own.
        turn_id: The turn it belongs to.
        step_execution_id: The Step execution that wrote it, shared by all its attempts.
        attempt: That attempt, from 1.
        payload: A JSON object as text; its keys depend on the type.
    """

    type: str
    turn_id: str
    step_execution_id: str
    attempt: int
    payload: str


@dataclass(frozen=True, slots=True)
class EventSource:
    """Where events come from; turns types and payloads into stored text."""

    turn_id: str
    step_execution_id: str
    attempt: int

    def event(self, event_type: str, payload: Mapping[str, JsonValue]) -> str:
        """Return the JSON text of one event of this source."""
        # The same text as AgentEvent.to_text(), without its cost: a stream may have thousands.
        return json_text(
            {
                "type": str(event_type),
                "turn_id": self.turn_id,
                "step_execution_id": self.step_execution_id,
                "attempt": self.attempt,
                "payload": json_text(payload),
            }
        )

    def turn_started(self, sequence: int) -> str:
        """Say that a turn started with the user message of this sequence."""
        return self.event(AgentEventType.TURN_STARTED, {"sequence": sequence})

    def turn_completed(self, message_count: int) -> str:
        """Say that a turn ended well and stored this many messages with its end."""
        return self.event(AgentEventType.TURN_COMPLETED, {"message_count": message_count})

    def turn_failed(self, error: str) -> str:
        """Say that a turn ended with an error."""
        return self.event(AgentEventType.TURN_FAILED, {"error": error})

    def text_delta(self, text: str) -> str:
        """Pass on a piece of the model's text."""
        return self.event(AgentEventType.TEXT_DELTA, {"text": text})

    def reasoning_delta(self, text: str) -> str:
        """Pass on a piece of the model's reasoning."""
        return self.event(AgentEventType.REASONING_DELTA, {"text": text})

    def tool_call_deferred(self, record: AgentToolCall) -> str:
        """Say that the model asked for a tool call."""
        return self.event(
            AgentEventType.TOOL_CALL_DEFERRED,
            {
                "tool_call_id": record.tool_call_id,
                "tool_name": record.tool_name,
                "effect": record.effect.value,
                "requires_approval": record.requires_approval,
            },
        )

    def tool_call_started(self, tool_call_id: str, tool_name: str) -> str:
        """Say that a tool starts to run."""
        return self.event(
            AgentEventType.TOOL_CALL_STARTED,
            {"tool_call_id": tool_call_id, "tool_name": tool_name},
        )

    def tool_call_finished(self, tool_call_id: str, tool_name: str, status: ToolCallStatus) -> str:
        """Say that a tool call is over, however it ended."""
        return self.event(
            AgentEventType.TOOL_CALL_FINISHED,
            {
                "tool_call_id": tool_call_id,
                "tool_name": tool_name,
                "status": ToolCallStatus(status).value,
            },
        )

    def interrupt_raised(self, interrupt: AgentInterrupt) -> str:
        """Say that a turn now waits for a person."""
        choices = interrupt.choices
        return self.event(
            AgentEventType.INTERRUPT_RAISED,
            {
                "interrupt_id": interrupt.interrupt_id,
                "tool_call_id": interrupt.tool_call_id,
                "tool_name": interrupt.tool_name,
                "deadline": None if interrupt.deadline is None else time_text(interrupt.deadline),
                "kind": interrupt.kind.value,
                "question": interrupt.question,
                "choices": None if choices is None else list(choices),
                "allows_free_text": interrupt.allows_free_text,
            },
        )

    def interrupt_resolved(
        self,
        interrupt_id: str,
        kind: InterruptKind,
        *,
        approved: bool,
        rejection_message: str | None = None,
        answered: bool = False,
        cancellation_reason: CancellationReason | None = None,
    ) -> str:
        """Say that an interrupt is no longer open, and how it was decided."""
        return self.event(
            AgentEventType.INTERRUPT_RESOLVED,
            {
                "interrupt_id": interrupt_id,
                "approved": approved,
                "rejection_message": rejection_message,
                "kind": kind.value,
                "answered": answered,
                "cancellation_reason": cancellation_reason,
            },
        )

    def usage_recorded(self, recorded: AgentUsage, session: AgentUsage) -> str:
        """Say what one call used, and what the session used so far."""
        return self.event(
            AgentEventType.USAGE_RECORDED,
            {"recorded": recorded.to_json(), "session": session.to_json()},
        )
