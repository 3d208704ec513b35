# twin: source
"""What a call that runs inside this process can say to its engine."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from dex_agents.engine.core import EngineCore
from dex_agents.engine.embedded.mount import SessionMount
from dex_agents.engine.kernel.messages import Task
from dex_agents.engine.kernel.values import text_value
from dex_agents.engine.requests import AttemptKey
from dex_agents.engine.store.streams import StreamKey
from dex_agents.errors import StepInvocationClosed

T = TypeVar("T")


class Posting(Protocol):
    """The part of an engine that takes work."""

    def post(self, work: Callable[[EngineCore], object]) -> None:
        """Hand work over without waiting."""
        ...

    async def request(self, work: Callable[[EngineCore], T]) -> T:
        """Hand work over and wait for its result."""
        ...


class EmbeddedEmitter:
    """The `StepEmitter` of one call.

    A heartbeat only checks that the Step has not ended: the engine sees by itself whether a call
    of its own process is alive, and the attempt's start is stored before the call begins.
    """

    def __init__(
        self,
        engine: Posting,
        key: AttemptKey,
        task: Task,
        stream: StreamKey,
        mount: SessionMount,
    ) -> None:
        """Speak for one attempt."""
        self._engine = engine
        self._key = key
        self._task = task
        self._stream = stream
        self._capacity = mount.session.options.event_stream_capacity_bytes
        self._is_closed = False

    def close(self) -> None:
        """End it: later events are dropped, later heartbeats refused."""
        self._is_closed = True

    def is_cancelled(self) -> bool:
        """Tell whether the engine has given up on this call."""
        return self._is_closed

    def write(self, event: str) -> None:
        """Append an event; from any thread, without waiting."""
        if self._is_closed:
            return
        key, source, value = self._stream, f"#{self._task.step_id}", text_value(event)
        self._engine.post(lambda core: core.append_event(key, source, value, self._capacity))

    async def heartbeat(self) -> None:
        """Check that the Step still runs.

        Raises:
            StepInvocationClosed: It has ended.
        """
        if self._is_closed:
            raise StepInvocationClosed(f"{self._task.step_id} has ended")

    async def save_checkpoint(self, checkpoint: str) -> None:
        """Store what a later attempt can read.

        Raises:
            StepInvocationClosed: The Step has ended.
        """
        await self.heartbeat()
        value, flow_id = text_value(checkpoint), self._task.flow_id
        if not await self._engine.request(lambda core: core.checkpoint(self._key, flow_id, value)):
            raise StepInvocationClosed(f"{self._task.step_id} has ended")
