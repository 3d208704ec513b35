# twin: async-only
"""Tasks for Workers: from the kernel to the protocol."""

from collections.abc import Iterable

from dex.dexpb import dex_pb2 as pb
from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

from dex_agents.engine.kernel.messages import Task
from dex_agents.engine.kernel.state import Method, Snapshot
from dex_agents.engine.kernel.values import Value
from dex_agents.engine.kernel.waits import ConditionResults
from dex_agents.engine.requests import RpcCall
from dex_agents.engine.server.values import fill_value

# The SDK takes messages of up to 4 MiB; a larger one would end the stream with a code after which
# the Worker stays away for a minute. The frame around a task needs a little.
LARGEST_MESSAGE_BYTES = 4 * 1024 * 1024 - 1024

_Request = pb.InvokeWaitForMethodRequest | pb.InvokeExecuteMethodRequest | pb.InvokeWorkerRPCRequest


def step_frame(task: Task, task_id: str) -> pb.PollWorkerTaskResponse:
    """Return the frame that hands out an attempt."""
    frame = pb.PollWorkerTaskResponse()
    frame.task.task_id = task_id
    frame.task.deadline.FromMicroseconds(int((task.started_at + task.timeout) * 1e6))
    request: pb.InvokeWaitForMethodRequest | pb.InvokeExecuteMethodRequest
    if task.method is Method.WAIT_FOR:
        request = frame.task.wait_for
    else:
        request = frame.task.execute
        _fill_execute(request, task)
    request.flow_type = task.flow_type
    request.step_type = task.step_type
    fill_value(request.step_input, task.input)
    _fill_context(request.context, task)
    _fill_state(request, task.snapshot)
    return frame


def _fill_execute(request: pb.InvokeExecuteMethodRequest, task: Task) -> None:
    for name, value in task.locals:
        _add(request.step_exe_locals, name, value)
    if task.wait_for_failed:
        request.condition_results.wait_for_failed = True
    elif task.results is not None:
        _fill_results(request.condition_results, task.results)


def _fill_results(message: pb.ConditionResults, results: ConditionResults) -> None:
    message.SetInParent()
    for index, has_fired in enumerate(results.timers):
        timer = message.timer_results.add()
        timer.condition_status = _status(has_fired)
        if results.timer_ids:
            timer.condition_id = results.timer_ids[index]
    for index, (name, values) in enumerate(results.channels):
        channel = message.channel_results.add()
        channel.channel_name = name
        channel.condition_status = _status(values is not None)
        if results.channel_ids:
            channel.condition_id = results.channel_ids[index]
        for value in values or ():
            fill_value(channel.values.add(), value)


def _status(is_complete: bool) -> pb.ConditionStatus:
    return pb.CONDITION_STATUS_COMPLETED if is_complete else pb.CONDITION_STATUS_WAITING


def _fill_context(context: pb.Context, task: Task) -> None:
    context.flow_id = task.flow_id
    context.run_id = task.run_id
    context.flow_started_timestamp = int(task.flow_started_at)
    context.step_execution_id = task.step_id
    context.from_step_execution_id = task.source
    context.attempt = task.attempt
    context.first_attempt_timestamp = int(task.first_attempt_at)
    context.run_attempt = 1
    if task.recovery_error is not None:
        context.recovery_error.detail = task.recovery_error.detail
        context.recovery_error.error_type = task.recovery_error.error_type
    if task.checkpoint is not None:
        fill_value(context.last_heartbeat_value, task.checkpoint)


def rpc_frame(
    call: RpcCall, rpc_input: pb.Value, task_id: str, deadline: float
) -> pb.PollWorkerTaskResponse:
    """Return the frame that hands out an RPC."""
    run = call.state.run
    frame = pb.PollWorkerTaskResponse()
    frame.task.task_id = task_id
    frame.task.deadline.FromMicroseconds(int(deadline * 1e6))
    request = frame.task.rpc
    request.flow_type = run.flow_type
    request.rpc_name = call.request.rpc_name
    request.input.CopyFrom(rpc_input)
    if request.input.WhichOneof("kind") is None:
        # A handler fails on a value without a kind.
        request.input.null_value = 0  # type: ignore[assignment]  # the enum's only member
    request.context.flow_id = run.flow_id
    request.context.run_id = run.run_id
    request.context.flow_started_timestamp = int(run.started_at)
    request.context.run_attempt = 1
    _fill_state(request, call.snapshot)
    return frame


def _fill_state(request: _Request, snapshot: Snapshot) -> None:
    for name, value in snapshot.attributes.items():
        _add(request.attributes, name, value)
    for map_name, instances in snapshot.maps.items():
        for instance, value in instances.items():
            _add(request.attributes, f"{map_name}/{instance}", value)
    for name, size in snapshot.channel_sizes.items():
        request.channel_infos[name].size = size
    for name, messages in snapshot.messages.items():
        loaded = request.loaded_channel_messages[name].messages
        for message in messages:
            sent = loaded.add()
            sent.channel_name = name
            sent.message_id = message.message_id
            fill_value(sent.value, message.value)
    # A handler may read only what these lists echo, exactly as it was asked for.
    request.loaded_attribute_map_instances.extend(snapshot.loaded_attributes)
    for name in snapshot.loaded_channels:
        if "/" in name:
            request.loaded_channel_map_instances.append(name)
        else:
            request.loaded_channel_names.append(name)


def _add(target: RepeatedCompositeFieldContainer[pb.KV], name: str, value: Value) -> None:
    entry = target.add()
    entry.key = name
    fill_value(entry.value, value)


def oversize_detail(frame: pb.PollWorkerTaskResponse) -> str | None:
    """Say what makes a task too large for the SDK; `None` when it is not."""
    size = frame.ByteSize()
    if size <= LARGEST_MESSAGE_BYTES:
        return None
    request: _Request = getattr(frame.task, str(frame.task.WhichOneof("request")))
    largest, name = max(_parts(request), default=(0, "its state"))
    return (
        f"the task needs {size:,} bytes, and the SDK takes {LARGEST_MESSAGE_BYTES:,}; the largest "
        f"part is {name} with {largest:,} bytes: store less in it, or load less at once"
    )


def _parts(request: _Request) -> Iterable[tuple[int, str]]:
    if isinstance(request, pb.InvokeWorkerRPCRequest):
        yield request.input.ByteSize(), "the input"
    else:
        yield request.step_input.ByteSize(), "the input"
    yield request.context.ByteSize(), "the checkpoint"
    for entry in request.attributes:
        yield entry.ByteSize(), f"Attribute {entry.key!r}"
    for name in request.loaded_channel_messages:
        yield request.loaded_channel_messages[name].ByteSize(), f"channel {name!r}"
    if isinstance(request, pb.InvokeExecuteMethodRequest):
        yield request.condition_results.ByteSize(), "what the Step waited for"
