# twin: async-only
"""A Worker and a caller in a test's hand, on the wire of an engine in this process."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
from dex.dexpb import dex_pb2 as pb
from google.protobuf import message_factory
from grpc_status import rpc_status

from dex_agents.engine.server.runtime import EngineServer, EngineSettings

FLOW_TYPE = "Scripted"
_SERVICE = pb.DESCRIPTOR.services_by_name["FlowService"]
_LIMIT_SECONDS = 5.0


class Caller:
    """Calls FlowService with plain messages."""

    def __init__(self, address: str, engine: EngineServer | None = None) -> None:
        self._engine = engine
        self.channel = grpc.aio.insecure_channel(address)
        self._methods: dict[str, Any] = {
            method.name: self.channel.unary_unary(
                f"/dex.FlowService/{method.name}",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=message_factory.GetMessageClass(
                    method.output_type
                ).FromString,
            )
            for method in _SERVICE.methods
        }

    def engine_database(self) -> sqlite3.Connection:
        """Return the connection of the engine in this process."""
        assert self._engine is not None
        assert self._engine._opened is not None
        return self._engine._opened.store._connection

    async def call(self, name: str, request: Any) -> Any:
        """Make a call."""
        return await self._methods[name](request, timeout=_LIMIT_SECONDS * 4)

    async def start(self, flow_id: str = "flow", **options: Any) -> str:
        """Start a Flow whose first Step is an `execute` of Step `Work`."""
        step_options = pb.StepOptions(skip_wait_for=True, **options)
        request = pb.StartFlowRequest(
            flow_id=flow_id,
            flow_type=FLOW_TYPE,
            request_id=flow_id,
            start_step_type="Work",
            step_options=step_options,
        )
        started = await self.call("StartFlow", request)
        return str(started.run_id)


class Stream:
    """One task stream of a scripted Worker."""

    def __init__(self, channel: grpc.aio.Channel, worker_id: str, queue: str) -> None:
        poll: Any = channel.stream_stream(
            "/dex.WorkerTaskService/PollWorkerTask",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=pb.PollWorkerTaskResponse.FromString,
        )
        self._call: Any = poll()
        self._reading: asyncio.Future[Any] | None = None
        self._worker_id = worker_id
        self._queue = queue

    async def open(self) -> "Stream":
        """Send the first frame."""
        register = pb.PollWorkerTaskRegister(
            queue=self._queue, app_worker_id=self._worker_id, flow_types=[FLOW_TYPE]
        )
        await self._call.write(pb.PollWorkerTaskRequest(register=register))
        return self

    async def read(self, seconds: float = _LIMIT_SECONDS) -> Any:
        """Return the engine's next frame; `None` at the end of the stream."""
        # To give up a read would give up the whole stream, so it is kept for the next one.
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._call.read())
        done, _ = await asyncio.wait([self._reading], timeout=seconds)
        if not done:
            raise TimeoutError
        frame, self._reading = self._reading.result(), None
        return frame if isinstance(frame, pb.PollWorkerTaskResponse) else None

    async def registered(self) -> None:
        """Read the frame that registers the stream."""
        frame = await self.read()
        assert frame.registered.supports_unknown_name_rejection

    async def task(self, seconds: float = _LIMIT_SECONDS) -> Any:
        """Read frames up to a task."""
        while True:
            frame = await self.read(seconds)
            assert frame is not None
            if frame.WhichOneof("frame") == "task":
                return frame.task

    async def is_quiet(self, seconds: float = 0.2) -> bool:
        """Tell whether the engine sends nothing for a time."""
        try:
            await self.read(seconds)
        except TimeoutError:
            return True
        return False

    async def finish(self, task: Any, *writes: pb.AttributeWrite, **decision: Any) -> None:
        """Answer a task with a decision."""
        result = pb.InvokeExecuteMethodResponse(
            step_decision=pb.StepDecision(**decision), upsert_attributes=writes
        )
        await self._output(task, execute=pb.InvokeExecuteMethodOutput(result=result))

    async def beat(self, task: Any, text: str = "saved") -> None:
        """Send a heartbeat."""
        beat = pb.StepMethodHeartbeat(value=pb.Value(string_value=text))
        await self._output(task, execute=pb.InvokeExecuteMethodOutput(heartbeat=beat))

    async def fail(self, task: Any, **error: Any) -> None:
        """Answer a task with an error."""
        await self._output(task, worker_error=pb.WorkerErrorResponse(**error))

    async def _output(self, task: Any, **output: Any) -> None:
        frame = pb.PollWorkerTaskFrame(task_id=task.task_id, **output)
        await self._call.write(pb.PollWorkerTaskRequest(task_frame=frame))

    async def reject(self, task: Any, reason: Any) -> None:
        """Do not take a task."""
        frame = pb.PollWorkerTaskReject(task_id=task.task_id, reason=reason)
        await self._call.write(pb.PollWorkerTaskRequest(reject=frame))

    async def pong(self) -> None:
        """Answer a ping."""
        await self._call.write(pb.PollWorkerTaskRequest(pong=pb.PollWorkerTaskPong()))

    async def half_close(self) -> None:
        """Say that nothing more comes."""
        await self._call.done_writing()

    def disconnect(self) -> None:
        """Go away as a dying process does."""
        self._call.cancel()


@asynccontextmanager
async def running_engine(dispatch_wait: float = 10.0) -> AsyncIterator[Caller]:
    """Run an engine in memory and give a caller for it."""
    settings = EngineSettings(
        path=":memory:", address="127.0.0.1:0", dispatch_wait=dispatch_wait, drain_seconds=0.1
    )
    server = EngineServer(settings)
    await server.start()
    caller = Caller(server.address, server)
    try:
        yield caller
    finally:
        await caller.channel.close()
        await server.stop()


def sub_status(error: grpc.aio.AioRpcError) -> Any:
    """Return what the SDK classifies an error by."""
    status = rpc_status.from_call(error)  # type: ignore[arg-type]  # a finished call will do
    details = pb.ServiceErrorResponse()
    assert status.details[0].Unpack(details)
    return details.sub_status


COMPLETE = pb.CloseDecision(close_decision_type=pb.CLOSE_DECISION_TYPE_GRACEFUL_COMPLETE)
NO_CAPACITY = pb.POLL_WORKER_TASK_REJECT_REASON_NO_CAPACITY
UNKNOWN_STEP = pb.POLL_WORKER_TASK_REJECT_REASON_UNKNOWN_STEP
