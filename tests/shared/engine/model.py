# twin: shared
"""A second, naive kernel, written from the protocol's text: what the machine test compares with.

It has no transitions, records or commits; a whole model is copied where the engine would commit.
"""

import copy
import itertools
from dataclasses import dataclass, field

from dex_agents.engine.kernel.messages import Decision, Effects, StepMovement
from dex_agents.engine.kernel.options import MethodOptions, StepOptions
from dex_agents.engine.kernel.state import FlowState, Snapshot, StepExecution
from dex_agents.engine.kernel.values import NULL, Value, value_text
from dex_agents.engine.kernel.waits import (
    ChannelCondition,
    TimerCondition,
    WaitingCondition,
    WaitMode,
)

INTERRUPTED = "WORKER_DISCONNECTED"

Results = tuple[tuple[bool, ...], tuple[tuple[str, tuple[str, ...] | None], ...]]


@dataclass
class ModelStep:
    """One Step execution."""

    step_id: str
    movement: StepMovement
    source: str
    since: int
    method: str
    phase: str = "locked"
    attempt: int = 0
    due: float = 0.0
    first_at: float = 0.0
    started_at: float = 0.0
    checkpoint: Value | None = None
    condition: WaitingCondition | None = None
    timers: tuple[float, ...] = ()
    results: Results | None = None
    error: tuple[str, str] | None = None
    wait_failed: bool = False

    @property
    def options(self) -> StepOptions:
        return self.movement.options

    @property
    def current(self) -> MethodOptions:
        return self.options.wait_for if self.method == "wait_for" else self.options.execute


