# twin: shared
"""Where turns begin and end: StartAgentSession, AwaitUserMessage, RecordTurnFailure."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from dex_agents.errors import StoredValueError
from dex_agents.model.keys import turn_id_of
from dex_agents.model.messages import FrameworkMessage, TurnReplySequence
from dex_agents.model.state import (
    AgentSessionStartInput,
    AgentState,
    AgentStatus,
    AgentUsage,
    AgentUserMessage,
    InteractionMode,
)
from dex_agents.model.text import bounded_text, clean_text
from dex_agents.model.tool_calls import AgentToolCall
from dex_agents.runner.builders import unfinished_turn_builder
from dex_agents.session.decide.model_entry import move_to_model
from dex_agents.session.decide.records import current_state, event_source, fail_turn, turn_of
from dex_agents.session.decide.runner_values import (
    InvalidRunnerValueError,
    checked_messages,
    checked_user_message,
)
from dex_agents.session.definition import SessionDefinition
from dex_agents.session.message_window import append_messages
from dex_agents.session.notes import build_turn_failure_note
from dex_agents.session.ports import Movement, StepIO, StepPlan, Wait, go_to
from dex_agents.session.schema import (
    AGENT_STATE,
    AGENT_TOOL_CALLS,
    AGENT_USAGE,
    FRAMEWORK_RUN_STATE,
    PENDING_INTERRUPTS,
    QUEUED_USER_MESSAGES,
    TURN_REPLY_SEQUENCE,
)
from dex_agents.session.step_names import AWAIT_USER_MESSAGE
from dex_agents.session.stored_messages import turn_messages

_logger = logging.getLogger("dex_agents.session")

_UNKNOWN_TURN_ERROR = "the turn failed for an unknown reason"


def start_agent_session(session: SessionDefinition, io: StepIO, step_input: str | None) -> StepPlan:
    """Initialize the session; a first message that says something starts a turn."""
    start = AgentSessionStartInput.from_text(step_input or "{}")
    state = AgentState()
    AGENT_STATE.set(io, state)
    AGENT_USAGE.set(io, AgentUsage())
    PENDING_INTERRUPTS.set(io, ())
    if start.initial_message.strip():
        return _begin_turn(session, io, state, AgentUserMessage(text=start.initial_message))
    return StepPlan(go_to(Movement(AWAIT_USER_MESSAGE)))


def wait_for_user_message(session: SessionDefinition, io: StepIO, step_input: str | None) -> Wait:
    """Wait for one queued message."""
    return Wait((QUEUED_USER_MESSAGES.for_one(),))


def await_user_message(session: SessionDefinition, io: StepIO, step_input: str | None) -> StepPlan:
    """Store the message that came and start its turn."""
    for message in QUEUED_USER_MESSAGES.results(io):
        if message.text.strip():
            return _begin_turn(session, io, current_state(io), message)
    return StepPlan(go_to(Movement(AWAIT_USER_MESSAGE)))


def record_turn_failure(session: SessionDefinition, io: StepIO, step_input: str | None) -> StepPlan:
    """End the failed turn: keep what it did in the conversation, drop its records."""
    state = current_state(io)
    error = _turn_error(session, io, state)
    turn_id = state.active_turn_id or turn_id_of(state.turn_number)
    messages = [*_unfinished_turn_messages(session, io, state, turn_id)]
    messages += _failure_note(session, _final_tool_calls(io, turn_id))
    state = append_messages(session, io, state, turn_id, messages)
    clear_turn(io)
    if PENDING_INTERRUPTS.get(io):
        PENDING_INTERRUPTS.set(io, ())
    AGENT_STATE.set(
        io,
        replace(
            state,
            status=AgentStatus.WAITING_FOR_USER_MESSAGE,
            active_turn_id=None,
            last_turn_error=error,
        ),
    )
    return StepPlan(
        go_to(Movement(AWAIT_USER_MESSAGE)), (event_source(io, turn_id).turn_failed(error),)
    )


def clear_turn(io: StepIO) -> None:
    """Drop what is stored only while a turn runs; loads the keys of all tool calls."""
    for key in AGENT_TOOL_CALLS.keys(io):
        AGENT_TOOL_CALLS.delete(io, key)
    FRAMEWORK_RUN_STATE.delete(io)


def _begin_turn(
    session: SessionDefinition, io: StepIO, state: AgentState, message: AgentUserMessage
) -> StepPlan:
    turn_number = state.turn_number + 1
    turn_id = turn_id_of(turn_number)
    state = replace(
        state,
        status=AgentStatus.RUNNING_MODEL,
        interaction_mode=InteractionMode.CHAT,
        active_turn_id=turn_id,
        turn_number=turn_number,
    )
    try:
        user_message = checked_user_message(session.runner, clean_text(message.text))
    except InvalidRunnerValueError as error:
        return fail_turn(session, io, state, str(error))
    state = append_messages(session, io, state, turn_id, (user_message,))
    first_reply = TurnReplySequence(turn_id=turn_id, sequence=state.last_message_sequence + 1)
    TURN_REPLY_SEQUENCE.set(io, first_reply)
    started = event_source(io, turn_id).turn_started(state.last_message_sequence)
    return move_to_model(session, io, state, (started,))


def _turn_error(session: SessionDefinition, io: StepIO, state: AgentState) -> str:
    recovery = io.recovery_error
    if recovery is None:
        return state.last_turn_error or _UNKNOWN_TURN_ERROR
    text = recovery.detail or recovery.error_type or _UNKNOWN_TURN_ERROR
    return bounded_text(text, session.options.max_error_bytes)


def _final_tool_calls(io: StepIO, turn_id: str) -> list[AgentToolCall]:
    """Return the turn's final records; one that cannot be read is left out, with a log entry.

    This Step must end the turn whatever is stored, or the session could never go on.
    """
    records: list[AgentToolCall] = []
    for key in AGENT_TOOL_CALLS.keys(io):
        try:
            record = AGENT_TOOL_CALLS.get(io, key)
        except StoredValueError as error:
            _logger.error("session %s: %s", io.flow_id, error)
            continue
        if record is not None and record.turn_id == turn_id and record.is_final:
            records.append(record)
    return sorted(records, key=lambda record: record.deferral_order)


def _unfinished_turn_messages(
    session: SessionDefinition, io: StepIO, state: AgentState, turn_id: str
) -> Sequence[FrameworkMessage]:
    """Return what the runner adds to the turn's stored messages; nothing when it fails."""
    builder = unfinished_turn_builder(session.runner)
    if builder is None:
        return ()
    try:
        messages_of_turn = turn_messages(io, state, turn_id)
        turn = turn_of(session, io, state, turn_id, messages_of_turn)
        messages: object = builder.build_unfinished_turn_messages(turn)
        return checked_messages(messages, "build_unfinished_turn_messages")
    except Exception as error:
        # The runner's own code: whatever it raises, the turn must end.
        _logger.warning("session %s: no unfinished-turn messages: %s", io.flow_id, error)
        return ()


def _failure_note(
    session: SessionDefinition, records: Sequence[AgentToolCall]
) -> Sequence[FrameworkMessage]:
    if not records:
        return ()
    try:
        return (checked_user_message(session.runner, build_turn_failure_note(records)),)
    except InvalidRunnerValueError as error:
        _logger.error("the note on a failed turn could not be stored: %s", error)
        return ()
