# twin: async-only
"""Runs, their state and their history in the protocol's form."""

from dex.dexpb import dex_pb2 as pb
from google.protobuf.timestamp_pb2 import Timestamp

from dex_agents.engine.kernel.state import (
    FlowState,
    Phase,
    RunRecord,
    RunStatus,
    SearchMode,
    StepExecution,
)
from dex_agents.engine.kernel.transition import HistoryEvent
from dex_agents.engine.kernel.values import Value
from dex_agents.engine.refusals import InvalidRequest
from dex_agents.engine.server.values import fill_value, write_value

STATUSES = {
    RunStatus.RUNNING: pb.FLOW_STATUS_RUNNING,
    RunStatus.COMPLETED: pb.FLOW_STATUS_COMPLETED,
    RunStatus.FAILED: pb.FLOW_STATUS_FAILED,
    RunStatus.CANCELED: pb.FLOW_STATUS_CANCELED,
    RunStatus.TERMINATED: pb.FLOW_STATUS_TERMINATED,
}
_ERROR_TYPES = {
    "worker_api_failed": pb.FLOW_ERROR_TYPE_WORKER_API_FAIL,
    "client_api_failed": pb.FLOW_ERROR_TYPE_CLIENT_API_FAILING_FLOW,
    "step_decision_failed": pb.FLOW_ERROR_TYPE_STEP_DECISION_FAILING_FLOW,
}
_SEARCH_MODES = {
    # Told apart so that a test notices a missing option: a plain start is not found by its Steps.
    pb.ACTIVE_STEP_SEARCH_MODE_UNSPECIFIED: SearchMode.DISABLED,
    pb.ACTIVE_STEP_SEARCH_MODE_DISABLED: SearchMode.DISABLED,
    pb.ACTIVE_STEP_SEARCH_MODE_ENABLED_FOR_ALL: SearchMode.ALL,
    pb.ACTIVE_STEP_SEARCH_MODE_ENABLED_FOR_STEPS_WITH_WAIT_FOR: SearchMode.WITH_WAIT_FOR,
}
_SEARCH_MODES_BACK = {
    SearchMode.DISABLED: pb.ACTIVE_STEP_SEARCH_MODE_DISABLED,
    SearchMode.ALL: pb.ACTIVE_STEP_SEARCH_MODE_ENABLED_FOR_ALL,
    SearchMode.WITH_WAIT_FOR: pb.ACTIVE_STEP_SEARCH_MODE_ENABLED_FOR_STEPS_WITH_WAIT_FOR,
}


def read_search_mode(config: pb.FlowConfig) -> SearchMode | None:
    """Return the search mode that a configuration sets, if it sets one.

    Raises:
        InvalidRequest: The configuration asks for something that this engine does not have.
    """
    if config.worker_target.address:
        raise InvalidRequest(
            "the local engine does not call Workers; let them pull: "
            "WorkerOptions(pull=PullWorkerOptions(...)), ClientOptions(worker_target="
            "WorkerTarget(pull=True))"
        )
    if not config.HasField("active_step_search_mode"):
        return None
    mode = _SEARCH_MODES.get(config.active_step_search_mode)
    if mode is None:
        raise InvalidRequest(f"unknown search mode {config.active_step_search_mode}")
    return mode


def summary(run: RunRecord) -> pb.GetFlowSummaryResponse:
    """Return what a run is."""
    message = pb.GetFlowSummaryResponse(
        flow_execution_id=pb.FlowExecutionID(flow_id=run.flow_id, run_id=run.run_id),
        first_run_id=run.run_id,
        request_id=run.request_id,
        flow_type=run.flow_type,
        flow_status=STATUSES[run.status],
        start_time=timestamp(run.started_at),
        run_attempt=1,
    )
    if run.closed_at is not None:
        message.close_time.CopyFrom(timestamp(run.closed_at))
    return message


def flow_result(run: RunRecord, *, needs_results: bool) -> pb.FlowResult:
    """Return how a closed run ended."""
    message = pb.FlowResult(
        flow_status=STATUSES[run.status],
        error_message=run.error_message or "",
        results=outputs(run) if needs_results else [],
    )
    if run.error_type is not None:
        message.error_type = _ERROR_TYPES.get(run.error_type, pb.FLOW_ERROR_TYPE_INTERNAL)
    return message


def outputs(run: RunRecord) -> list[pb.StepCompletionOutput]:
    """Return the results that a run's branches have left."""
    return [
        pb.StepCompletionOutput(
            completed_step_type=step_type,
            completed_step_execution_id=step_id,
            completed_step_output=write_value(value),
        )
        for step_type, step_id, value in run.outputs
    ]


