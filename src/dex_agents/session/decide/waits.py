# twin: shared
"""AwaitToolApproval and ResumeTurn: where a turn waits for a person and for its calls."""

import math
from dataclasses import replace

from dex_agents.errors import StoredValueError
from dex_agents.model.interrupts import AgentInterrupt, AgentInterruptResolution, InterruptKind
from dex_agents.model.tool_calls import AgentToolCall, ToolCallStatus
from dex_agents.session.decide.model_entry import move_to_model
from dex_agents.session.decide.records import (
    current_state,
    event_source,
    fail_turn,
    finish_tool_call,
    own_tool_call,
    turn_tool_calls,
)
from dex_agents.session.decide.routing import tool_movement
from dex_agents.session.definition import SessionDefinition
from dex_agents.session.notes import DEADLINE_REJECTION_MESSAGE
from dex_agents.session.ports import (
    DEAD_END,
    ChannelWait,
    Movement,
    StepIO,
    StepPlan,
    TimerWait,
    Wait,
    go_to,
)
from dex_agents.session.schema import (
    AGENT_TOOL_CALLS,
    INTERRUPT_RESOLUTIONS,
    PENDING_INTERRUPTS,
    TOOL_CALL_RESULTS,
)
from dex_agents.session.step_names import AWAIT_TOOL_APPROVAL, RESUME_TURN


def wait_for_approval(session: SessionDefinition, io: StepIO, step_input: str | None) -> Wait:
    """Wait for the person's decision, and for the deadline while the interrupt is pending."""
    tool_call_id = step_input or ""
    conditions: list[ChannelWait | TimerWait] = [INTERRUPT_RESOLUTIONS.for_one(tool_call_id)]
    interrupt = _pending_interrupt(io, tool_call_id)
    if interrupt is not None and interrupt.deadline is not None:
        left = (interrupt.deadline - io.now).total_seconds()
        conditions.append(TimerWait(max(0, math.ceil(left))))
    return Wait(tuple(conditions))


def await_tool_approval(session: SessionDefinition, io: StepIO, step_input: str | None) -> StepPlan:
    """Apply a decision or a passed deadline; anything else waits again.

    The Step and `resolve_interrupt` both hold the lock of the pending interrupts, and each of them
    takes the interrupt away before it acts. So either the person decides or the deadline does.
    """
    tool_call_id, record = own_tool_call(io, step_input)
    if record is None or record.is_final:
        return StepPlan(DEAD_END)
    for resolution in INTERRUPT_RESOLUTIONS.results(io, tool_call_id):
        # A decision of an earlier turn, whose call had the same ID, is none on this call.
        if resolution.turn_id == record.turn_id:
            return _apply_resolution(io, record, resolution)
    interrupt = _pending_interrupt(io, tool_call_id)
    if interrupt is None or interrupt.deadline is None or io.now < interrupt.deadline:
        # The timer was early, or a decision came just before it and waits in its Channel.
        return StepPlan(go_to(Movement(AWAIT_TOOL_APPROVAL, tool_call_id)))
    remaining = PENDING_INTERRUPTS.get(io) or ()
    PENDING_INTERRUPTS.set(io, tuple(other for other in remaining if other != interrupt))
    return _reject(io, record, DEADLINE_REJECTION_MESSAGE)


def wait_for_results(session: SessionDefinition, io: StepIO, step_input: str | None) -> Wait:
    """Wait until as many calls have ended as the input says."""
    return Wait((TOOL_CALL_RESULTS.for_n(int(step_input or "1")),))


def resume_turn(session: SessionDefinition, io: StepIO, step_input: str | None) -> StepPlan:
    """Go on to the model once every call of the turn is final, else wait for the rest."""
    state = current_state(io)
    if state.active_turn_id is None:
        return StepPlan(DEAD_END)
    try:
        records = turn_tool_calls(io, state.active_turn_id)
    except StoredValueError as error:
        return fail_turn(session, io, state, str(error))
    unfinished = sum(1 for record in records.values() if not record.is_final)
    if unfinished:
        # A result was consumed that is none of this turn's; each open call will still send one.
        return StepPlan(go_to(Movement(RESUME_TURN, str(unfinished))))
    return move_to_model(session, io, state)


def _pending_interrupt(io: StepIO, tool_call_id: str) -> AgentInterrupt | None:
    interrupts = PENDING_INTERRUPTS.get(io) or ()
    return next((found for found in interrupts if found.interrupt_id == tool_call_id), None)


def _apply_resolution(
    io: StepIO, record: AgentToolCall, resolution: AgentInterruptResolution
) -> StepPlan:
    if not resolution.approved:
        return _reject(io, record, resolution.rejection_message)
    AGENT_TOOL_CALLS.set(io, record.tool_call_id, replace(record, status=ToolCallStatus.APPROVED))
    resolved = event_source(io, record.turn_id).interrupt_resolved(
        record.tool_call_id, InterruptKind.APPROVAL, approved=True
    )
    return StepPlan(go_to(tool_movement(record)), (resolved,))


def _reject(io: StepIO, record: AgentToolCall, rejection_message: str | None) -> StepPlan:
    resolved = event_source(io, record.turn_id).interrupt_resolved(
        record.tool_call_id,
        InterruptKind.APPROVAL,
        approved=False,
        rejection_message=rejection_message,
    )
    rejected = replace(record, status=ToolCallStatus.REJECTED, rejection_message=rejection_message)
    return StepPlan(DEAD_END, (resolved, finish_tool_call(io, rejected)))
