# twin: shared
"""What several decisions do with state, records and events."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dex_agents.errors import StoredValueError
from dex_agents.model.events import EventSource
from dex_agents.model.messages import AgentMessage
from dex_agents.model.state import AgentState
from dex_agents.model.text import bounded_text
from dex_agents.model.tool_calls import AgentToolCall, ToolCallCompleted, ToolCallStatus, ToolEffect
from dex_agents.runner.turn_values import AgentTurn
from dex_agents.session.context_summaries import summarized_through
from dex_agents.session.definition import SessionDefinition
from dex_agents.session.ports import StepIO, StepPlan, go_to
from dex_agents.session.schema import (
    AGENT_STATE,
    AGENT_TOOL_CALLS,
    FRAMEWORK_RUN_STATE,
    TOOL_CALL_RESULTS,
)
from dex_agents.session.stored_messages import messages_after
from dex_agents.session.turn_loads import turn_failure_movement

_logger = logging.getLogger("dex_agents.session")


def current_state(io: StepIO) -> AgentState:
    """Return the session's state, a fresh one before the session has initialized."""
    return AGENT_STATE.get(io) or AgentState()


def event_source(io: StepIO, turn_id: str) -> EventSource:
    """Return the source of this Step's events of a turn."""
    return EventSource(turn_id, io.step_execution_id, io.attempt)


def own_tool_call(io: StepIO, step_input: str | None) -> tuple[str, AgentToolCall | None]:
    """Return the tool call that a Step's input names, and its record if the turn still has it.

    A record that cannot be read counts as gone. The waiting turn is told, so that it reads all of
    its records and ends with an error that names this one, instead of waiting for ever.
    """
    tool_call_id = step_input or ""
    try:
        return tool_call_id, AGENT_TOOL_CALLS.get(io, tool_call_id)
    except StoredValueError as error:
        _logger.error("session %s: %s", io.flow_id, error)
        turn_id = current_state(io).active_turn_id or ""
        completed = ToolCallCompleted(tool_call_id=tool_call_id, turn_id=turn_id)
        TOOL_CALL_RESULTS.publish(io, completed)
        return tool_call_id, None


def turn_tool_calls(io: StepIO, turn_id: str) -> Mapping[str, AgentToolCall]:
    """Return a turn's records by tool call ID, in the model's order; loads all of them."""
    records = [AGENT_TOOL_CALLS.get(io, key) for key in AGENT_TOOL_CALLS.keys(io)]
    of_turn = [record for record in records if record is not None and record.turn_id == turn_id]
    of_turn.sort(key=lambda record: record.deferral_order)
    return {record.tool_call_id: record for record in of_turn}


def turn_of(
    session: SessionDefinition,
    io: StepIO,
    state: AgentState,
    turn_id: str,
    messages: Sequence[AgentMessage] | None = None,
) -> AgentTurn:
    """Return a turn's committed state as its runner sees it; loads messages and records.

    Args:
        session: The session.
        io: The Step.
        state: The session's state.
        turn_id: The turn.
        messages: What the runner sees of the conversation; `None` means all after the summary.
    """
    if messages is None:
        messages = messages_after(io, state, summarized_through(io))
    return AgentTurn(
        flow_id=io.flow_id,
        turn_id=turn_id,
        attempt=io.attempt,
        messages=messages,
        framework_run_state=FRAMEWORK_RUN_STATE.get(io),
        tool_calls=turn_tool_calls(io, turn_id),
        options=session.options,
    )


def finish_tool_call(io: StepIO, record: AgentToolCall) -> str:
    """Store a final record and tell the waiting turn, once per call; return the event."""
    AGENT_TOOL_CALLS.set(io, record.tool_call_id, record)
    completed = ToolCallCompleted(tool_call_id=record.tool_call_id, turn_id=record.turn_id)
    TOOL_CALL_RESULTS.publish(io, completed)
    source = event_source(io, record.turn_id)
    return source.tool_call_finished(record.tool_call_id, record.tool_name, record.status)


def failed_record(record: AgentToolCall, error: str, max_error_bytes: int) -> AgentToolCall:
    """Return the record of a call that failed, or, of a write, may have taken effect."""
    status = (
        ToolCallStatus.FAILED
        if record.effect is ToolEffect.READ
        else ToolCallStatus.OUTCOME_UNKNOWN
    )
    return replace(record, status=status, error=bounded_text(error, max_error_bytes))


def fail_turn(session: SessionDefinition, io: StepIO, state: AgentState, error: str) -> StepPlan:
    """Store why a turn ends and move to the Step that ends it, without another attempt."""
    text = bounded_text(error, session.options.max_error_bytes)
    AGENT_STATE.set(io, replace(state, last_turn_error=text))
    return StepPlan(go_to(turn_failure_movement(session, io, state)))