def search_entry(run: RunRecord, indexed: dict[str, Value]) -> pb.SearchFlowsResponseEntry:
    """Return a line of a search result."""
    entry = pb.SearchFlowsResponseEntry(
        flow_id=run.flow_id,
        run_id=run.run_id,
        flow_type=run.flow_type,
        flow_status=STATUSES[run.status],
        start_time=timestamp(run.started_at),
        indexed_attributes=[pb.KV(key=k, value=write_value(v)) for k, v in indexed.items()],
    )
    if run.closed_at is not None:
        entry.close_time.CopyFrom(timestamp(run.closed_at))
    return entry


def attribute_values(state: FlowState) -> dict[str, Value]:
    """Return all Attributes of a run by physical name, those of maps included."""
    found = dict(state.attributes)
    for map_name, instances in state.maps.items():
        found.update((f"{map_name}/{name}", value) for name, value in instances.items())
    return dict(sorted(found.items()))


def channel_messages(state: FlowState, channel: str) -> list[pb.ChannelMessage]:
    """Return the waiting messages of a channel, oldest first."""
    return [
        pb.ChannelMessage(
            channel_name=channel, message_id=message.message_id, value=write_value(message.value)
        )
        for message in state.channels.get(channel, ())
    ]


def flow_state(state: FlowState) -> pb.GetFlowStateResponse:
    """Return a run's whole state, for a person who looks for a fault."""
    message = pb.GetFlowStateResponse(
        flow_config=pb.FlowConfig(
            active_step_search_mode=_SEARCH_MODES_BACK[state.run.search_mode]
        ),
        attributes=[
            pb.KV(key=key, value=write_value(value))
            for key, value in attribute_values(state).items()
        ],
        active_step_executions=[_active_step(step) for step in state.steps.values()],
        completed_steps=outputs(state.run),
    )
    for channel in sorted(state.channels):
        waiting = message.pending_channel_messages[channel].messages
        waiting.extend(channel_messages(state, channel))
    return message


def _active_step(step: StepExecution) -> pb.ActiveStepExecutionState:
    is_waiting = step.phase is Phase.WAITING
    message = pb.ActiveStepExecutionState(
        step_execution_id=step.step_id,
        from_step_execution_id=step.source,
        step_type=step.step_type,
        phase=pb.ACTIVE_STEP_PHASE_WAITING if is_waiting else pb.ACTIVE_STEP_PHASE_ACTIVE,
        step_execution_locals=[pb.KV(key=k, value=write_value(v)) for k, v in step.locals],
    )
    message.movement.step_type = step.step_type
    fill_value(message.movement.step_input, step.input)
    return message


def history_event(event: HistoryEvent, run: RunRecord) -> pb.FlowHistoryEvent:
    """Return a line of a run's history."""
    message = pb.FlowHistoryEvent(
        event_id=event.event_id, event_time=timestamp(event.time), run_attempt=1
    )
    if event.kind == "flow_started":
        started = message.flow_started_or_continued
        started.flow_execution_id.flow_id = run.flow_id
        started.flow_execution_id.run_id = run.run_id
        started.flow_type = run.flow_type
        started.initial_start.SetInParent()
    elif event.kind == "flow_closed":
        message.flow_closed.flow_status = STATUSES[RunStatus(event.detail)]
    elif event.kind == "rpc_completed":
        message.rpc_execution_completed.rpc_name = event.detail
    else:
        _fill_step_event(message, event)
    return message


def _fill_step_event(message: pb.FlowHistoryEvent, event: HistoryEvent) -> None:
    if event.kind == "wait_for_completed":
        context = message.step_wait_for_completed.context
    elif event.kind == "execute_completed":
        context = message.step_execute_completed.context
    elif event.kind == "wait_for_failed":
        context = message.step_wait_for_failed.context
        message.step_wait_for_failed.output.failure.details.detail = event.detail
    else:
        context = message.step_execute_failed.context
        message.step_execute_failed.output.failure.details.detail = event.detail
    context.step_execution_id = event.step_id
    context.from_step_execution_id = event.source
    context.step_type = event.step_type
    context.final_attempt = event.attempt
    context.started_time.CopyFrom(timestamp(event.started_at))
    context.duration.FromMicroseconds(int(max(0.0, event.time - event.started_at) * 1e6))


def timestamp(seconds: float) -> Timestamp:
    """Return a time in the protocol's form."""
    message = Timestamp()
    message.FromMicroseconds(int(seconds * 1e6))
    return message
