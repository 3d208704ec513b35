# twin: async-only
"""RPCs on Workers' streams: one answer, within the time that its caller gives it."""

import asyncio
import time
from dataclasses import dataclass

from dex.dexpb import dex_pb2 as pb
from grpc import StatusCode

from dex_agents.engine.requests import RpcCall
from dex_agents.engine.server.errors import ServiceError
from dex_agents.engine.server.frames import oversize_detail, rpc_frame
from dex_agents.engine.server.host import EngineHost
from dex_agents.engine.server.worker_stream import Delivery, WorkerStream

# A killed process's streams all end within a few milliseconds of each other.
_LOSS_GRACE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class RpcTimes:
    """How long an RPC may take, in seconds: in all, and until a Worker takes it."""

    timeout: float
    dispatch_wait: float


async def run_on_worker(
    host: EngineHost, call: RpcCall, rpc_input: pb.Value, times: RpcTimes
) -> pb.InvokeWorkerRPCResponse:
    """Run an RPC's handler on a Worker and return its answer.

    Raises:
        ServiceError: The handler raised, or no Worker answered in time.
    """
    run = RpcRun(host, call, rpc_input, times.timeout)
    loop = asyncio.get_running_loop()
    timers = [
        loop.call_later(times.timeout, run.on_timeout, times.timeout),
        loop.call_later(times.dispatch_wait, run.on_dispatch_wait, times.dispatch_wait),
    ]
    host.pool.submit(run)
    try:
        return await run.answer
    finally:
        for timer in timers:
            timer.cancel()
        run.abandon()


