# twin: generated from src/dex_agents/testing/recorder.py by tools/twin; do not edit.
"""Run one Step or one RPC of a session, and show what it wrote: for unit tests.

Anything with two Steps runs on an `EmbeddedEngine(":memory:")`; this is no second scheduler.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dex_agents.errors import StepInvocationClosed
from dex_agents_sync.session.agent_session import AgentSession
from dex_agents.session.definition import PreparedCall
from dex_agents.session.ports import (
    MapLoad,
    PendingMessage,
    RecoveryError,
    RpcResult,
    StepPlan,
    Wait,
)
from dex_agents.session.recording_io import ChannelKey, RecordedWrites, RecordingStepIO


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStep:
    """What one `execute` did.

    Attributes:
        plan: Its decision and the events of its commit.
        writes: What it wrote.
        emitted: The events that its call wrote while it ran, as text.
        checkpoints: What its call saved for a later attempt.
        call: What it asked to be called, if anything.
    """

    plan: StepPlan
    writes: RecordedWrites
    emitted: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()
    call: PreparedCall | None = None


@dataclass(slots=True)
class StepRecorder:
    """The state that a Step of one session sees, and the way to run it.

    Attributes:
        session: The session.
        attributes: Attribute texts by name.
        maps: Map instances by map name and key.
        pending: The waiting messages of channels.
        flow_id: The session ID that the Step sees.
        now: The time that the Step sees.
    """

    session: AgentSession
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    maps: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    pending: dict[ChannelKey, Sequence[PendingMessage]] = field(
        default_factory=dict[ChannelKey, Sequence[PendingMessage]]
    )
    flow_id: str = "session-1"
    now: datetime = datetime(2030, 1, 1, tzinfo=UTC)

    def io(
        self,
        step: str = "",
        *,
        loads: Sequence[MapLoad] = (),
        load_channels: Sequence[str] = (),
        attempt: int = 1,
        wait_results: Mapping[ChannelKey, Sequence[str]] | None = None,
        fired_timers: Sequence[int] = (),
        recovery_error: RecoveryError | None = None,
        heartbeat_checkpoint: str | None = None,
    ) -> RecordingStepIO:
        """Return the `StepIO` of one method call; typed names of `session.schema` write to it."""
        pending: dict[ChannelKey, Sequence[PendingMessage]] = {}
        for name in load_channels:
            pending[name, None] = ()
        pending.update(self.pending)
        return RecordingStepIO(
            flow_id=self.flow_id,
            run_id="run-1",
            step_execution_id=f"{step}-1" if step else "",
            attempt=attempt,
            now=self.now,
            attributes=self.attributes,
            maps=self.maps,
            loaded_maps=loads,
            channel_sizes={name: len(waiting) for name, waiting in self.pending.items()},
            pending=pending,
            wait_results=wait_results,
            fired_timers=fired_timers,
            recovery_error=recovery_error,
            heartbeat_checkpoint=heartbeat_checkpoint,
        )

    def apply(self, writes: RecordedWrites) -> None:
        """Make what a method wrote the state that the next one sees."""
        for name, text in writes.attributes.items():
            if text is None:
                self.attributes.pop(name, None)
            else:
                self.attributes[name] = text
        for (map_name, key), text in writes.items.items():
            instances = self.maps.setdefault(map_name, {})
            if text is None:
                instances.pop(key, None)
            else:
                instances[key] = text

    def wait_for(self, step: str, step_input: str | None = None) -> Wait:
        """Run the `wait_for` of a Step and return what it waits for.

        Raises:
            LookupError: There is no such Step, or it does not wait.
        """
        definition = self.session.steps[step]
        if definition.wait_for is None:
            raise LookupError(f"Step {step} does not wait")
        io = self.io(step, loads=tuple(definition.wait_for_loads(step_input)))
        return definition.wait_for(self.session, io, step_input)

    def run_step(
        self,
        step: str,
        step_input: str | None = None,
        *,
        attempt: int = 1,
        wait_results: Mapping[ChannelKey, Sequence[str]] | None = None,
        fired_timers: Sequence[int] = (),
        recovery_error: RecoveryError | None = None,
        heartbeat_checkpoint: str | None = None,
    ) -> RecordedStep:
        """Run the `execute` of a Step, its call included, and return what it did.

        Raises:
            StepCallError: The call failed; another attempt may follow.
        """
        definition = self.session.steps[step]
        io = self.io(
            step,
            loads=tuple(definition.execute_loads(step_input)),
            attempt=attempt,
            wait_results=wait_results,
            fired_timers=fired_timers,
            recovery_error=recovery_error,
            heartbeat_checkpoint=heartbeat_checkpoint,
        )
        plan = definition.execute(self.session, io, step_input)
        if not isinstance(plan, PreparedCall):
            return RecordedStep(plan=plan, writes=io.writes)
        if definition.settle is None:
            raise LookupError(f"Step {step} asks for a call that it cannot settle")
        emitter = RecordingEmitter()
        try:
            outcome = self.session.perform_call(plan, emitter)
        finally:
            emitter.close()
        settled = definition.settle(self.session, io, step_input, plan, outcome)
        return RecordedStep(
            plan=settled,
            writes=io.writes,
            emitted=tuple(emitter.events),
            checkpoints=tuple(emitter.checkpoints),
            call=plan,
        )

    def run_rpc(self, name: str, rpc_input: str | None = None) -> tuple[RpcResult, RecordedWrites]:
        """Run an RPC handler and return its answer and what it wrote."""
        rpc = self.session.rpcs[name]
        io = self.io(loads=(*rpc.loads, *rpc.free_loads), load_channels=rpc.load_channels)
        return rpc.handler(self.session, io, rpc_input), io.writes


class RecordingEmitter:
    """A `StepEmitter` that keeps what a call says."""

    def __init__(self) -> None:
        """Start with nothing said."""
        self.events: list[str] = []
        self.checkpoints: list[str] = []
        self.heartbeats = 0
        self._is_closed = False

    def close(self) -> None:
        """End the Step: later events are dropped, later heartbeats refused."""
        self._is_closed = True

    def write(self, event: str) -> None:
        """Keep an event."""
        if not self._is_closed:
            self.events.append(event)

    def heartbeat(self) -> None:
        """Count a sign of life.

        Raises:
            StepInvocationClosed: The Step has ended.
        """
        if self._is_closed:
            raise StepInvocationClosed("the Step has ended")
        self.heartbeats += 1

    def save_checkpoint(self, checkpoint: str) -> None:
        """Keep a checkpoint.

        Raises:
            StepInvocationClosed: The Step has ended.
        """
        self.heartbeat()
        self.checkpoints.append(checkpoint)

    def is_cancelled(self) -> bool:
        """Tell whether the Step has ended."""
        return self._is_closed