@dataclass
class ModelFlow:
    """One run; messages are their payloads, which no test publishes twice."""

    flow_type: str
    status: str = "running"
    attributes: dict[str, Value] = field(default_factory=dict[str, Value])
    channels: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    steps: dict[str, ModelStep] = field(default_factory=dict[str, ModelStep])
    counters: dict[str, int] = field(default_factory=dict[str, int])
    completing: bool = False
    outputs: list[tuple[str, str, Value]] = field(default_factory=list[tuple[str, str, Value]])
    published: list[str] = field(default_factory=list[str])
    consumed: list[str] = field(default_factory=list[str])
    deleted: list[str] = field(default_factory=list[str])
    order: "itertools.count[int]" = field(default_factory=itertools.count)
    rpc_locks: dict[str, str] = field(default_factory=dict[str, str])
    beats: dict[str, float] = field(default_factory=dict[str, float])

    # -- movement ------------------------------------------------------------------------------

    def start(
        self, movement: StepMovement, source: str, error: tuple[str, str] | None = None
    ) -> None:
        number = self.counters[movement.step_type] = self.counters.get(movement.step_type, 0) + 1
        step_id = f"{movement.step_type}-{number}"
        method = "execute" if movement.options.skips_wait_for else "wait_for"
        self.steps[step_id] = ModelStep(
            step_id, movement, source, next(self.order), method, error=error
        )

    def settle(self, now: float) -> None:
        """End every wait and grant every lock that can be, oldest first."""
        if self.status != "running":
            return
        waiting = [s for s in self.steps.values() if s.phase == "waiting"]
        for step in sorted(waiting, key=lambda s: s.since):
            self._try_end_wait(step, now)
        busy = {
            lock for s in self.steps.values() if s.phase in _HOLDING for lock in s.current.locks
        }
        busy |= self.rpc_locks.keys()
        locked = [s for s in self.steps.values() if s.phase == "locked"]
        for step in sorted(locked, key=lambda s: s.since):
            if busy.isdisjoint(step.current.locks):
                step.phase, step.due = "ready", now
            busy.update(step.current.locks)

    def _try_end_wait(self, step: ModelStep, now: float) -> None:
        assert step.condition is not None
        fired = tuple(t <= now for t in step.timers)
        won = winner(step.condition, fired, {c: len(q) for c, q in self.channels.items()})
        if won is None:
            return
        results: list[tuple[str, tuple[str, ...] | None]] = []
        for i, condition in enumerate(step.condition.channels):
            count = won.get(i)
            values = None if count is None else tuple(self._take(condition.channel, count))
            results.append((condition.channel, values))
        self._begin_execute(step, now, results=(fired, tuple(results)))

    def _take(self, channel: str, count: int) -> list[str]:
        queue = self.channels.get(channel, [])
        taken, self.channels[channel] = queue[:count], queue[count:]
        self.consumed += taken
        return taken

    def _begin_execute(
        self,
        step: ModelStep,
        now: float,
        results: Results | None = None,
        error: tuple[str, str] | None = None,
    ) -> None:
        self.beats.pop(step.step_id, None)
        self.steps[step.step_id] = ModelStep(
            step.step_id,
            step.movement,
            step.source,
            next(self.order),
            "execute",
            due=now,
            results=results,
            error=error or step.error,
            wait_failed=error is not None,
        )

    # -- what a worker says --------------------------------------------------------------------

    def running(self, step_id: str, method: str, attempt: int) -> ModelStep | None:
        step = self.steps.get(step_id)
        if step is None or (step.phase, step.method, step.attempt) != ("running", method, attempt):
            return None
        return step

    def hand_out(self, step: ModelStep, now: float) -> None:
        step.phase, step.attempt, step.started_at = "running", step.attempt + 1, now
        if step.attempt == 1:
            step.first_at = now

    def apply_effects(self, effects: Effects, deleted: list[tuple[str, str]]) -> None:
        for name, value in effects.attributes:
            self.attributes.pop(name, None)
            if value != NULL:
                self.attributes[name] = value
        for channel, payload in deleted:
            if payload in self.channels.get(channel, []):
                self.channels[channel].remove(payload)
                self.deleted.append(payload)
        for channel, value in effects.published:
            self.channels.setdefault(channel, []).append(str(value.data))
            self.published.append(str(value.data))

    def wait(self, step: ModelStep, condition: WaitingCondition | None, now: float) -> None:
        if condition is None:
            self._begin_execute(step, now)
        else:
            self.beats.pop(step.step_id, None)
            step.phase, step.since, step.checkpoint = "waiting", next(self.order), None
            step.condition = condition
            step.timers = tuple(now + timer.seconds for timer in condition.timers)
        self.settle(now)

    def decide(self, decision: Decision, source: str, step: ModelStep | None, now: float) -> None:
        if step is not None:
            self._end(step)
        for other in list(self.steps.values()):
            siblings = step is not None and other.source == step.source
            by_type = other.movement.step_type in decision.cancelled_types
            if by_type or (
                siblings and other.movement.step_type in decision.cancelled_sibling_types
            ):
                self._end(other)
        if decision.fail_reason is not None:
            self.close("failed")
        else:
            for movement in decision.movements:
                self.start(movement, source)
            if decision.completes:
                self.completing = True
                if decision.output is not None and step is not None:
                    self.outputs.append((step.movement.step_type, step.step_id, decision.output))
            if self.completing and not self.steps:
                self.close("completed")
        self.settle(now)

    def _end(self, step: ModelStep) -> None:
        del self.steps[step.step_id]
        self.beats.pop(step.step_id, None)

    def close(self, status: str) -> None:
        self.status = status
        self.steps.clear()
        self.beats.clear()

    def fail(
        self, step: ModelStep, error: tuple[str, str], now: float, retry_after: float | None = None
    ) -> None:
        """Spend the attempt that runs."""
        policy = step.current.retry
        delay = min(
            policy.initial_interval * policy.coefficient ** (step.attempt - 1),
            policy.maximum_interval,
        )
        if error[1] == INTERRUPTED:
            step.first_at, delay = now - (step.started_at - step.first_at), 0.0
        if retry_after is not None:
            delay = retry_after
        self.beats.pop(step.step_id, None)
        may_retry = not policy.maximum_attempts or step.attempt < policy.maximum_attempts
        if may_retry and now + delay - step.first_at <= policy.total_duration:
            step.phase, step.due = "ready", now + delay
            return
        if step.method == "wait_for" and step.options.wait_failure_proceeds:
            self._begin_execute(step, now, error=error)
        elif step.method == "execute" and step.options.failure_step is not None:
            self._end(step)
            options = step.options.failure_options
            assert options is not None
            route = StepMovement(step.options.failure_step, step.movement.input, options)
            self.start(route, step.step_id, error)
        else:
            self.close("failed")
        self.settle(now)

    # -- time ----------------------------------------------------------------------------------

    def deadlines(self, step: ModelStep) -> tuple[float, float]:
        last_sign = max(step.started_at, self.beats.get(step.step_id, 0.0))
        return step.started_at + step.current.timeout, last_sign + step.options.heartbeat_timeout

    def by_age(self) -> list[ModelStep]:
        return sorted(self.steps.values(), key=lambda s: s.since)

    def fire_due(self, now: float) -> None:
        for step in self.by_age():
            if step.phase != "running" or step.step_id not in self.steps:
                continue
            timeout, heartbeat = self.deadlines(step)
            if timeout <= now:
                detail = f"attempt {step.attempt} took longer than {step.current.timeout:g} s"
                self.fail(step, (detail, "StartToClose"), now)
            elif heartbeat <= now:
                limit = step.options.heartbeat_timeout
                detail = f"attempt {step.attempt} gave no sign of life for {limit:g} s"
                self.fail(step, (detail, "Heartbeat"), now)
        self.settle(now)

    def interrupt(self, now: float) -> None:
        """Do what a restart does to the attempts that ran."""
        for step in self.by_age():
            if step.phase == "running" and step.step_id in self.steps:
                detail = f"the engine stopped during attempt {step.attempt}"
                self.fail(step, (detail, INTERRUPTED), now)

    def next_due(self, now: float, is_served: bool) -> list[float]:
        found: list[float] = []
        for step in self.steps.values():
            if step.phase == "ready" and is_served:
                found.append(step.due)
            elif step.phase == "waiting":
                found.extend(t for t in step.timers if t > now)
            elif step.phase == "running":
                found.extend(self.deadlines(step))
        return found

    def copy(self) -> "ModelFlow":
        """Return what a commit keeps."""
        return copy.deepcopy(self)