class RpcRun:
    """One RPC, waiting for a stream or on one."""

    def __init__(
        self, host: EngineHost, call: RpcCall, rpc_input: pb.Value, timeout: float
    ) -> None:
        """Prepare an RPC."""
        self.answer: asyncio.Future[pb.InvokeWorkerRPCResponse] = (
            asyncio.get_running_loop().create_future()
        )
        self.task_id = ""
        self.delivery = Delivery.WAITING
        self.flow_id = call.state.run.flow_id
        self.flow_type = call.state.run.flow_type
        self.excluded: set[str] = set()
        self._host = host
        self._call = call
        self._input = rpc_input
        self._deadline = time.time() + timeout
        self._stream: WorkerStream | None = None
        self._waited_too_long = False

    @property
    def is_done(self) -> bool:
        """Whether nobody waits for it any more."""
        return self.answer.done()

    def begin(self, stream: WorkerStream) -> None:
        """Put the RPC on a stream."""
        self.task_id = self._host.new_task_id()
        frame = rpc_frame(self._call, self._input, self.task_id, self._deadline)
        detail = oversize_detail(frame)
        if detail is not None:
            self._fail(ServiceError(StatusCode.RESOURCE_EXHAUSTED, detail))
            return
        self.delivery = Delivery.WAITING
        self._stream = stream
        stream.start(self, frame)

    def abandon(self) -> None:
        """Stop the handler when its caller has gone away or has its answer."""
        if not self.answer.done():
            self.answer.cancel()
        elif not self.answer.cancelled():
            # Its caller may have gone away in the moment when the answer came.
            self.answer.exception()
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.cancel(self)

    def on_output(self, output: pb.PollWorkerTaskFrame) -> bool:
        """Take a frame of the task, which is the last one."""
        stream, self._stream = self._stream, None
        if stream is not None:
            self._host.pool.served(self.flow_id, stream.worker)
        which = output.WhichOneof("output")
        if self.answer.done():
            return True
        if which == "rpc":
            self.answer.set_result(output.rpc)
        elif which == "worker_error":
            self._fail(_handler_error(output.worker_error))
        else:
            self._fail(_no_answer("the Worker did not answer the RPC", StatusCode.UNKNOWN))
        return True

    def on_reject(self, reason: pb.PollWorkerTaskRejectReason) -> None:
        """Try another Worker."""
        stream = self._stream
        if stream is not None and reason in (
            pb.POLL_WORKER_TASK_REJECT_REASON_UNKNOWN_STEP,
            pb.POLL_WORKER_TASK_REJECT_REASON_UNKNOWN_RPC,
        ):
            self.excluded.add(stream.worker.worker_id)
        elif stream is not None:
            self._host.pool.was_rejected(stream)
        self.on_returned()

    def on_returned(self) -> None:
        """Try again: no Worker ran it."""
        self._stream = None
        if self.answer.done():
            return
        if self._waited_too_long:
            self._fail_undelivered()
        else:
            self._host.pool.submit(self)

    def on_lost(self) -> None:
        """Find out whether a Worker was lost, or only the stream.

        The SDK also drops streams that it has too many of, at any moment. A Worker that dies takes
        all of its streams along; one that keeps others never answered this one and may be asked
        again, since nothing of an RPC is applied before its answer.
        """
        stream, self._stream = self._stream, None
        asyncio.get_running_loop().call_later(_LOSS_GRACE_SECONDS, self._judge_loss, stream)

    def _judge_loss(self, stream: WorkerStream | None) -> None:
        if stream is not None and any(not one.is_ending for one in stream.worker.streams):
            self.on_returned()
            return
        self._fail(
            _no_answer(
                f"the Worker disconnected during RPC {self._call.request.rpc_name}",
                StatusCode.UNAVAILABLE,
                pb.DISPATCH_TASK_ERROR_REASON_WORKER_DISCONNECTED,
            )
        )

    def on_timeout(self, seconds: float) -> None:
        """Answer that the time is over."""
        if self._stream is None:
            self._fail_undelivered()
            return
        name = self._call.request.rpc_name
        self._fail(
            _no_answer(f"RPC {name} took longer than {seconds:g} s", StatusCode.DEADLINE_EXCEEDED)
        )

    def on_dispatch_wait(self, _: float) -> None:
        """Answer that no Worker took it, unless one has just been asked."""
        self._waited_too_long = True
        if self._stream is None:
            self._fail_undelivered()

    def _fail_undelivered(self) -> None:
        name, flow_type = self._call.request.rpc_name, self.flow_type
        if self.excluded:
            detail = f"no Worker of {flow_type} knows the RPC {name}"
            reason = pb.DISPATCH_TASK_ERROR_REASON_UNKNOWN_NAME
        else:
            detail = f"no Worker of {flow_type} was free for RPC {name} in time"
            reason = pb.DISPATCH_TASK_ERROR_REASON_NO_WORKER_AVAILABLE
        self._fail(_no_answer(detail, StatusCode.UNAVAILABLE, reason))

    def _fail(self, error: ServiceError) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


def _handler_error(error: pb.WorkerErrorResponse) -> ServiceError:
    # The text of a handler's exception stands in the details of its own.
    details = pb.ServiceErrorResponse(
        sub_status=pb.ERROR_SUB_STATUS_WORKER_API_ERROR,
        original_worker_error_detail=error.detail,
        original_worker_error_type=error.error_type,
        original_worker_error_status=error.grpc_status,
        original_worker_error_stack_trace=error.stack_trace,
    )
    return ServiceError(StatusCode.FAILED_PRECONDITION, error.detail, details)


def _no_answer(
    detail: str,
    status: StatusCode,
    reason: pb.DispatchTaskErrorReason = pb.DISPATCH_TASK_ERROR_REASON_UNSPECIFIED,
) -> ServiceError:
    number: int = status.value[0]
    details = pb.ServiceErrorResponse(
        detail=detail,
        sub_status=pb.ERROR_SUB_STATUS_WORKER_API_ERROR,
        original_worker_error_status=number,
        dispatch_task_error_reason=reason,
    )
    return ServiceError(StatusCode.FAILED_PRECONDITION, detail, details)
