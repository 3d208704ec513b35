# twin: shared
"""RunModel: prepare one model call, and settle what came of it."""

from dataclasses import replace

from dex_agents.errors import StoredValueError
from dex_agents.model.interrupts import AgentInterrupt, InterruptKind
from dex_agents.model.state import AgentState, AgentStatus, AgentUsage
from dex_agents.model.text import clean_text
from dex_agents.model.tool_calls import AgentToolCall, ToolCallStatus
from dex_agents.runner.builders import unfinished_turn_builder
from dex_agents.runner.outcomes import DeferredToolCall, ToolCallsRequested, TurnCompleted
from dex_agents.session.call_values import CallFailed, CallReturned, ModelCall
from dex_agents.session.decide.records import current_state, event_source, fail_turn, turn_of
from dex_agents.session.decide.routing import first_movement
from dex_agents.session.decide.runner_values import InvalidRunnerValueError, checked_turn_outcome
from dex_agents.session.decide.turns import clear_turn
from dex_agents.session.definition import CallOutcome, PreparedCall, SessionDefinition
from dex_agents.session.message_window import append_messages
from dex_agents.session.ports import Movement, StepIO, StepPlan, go_to
from dex_agents.session.schema import (
    AGENT_STATE,
    AGENT_TOOL_CALLS,
    AGENT_USAGE,
    FRAMEWORK_RUN_STATE,
    PENDING_INTERRUPTS,
)
from dex_agents.session.step_names import AWAIT_USER_MESSAGE, RESUME_TURN


def prepare_model_call(
    session: SessionDefinition, io: StepIO, step_input: str | None
) -> StepPlan | PreparedCall:
    """Ask for one model call on the committed state of the turn."""
    state = current_state(io)
    turn_id = state.active_turn_id
    if turn_id is None:
        return StepPlan(go_to(Movement(AWAIT_USER_MESSAGE)))
    try:
        turn = turn_of(session, io, state, turn_id)
    except StoredValueError as error:
        # Damaged text stays damaged: another attempt would only delay the news.
        return fail_turn(session, io, state, str(error))
    return ModelCall(
        turn=turn, source=event_source(io, turn_id), run_id=io.run_id, prepared_at=io.now
    )


def settle_model_call(
    session: SessionDefinition,
    io: StepIO,
    step_input: str | None,
    prepared: PreparedCall,
    outcome: CallOutcome,
) -> StepPlan:
    """Commit what the model answered: the end of the turn, its tool calls, or its failure."""
    if not isinstance(prepared, ModelCall):
        raise TypeError(f"RunModel cannot settle a {type(prepared).__name__}")
    state = current_state(io)
    turn_id = prepared.turn.turn_id
    if isinstance(outcome, CallFailed):
        return fail_turn(session, io, state, outcome.error)
    if not isinstance(outcome, CallReturned):
        raise TypeError(f"RunModel cannot settle with a {type(outcome).__name__}")
    try:
        checked = checked_turn_outcome(
            outcome.value,
            used_tool_call_ids=prepared.turn.tool_calls,
            stores_unfinished_turns=unfinished_turn_builder(session.runner) is not None,
        )
    except InvalidRunnerValueError as error:
        return fail_turn(session, io, state, f"the agent runner is at fault: {error}")
    if isinstance(checked, TurnCompleted):
        return _complete_turn(session, io, state, turn_id, checked)
    return _defer_tool_calls(session, io, state, prepared, checked)


def _complete_turn(
    session: SessionDefinition,
    io: StepIO,
    state: AgentState,
    turn_id: str,
    outcome: TurnCompleted,
) -> StepPlan:
    state = append_messages(session, io, state, turn_id, outcome.new_messages)
    usage_recorded = _record_usage(io, turn_id, outcome.usage)
    clear_turn(io)
    AGENT_STATE.set(
        io,
        replace(
            state,
            status=AgentStatus.WAITING_FOR_USER_MESSAGE,
            active_turn_id=None,
            last_turn_error=None,
        ),
    )
    completed = event_source(io, turn_id).turn_completed(len(outcome.new_messages))
    return StepPlan(go_to(Movement(AWAIT_USER_MESSAGE)), (usage_recorded, completed))


def _defer_tool_calls(
    session: SessionDefinition,
    io: StepIO,
    state: AgentState,
    prepared: ModelCall,
    outcome: ToolCallsRequested,
) -> StepPlan:
    turn_id = prepared.turn.turn_id
    state = append_messages(session, io, state, turn_id, outcome.new_messages)
    AGENT_STATE.set(io, replace(state, status=AgentStatus.RUNNING_TOOLS))
    FRAMEWORK_RUN_STATE.set(io, clean_text(outcome.framework_run_state))
    usage_recorded = _record_usage(io, turn_id, outcome.usage)

    first_order = len(prepared.turn.tool_calls)
    records = [
        _new_record(call, turn_id, first_order + position)
        for position, call in enumerate(outcome.tool_calls)
    ]
    for record in records:
        AGENT_TOOL_CALLS.set(io, record.tool_call_id, record)
    interrupts = _raise_interrupts(session, io, records)

    source = event_source(io, turn_id)
    events = [usage_recorded, *(source.tool_call_deferred(record) for record in records)]
    events += (source.interrupt_raised(interrupt) for interrupt in interrupts)
    movements = [first_movement(record) for record in records]
    movements.append(Movement(RESUME_TURN, str(len(records))))
    return StepPlan(go_to(*movements), tuple(events))


def _new_record(call: DeferredToolCall, turn_id: str, deferral_order: int) -> AgentToolCall:
    requires_approval = call.policy.is_approval_required
    return AgentToolCall(
        tool_call_id=call.tool_call_id,
        turn_id=turn_id,
        tool_name=call.tool_name,
        arguments=call.arguments,
        effect=call.policy.effect,
        requires_approval=requires_approval,
        status=(ToolCallStatus.AWAITING_APPROVAL if requires_approval else ToolCallStatus.APPROVED),
        deferral_order=deferral_order,
        tool_source_reference=call.tool_source_reference,
    )


def _raise_interrupts(
    session: SessionDefinition, io: StepIO, records: list[AgentToolCall]
) -> list[AgentInterrupt]:
    """Store one interrupt for each call that a person must approve first.

    RunModel takes no lock for this write, for it may run for minutes. It needs none: interrupts
    are pending only while a turn waits for its calls, and RunModel runs only when no call of the
    turn is left to wait for. So `resolve_interrupt`, which writes only when it finds its
    interrupt, has nothing to write while this Step runs.
    """
    deadline = session.options.interrupt_deadline
    interrupts = [
        AgentInterrupt(
            interrupt_id=record.tool_call_id,
            tool_call_id=record.tool_call_id,
            turn_id=record.turn_id,
            tool_name=record.tool_name,
            arguments=record.arguments,
            kind=InterruptKind.APPROVAL,
            created_at=io.now,
            deadline=None if deadline is None else io.now + deadline,
        )
        for record in records
        if record.status is ToolCallStatus.AWAITING_APPROVAL
    ]
    if interrupts:
        PENDING_INTERRUPTS.set(io, (*(PENDING_INTERRUPTS.get(io) or ()), *interrupts))
    return interrupts


def _record_usage(io: StepIO, turn_id: str, recorded: AgentUsage) -> str:
    usage = (AGENT_USAGE.get(io) or AgentUsage()) + recorded
    AGENT_USAGE.set(io, usage)
    return event_source(io, turn_id).usage_recorded(recorded, usage)
