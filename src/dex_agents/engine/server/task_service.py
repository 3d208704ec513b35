# twin: async-only
"""Pull mode: Workers open streams, the engine puts tasks on them."""

import asyncio
from typing import cast

import grpc
from dex.dexpb import dex_pb2 as pb

from dex_agents.engine.server.host import EngineHost
from dex_agents.engine.server.worker_stream import TaskContext, WorkerStream

# A Worker's half-close and its death both read as the end of the stream; after a death the handler
# is cancelled a moment later.
_END_GRACE_SECONDS = 0.01


class TaskService:
    """`dex.WorkerTaskService` of one engine."""

    def __init__(self, host: EngineHost) -> None:
        """Serve a host's Workers."""
        self._host = host

    async def poll(self, _: object, context: TaskContext) -> None:
        """Hold one stream until its end."""
        first = await _next_frame(context)
        register = pb.PollWorkerTaskRegister() if first is None else first.register
        if not register.queue or not register.app_worker_id:
            # No Worker of the SDK does that: to one of those this code would mean a minute away.
            await context.abort(
                grpc.StatusCode.INVALID_ARGUMENT,
                "the first frame must register a queue and an app worker ID",
            )
        pool = self._host.pool
        stream = WorkerStream(context, register, pool.worker(register.app_worker_id))
        is_half_closed = False
        if pool.is_closed:
            return
        pool.add(stream)
        try:
            await self._read(context, stream)
            pool.is_ending(stream)
            await asyncio.sleep(_END_GRACE_SECONDS)
            is_half_closed = True
        except asyncio.CancelledError:
            # By this engine's own stop: a stream that ends in peace is opened again by its Worker.
            if not pool.is_closed:
                raise
        finally:
            stream.end(is_half_closed=is_half_closed)
            pool.remove(stream)

    async def _read(self, context: TaskContext, stream: WorkerStream) -> None:
        pool = self._host.pool
        while True:
            frame = await _next_frame(context)
            if frame is None:
                return
            kind = frame.WhichOneof("frame")
            if kind == "task_frame":
                if stream.take_output(frame.task_frame):
                    pool.became_idle(stream)
            elif kind == "reject":
                assignment = stream.take_reject(frame.reject.task_id)
                if assignment is not None:
                    assignment.on_reject(frame.reject.reason)
            elif kind == "pong":
                pool.answered(stream.worker)


async def _next_frame(context: TaskContext) -> pb.PollWorkerTaskRequest | None:
    """Return the Worker's next frame, or `None` at its end of the stream."""
    frame = cast(object, await context.read())
    return frame if isinstance(frame, pb.PollWorkerTaskRequest) else None
