# twin: shared
"""One input's changes to one Flow: collected, then applied as a whole.

A `Transition` reads through to the state and sees its own writes. Until `commit` nothing has
changed; `commit` applies everything to the state in memory and returns what must be stored.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dex_agents.engine.kernel.state import (
    FlowState,
    Message,
    Phase,
    RunRecord,
    StepExecution,
    split_name,
)
from dex_agents.engine.kernel.values import IndexEntry, Value, ValueKind


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEvent:
    """One line of a run's history.

    `kind` is one of `flow_started`, `wait_for_completed`, `wait_for_failed`, `execute_completed`,
    `execute_failed`, `rpc_completed` and `flow_closed`; the Step fields are empty for the others.
    """

    event_id: int
    time: float
    kind: str
    step_id: str = ""
    step_type: str = ""
    source: str = ""
    attempt: int = 0
    started_at: float = 0.0
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowWrites:
    """What a committed transition asks the store to write; `None` deletes."""

    run_id: str
    run: RunRecord | None
    attributes: Mapping[str, Value | None]
    added_messages: tuple[tuple[str, Message], ...]
    removed_messages: tuple[int, ...]
    steps: Mapping[str, StepExecution | None]
    counters: Mapping[str, int]
    history: tuple[HistoryEvent, ...]
    indexes: Mapping[str, IndexEntry] = field(default_factory=dict[str, IndexEntry])


class Transition:
    """Collect the changes that one input makes to one Flow at one time.

    Attributes:
        cancelled: The Step executions that were ended from outside.
    """

    __slots__ = (
        "_added",
        "_attributes",
        "_channels",
        "_counters",
        "_history",
        "_indexes",
        "_next_order",
        "_removed",
        "_run",
        "_steps",
        "cancelled",
        "now",
        "state",
    )

    def __init__(self, state: FlowState, now: float) -> None:
        """Begin without changes."""
        self.state = state
        self.now = now
        self.cancelled: list[StepExecution] = []
        self._run: RunRecord | None = None
        self._attributes: dict[str, Value | None] = {}
        self._channels: dict[str, tuple[Message, ...]] = {}
        self._added: dict[int, tuple[str, Message]] = {}
        self._removed: list[int] = []
        self._steps: dict[str, StepExecution | None] = {}
        self._counters: dict[str, int] = {}
        self._history: list[HistoryEvent] = []
        self._indexes: dict[str, IndexEntry] = {}
        self._next_order = state.next_order

    @property
    def run(self) -> RunRecord:
        """The run record, with this transition's change."""
        return self._run or self.state.run

    @run.setter
    def run(self, record: RunRecord) -> None:
        self._run = record

    def take_order(self) -> int:
        """Return the next place in the run's order of messages and waits."""
        self._next_order += 1
        return self._next_order - 1

    def set_attribute(self, name: str, value: Value) -> None:
        """Set an Attribute or map instance; NULL deletes it."""
        self._attributes[name] = None if value.kind is ValueKind.NULL else value

    def set_index(self, entry: IndexEntry) -> None:
        """Let the run be found by a value, or no longer."""
        self._indexes[entry.key] = entry

    def messages(self, channel: str) -> tuple[Message, ...]:
        """Return the waiting messages of a channel, oldest first."""
        found = self._channels.get(channel)
        return self.state.channels.get(channel, ()) if found is None else found

    def channel_sizes(self, channels: Iterator[str]) -> dict[str, int]:
        """Return the sizes of the named channels."""
        return {channel: len(self.messages(channel)) for channel in channels}

    def publish(self, channel: str, value: Value, message_id: str) -> None:
        """Append a message to a channel."""
        message = Message(message_id, self.take_order(), value)
        self._channels[channel] = (*self.messages(channel), message)
        self._added[message.order] = (channel, message)

    def remove_message(self, channel: str, message_id: str) -> bool:
        """Remove one message by its ID; tell whether it was there."""
        waiting = self.messages(channel)
        kept = tuple(m for m in waiting if m.message_id != message_id)
        if len(kept) == len(waiting):
            return False
        self._forget([m for m in waiting if m.message_id == message_id])
        self._channels[channel] = kept
        return True

    def consume(self, channel: str, count: int) -> tuple[Value, ...]:
        """Take the oldest messages of a channel."""
        waiting = self.messages(channel)
        taken = waiting[:count]
        if taken:
            self._forget(list(taken))
            self._channels[channel] = waiting[count:]
        return tuple(message.value for message in taken)

    def _forget(self, messages: list[Message]) -> None:
        for message in messages:
            # A message that came and went within this transition was never stored.
            if self._added.pop(message.order, None) is None:
                self._removed.append(message.order)

    def step(self, step_id: str) -> StepExecution | None:
        """Return an active Step execution, or `None`."""
        if step_id in self._steps:
            return self._steps[step_id]
        return self.state.steps.get(step_id)

    def steps(self) -> list[StepExecution]:
        """Return the active Step executions, those of this transition last."""
        if not self._steps:
            return list(self.state.steps.values())
        found = [s for i, s in self.state.steps.items() if i not in self._steps]
        found.extend(s for s in self._steps.values() if s is not None)
        return found

    def put_step(self, step: StepExecution) -> None:
        """Add or replace a Step execution."""
        self._steps[step.step_id] = step

    def drop_step(self, step_id: str) -> None:
        """End a Step execution."""
        self._steps[step_id] = None

    def next_step_id(self, step_type: str) -> str:
        """Return a Step execution ID that this run has never used."""
        number = self._counters.get(step_type, self.state.counters.get(step_type, 0)) + 1
        self._counters[step_type] = number
        return f"{step_type}-{number}"

    def record(self, kind: str, step: StepExecution | None = None, detail: str = "") -> None:
        """Add a line to the history."""
        event_id = self.state.next_event + len(self._history)
        if step is None:
            event = HistoryEvent(event_id=event_id, time=self.now, kind=kind, detail=detail)
        else:
            event = HistoryEvent(
                event_id=event_id,
                time=self.now,
                kind=kind,
                step_id=step.step_id,
                step_type=step.step_type,
                source=step.source,
                attempt=step.attempt,
                started_at=step.started_at,
                detail=detail,
            )
        self._history.append(event)

    def commit(self) -> FlowWrites:
        """Apply all changes to the state in memory and return what must be stored."""
        state = self.state
        for name, value in self._attributes.items():
            _assign(state, name, value)
        for channel, waiting in self._channels.items():
            if waiting:
                state.channels[channel] = waiting
            else:
                state.channels.pop(channel, None)
        for step_id, step in self._steps.items():
            self._apply_step(step_id, step)
        state.counters.update(self._counters)
        state.next_order = self._next_order
        state.next_event += len(self._history)
        if self._run is not None:
            state.run = self._run
        return FlowWrites(
            run_id=state.run.run_id,
            run=self._run,
            attributes=self._attributes,
            added_messages=tuple(self._added.values()),
            removed_messages=tuple(self._removed),
            steps=self._steps,
            counters=self._counters,
            history=tuple(self._history),
            indexes=self._indexes,
        )

    def _apply_step(self, step_id: str, step: StepExecution | None) -> None:
        state = self.state
        before = state.steps.get(step_id)
        if before is not None and (
            step is None or step.phase is Phase.WAITING or step.method is not before.method
        ):
            state.snapshots.pop((step_id, before.method), None)
        if step is None:
            state.steps.pop(step_id, None)
            state.heartbeats.pop(step_id, None)
            return
        state.steps[step_id] = step
        if step.phase is not Phase.RUNNING:
            state.heartbeats.pop(step_id, None)


def _assign(state: FlowState, name: str, value: Value | None) -> None:
    map_name, instance = split_name(name)
    if instance is None:
        if value is None:
            state.attributes.pop(name, None)
        else:
            state.attributes[name] = value
        return
    if value is not None:
        state.maps.setdefault(map_name, {})[instance] = value
        return
    instances = state.maps.get(map_name)
    if instances is not None:
        instances.pop(instance, None)
        if not instances:
            del state.maps[map_name]
