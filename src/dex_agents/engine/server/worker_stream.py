# twin: async-only
"""One task stream of a Worker: one task at a time, frames in order."""

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import grpc.aio
from dex.dexpb import dex_pb2 as pb

TaskContext = grpc.aio.ServicerContext[pb.PollWorkerTaskRequest, pb.PollWorkerTaskResponse]

_REGISTERED = pb.PollWorkerTaskResponse(
    registered=pb.PollWorkerTaskRegistered(supports_unknown_name_rejection=True)
)


class Delivery(Enum):
    """How far a task's frame got."""

    WAITING = "waiting"
    BEGUN = "begun"
    SENT = "sent"
    FAILED = "failed"


class Assignment(Protocol):
    """A task on a stream, from its hand-out to its last frame.

    Attributes:
        task_id: Names this hand-out.
        delivery: How far its frame got.
    """

    task_id: str
    delivery: Delivery

    def on_output(self, output: pb.PollWorkerTaskFrame) -> bool:
        """Take a frame of the task; tell whether it was the last one."""
        ...

    def on_reject(self, reason: pb.PollWorkerTaskRejectReason) -> None:
        """Note that the Worker did not take the task."""
        ...

    def on_returned(self) -> None:
        """Note that the stream ended and the Worker certainly did not run the task."""
        ...

    def on_lost(self) -> None:
        """Note that the stream ended and the Worker may have run the task."""
        ...


@dataclass(slots=True)
class WorkerState:
    """What the engine knows of one Worker process.

    Attributes:
        worker_id: The Worker's own name, new at each start of its process.
        streams: Its open streams.
        rejects: How often in a row it had no room for a task.
        is_silent: It showed no life during a task and has not answered a ping since.
    """

    worker_id: str
    streams: "set[WorkerStream]" = field(default_factory=lambda: set[WorkerStream]())
    rejects: int = 0
    is_silent: bool = False


class WorkerStream:
    """One open stream.

    Attributes:
        worker: The Worker it belongs to.
        queue: What it serves: its Worker's own queue, or a Flow type.
        flow_types: What the Worker serves.
        is_registered: Whether the Worker was told so; a spare is not.
        current: The task on it, also one that no longer counts, until its last frame.
        is_reserved: Whether a task is about to be put on it.
        is_ending: Whether its Worker has closed its side.
        idle_since: When its last task ended.
        not_before: When it may be tried again after a rejected task.
    """

    def __init__(
        self, context: TaskContext, register: pb.PollWorkerTaskRegister, worker: WorkerState
    ) -> None:
        """Begin without a task."""
        self.worker = worker
        self.queue = register.queue
        self.flow_types = frozenset(register.flow_types)
        self.is_registered = False
        self.current: Assignment | None = None
        self.is_reserved = False
        self.is_ending = False
        self.idle_since = time.monotonic()
        self.not_before = 0.0
        self._context = context
        self._handler = asyncio.current_task()
        self._outbox: deque[tuple[pb.PollWorkerTaskResponse, Assignment | None]] = deque()
        self._writer: asyncio.Task[None] | None = None
        self._has_output = False

    @property
    def is_idle(self) -> bool:
        """Whether it can take a task."""
        return self.current is None and not self.is_reserved and not self.is_ending

    def register(self) -> None:
        """Tell the Worker that the stream counts."""
        if not self.is_registered:
            self.is_registered = True
            self._send(_REGISTERED)

    def start(self, assignment: Assignment, frame: pb.PollWorkerTaskResponse) -> None:
        """Put a task on the stream."""
        self.is_reserved = False
        self.current = assignment
        self._has_output = False
        self.register()
        self._send(frame, assignment)

    def cancel(self, assignment: Assignment) -> None:
        """Ask the Worker to stop a task; the stream stays busy until its last frame."""
        if self.current is assignment and not self.is_ending:
            task = pb.PollWorkerTaskCancelTask(task_id=assignment.task_id)
            self._send(pb.PollWorkerTaskResponse(cancel_task=task))

    def ping(self) -> None:
        """Ask for a sign of life."""
        self._send(pb.PollWorkerTaskResponse(ping=pb.PollWorkerTaskPing()))

    def close(self) -> None:
        """End the stream from this side."""
        if self._handler is not None:
            self._handler.cancel()

    def take_output(self, output: pb.PollWorkerTaskFrame) -> bool:
        """Take a frame of a task; tell whether the stream became idle."""
        current = self.current
        if current is None or output.task_id != current.task_id:
            return False
        self._has_output = True
        if not current.on_output(output):
            return False
        self.current = None
        self.idle_since = time.monotonic()
        return True

    def take_reject(self, task_id: str) -> Assignment | None:
        """Take a task off the stream that its Worker did not accept."""
        current = self.current
        if current is None or task_id != current.task_id:
            return None
        self.current = None
        self.idle_since = time.monotonic()
        return current

    def end(self, *, is_half_closed: bool) -> None:
        """Say what became of the task when the stream has ended.

        A Worker that has closed its own side throws away what it reads after that. So a task it
        had not answered at all never ran, however far the frame got.
        """
        self.is_ending = True
        current, self.current = self.current, None
        if current is None:
            return
        never_sent = current.delivery in (Delivery.WAITING, Delivery.FAILED)
        if never_sent or (is_half_closed and not self._has_output):
            current.on_returned()
        else:
            current.on_lost()

    def _send(self, frame: pb.PollWorkerTaskResponse, assignment: Assignment | None = None) -> None:
        self._outbox.append((frame, assignment))
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        try:
            while self._outbox:
                frame, assignment = self._outbox.popleft()
                await self._write_one(frame, assignment)
        finally:
            self._writer = None

    async def _write_one(
        self, frame: pb.PollWorkerTaskResponse, assignment: Assignment | None
    ) -> None:
        if assignment is not None:
            if self.current is not assignment:
                return
            assignment.delivery = Delivery.BEGUN
        try:
            await self._context.write(frame)
        except Exception:  # the stream is gone; its reader finds out and says what that means
            if assignment is not None:
                assignment.delivery = Delivery.FAILED
            return
        if assignment is not None:
            assignment.delivery = Delivery.SENT