_HOLDING = ("ready", "running")


def winner(
    condition: WaitingCondition, fired: tuple[bool, ...], sizes: dict[str, int]
) -> dict[int, int] | None:
    """Return how many messages each channel condition of the first satisfied candidate takes."""
    timers, channels = list(enumerate(condition.timers)), list(enumerate(condition.channels))
    candidates: list[tuple[list[tuple[int, TimerCondition]], list[tuple[int, ChannelCondition]]]]
    if not timers and not channels:
        candidates = [([], [])]
    elif condition.mode is WaitMode.ALL:
        candidates = [(timers, channels)]
    elif condition.mode is WaitMode.ANY:
        candidates = [([timer], []) for timer in timers] + [([], [c]) for c in channels]
    else:
        candidates = [
            (
                [t for t in timers if t[1].condition_id in ids],
                [c for c in channels if c[1].condition_id in ids],
            )
            for ids in condition.combinations
        ]
    for some_timers, some_channels in candidates:
        if all(fired[i] for i, _ in some_timers) and _has_minima(some_channels, sizes):
            return _shares(some_channels, dict(sizes))
    return None


def _has_minima(channels: list[tuple[int, ChannelCondition]], sizes: dict[str, int]) -> bool:
    names = {c.channel for _, c in channels}
    return all(
        sum(c.at_least for _, c in channels if c.channel == name) <= sizes.get(name, 0)
        for name in names
    )


def _shares(channels: list[tuple[int, ChannelCondition]], left: dict[str, int]) -> dict[int, int]:
    shares: dict[int, int] = {}
    for i, condition in channels:
        shares[i] = condition.at_least
        left[condition.channel] = left.get(condition.channel, 0) - condition.at_least
    for i, condition in channels:
        while left[condition.channel] and shares[i] != condition.at_most:
            shares[i] += 1
            left[condition.channel] -= 1
    return shares


def assert_snapshot(snapshot: Snapshot, flow: ModelFlow) -> None:
    """Check that a snapshot is the state of now."""
    plain = {name: value for name, value in flow.attributes.items() if "/" not in name}
    items = {
        name.partition("/")[2]: value for name, value in flow.attributes.items() if "/" in name
    }
    assert snapshot.attributes == plain
    assert snapshot.maps == {"map": items}
    waiting = {name: queue for name, queue in flow.channels.items() if queue}
    assert snapshot.channel_sizes == {name: len(queue) for name, queue in waiting.items()}
    assert {
        name: [value_text(m.value) for m in messages]
        for name, messages in snapshot.messages.items()
        if messages
    } == waiting


def assert_state(state: FlowState, flow: ModelFlow) -> None:
    """Compare a loaded run with the model."""
    assert state.run.status.value == flow.status
    assert state.run.completion_requested is flow.completing
    assert list(state.run.outputs) == flow.outputs
    attributes = dict(state.attributes)
    for name, instances in state.maps.items():
        attributes.update((f"{name}/{key}", value) for key, value in instances.items())
    assert attributes == flow.attributes
    assert {
        name: [value_text(m.value) for m in waiting] for name, waiting in state.channels.items()
    } == {name: queue for name, queue in flow.channels.items() if queue}
    assert state.counters == flow.counters
    assert {s.step_id: step_facts(s) for s in state.steps.values()} == {
        s.step_id: model_facts(s) for s in flow.steps.values()
    }
    by_age = sorted(state.steps.values(), key=lambda s: s.since)
    assert [s.step_id for s in by_age] == [
        s.step_id for s in sorted(flow.steps.values(), key=lambda s: s.since)
    ]


def step_facts(step: StepExecution) -> dict[str, object]:
    error = step.recovery_error
    return {
        "movement": (step.step_type, step.input, step.options, step.source),
        "place": (step.method.value, step.phase.value, step.attempt),
        "times": (step.first_attempt_at, step.started_at, step.timers),
        "due": step.due_at if step.phase == "ready" else None,
        "checkpoint": step.checkpoint,
        "condition": step.condition,
        "results": None
        if step.results is None
        else (
            step.results.timers,
            tuple(
                (c.channel, None if c.values is None else tuple(map(value_text, c.values)))
                for c in step.results.channels
            ),
        ),
        "error": None if error is None else (error.detail, error.error_type),
        "wait_failed": step.wait_for_failed,
    }


def model_facts(step: ModelStep) -> dict[str, object]:
    movement = step.movement
    return {
        "movement": (movement.step_type, movement.input, movement.options, step.source),
        "place": (step.method, step.phase, step.attempt),
        "times": (step.first_at, step.started_at, step.timers),
        "due": step.due if step.phase == "ready" else None,
        "checkpoint": step.checkpoint,
        "condition": step.condition,
        "results": step.results,
        "error": step.error,
        "wait_failed": step.wait_failed,
    }
