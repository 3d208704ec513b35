# twin: shared
"""The state of one Flow run, as the kernel sees it.

Everything here except `FlowState` is immutable. A `FlowState` changes only by applying a whole
`Transition` (see `transition.py`), so an input that is refused half-way leaves nothing behind.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dex_agents.engine.kernel.options import MethodOptions, StepOptions
from dex_agents.engine.kernel.values import Value
from dex_agents.engine.kernel.waits import ConditionResults, WaitingCondition


class RunStatus(StrEnum):
    """Whether a run still runs, or how it ended."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    TERMINATED = "terminated"


class SearchMode(StrEnum):
    """Which active Steps a search by `ActiveStepTypes` finds."""

    ALL = "all"
    WITH_WAIT_FOR = "with_wait_for"
    DISABLED = "disabled"


class Method(StrEnum):
    """The two methods of a Step."""

    WAIT_FOR = "wait_for"
    EXECUTE = "execute"


class Phase(StrEnum):
    """Where a Step execution stands within its current method.

    LOCKED waits for Attribute locks, READY may be handed out at `due_at`, RUNNING is handed out,
    WAITING waits for its condition.
    """

    LOCKED = "locked"
    READY = "ready"
    RUNNING = "running"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class RecoveryError:
    """The failure that chose a recovery path."""

    detail: str
    error_type: str


@dataclass(frozen=True, slots=True)
class Message:
    """A message in a channel. `order` places it among all messages of the run."""

    message_id: str
    order: int
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class StepExecution:
    """One execution of a Step; times are seconds since the epoch.

    Attributes:
        step_id: `<step type>-<n>`, never reused within a run.
        source: What started it: a Step execution's ID, `__start__` or `__rpc/<name>`.
        since: Orders the waiting: who began to wait (for locks or messages) first.
        attempt: Attempts of the current method started so far.
        due_at: When a READY Step may be handed out.
        first_attempt_at: When the first attempt of the current method was handed out.
        started_at: When the running attempt was handed out.
        undelivered: Attempts of the current method that no worker ever got.
        locals: What `wait_for` left for `execute`.
        checkpoint: What the last heartbeat of the current method saved.
        timers: The absolute times at which the condition's timers fire.
        results: How the wait ended, for `execute`.
    """

    step_id: str
    step_type: str
    input: Value
    options: StepOptions
    source: str
    since: int
    method: Method
    phase: Phase
    attempt: int = 0
    due_at: float = 0.0
    first_attempt_at: float = 0.0
    started_at: float = 0.0
    undelivered: int = 0
    locals: tuple[tuple[str, Value], ...] = ()
    checkpoint: Value | None = None
    condition: WaitingCondition | None = None
    timers: tuple[float, ...] = ()
    results: ConditionResults | None = None
    recovery_error: RecoveryError | None = None
    wait_for_failed: bool = False

    @property
    def method_options(self) -> MethodOptions:
        """The options of the current method."""
        options = self.options
        return options.wait_for if self.method is Method.WAIT_FOR else options.execute

    @property
    def held_locks(self) -> tuple[str, ...]:
        """The locks this execution holds: from the grant, through all attempts, to the commit."""
        if self.phase in (Phase.READY, Phase.RUNNING):
            return self.method_options.locks
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What a run is, apart from its state."""

    flow_id: str
    run_id: str
    flow_type: str
    status: RunStatus
    started_at: float
    request_id: str = ""
    closed_at: float | None = None
    error_type: str | None = None
    error_message: str | None = None
    search_mode: SearchMode = SearchMode.DISABLED
    completion_requested: bool = False
    outputs: tuple[tuple[str, str, Value], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state that one method call reads; taken when the call starts, kept by its retries.

    `attributes` holds every ordinary Attribute. `maps` and `messages` hold what was selected, and
    `loaded_attributes` and `loaded_channels` echo the selection as it was asked.
    """

    attributes: Mapping[str, Value]
    maps: Mapping[str, Mapping[str, Value]]
    channel_sizes: Mapping[str, int]
    messages: Mapping[str, tuple[Message, ...]]
    loaded_attributes: tuple[str, ...] = ()
    loaded_channels: tuple[str, ...] = ()


@dataclass(slots=True)
class FlowState:
    """One run in memory.

    `steps` holds the active executions by ID. `rpc_locks` names the locks of RPCs that run now,
    and `snapshots` what running method calls read; neither is stored.
    """

    run: RunRecord
    attributes: dict[str, Value] = field(default_factory=dict[str, Value])
    maps: dict[str, dict[str, Value]] = field(default_factory=dict[str, dict[str, Value]])
    channels: dict[str, tuple[Message, ...]] = field(default_factory=dict[str, tuple[Message, ...]])
    steps: dict[str, StepExecution] = field(default_factory=dict[str, StepExecution])
    counters: dict[str, int] = field(default_factory=dict[str, int])
    next_order: int = 1
    next_event: int = 1
    rpc_locks: dict[str, str] = field(default_factory=dict[str, str])
    snapshots: dict[tuple[str, Method], Snapshot] = field(
        default_factory=dict[tuple[str, Method], Snapshot]
    )
    heartbeats: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def is_active(self) -> bool:
        """Whether the run still runs."""
        return self.run.status is RunStatus.RUNNING


def split_name(name: str) -> tuple[str, str | None]:
    """Return (map, instance) of a physical name, or (name, None) of an ordinary one."""
    head, slash, tail = name.partition("/")
    return (head, tail) if slash else (name, None)


def take_snapshot(
    state: FlowState, load_attributes: tuple[str, ...], load_channels: tuple[str, ...]
) -> Snapshot:
    """Copy what one method call or RPC may read.

    Args:
        state: The run.
        load_attributes: `Map/` for all instances of an AttributeMap, `Map/instance` for one.
        load_channels: Names of channels; `Map/` for all instances of a ChannelMap.
    """
    maps: dict[str, dict[str, Value]] = {}
    for name in load_attributes:
        map_name, instance = split_name(name)
        stored = state.maps.get(map_name, {})
        if not instance:
            maps[map_name] = dict(stored)
        elif instance in stored:
            maps.setdefault(map_name, {})[instance] = stored[instance]
    messages: dict[str, tuple[Message, ...]] = {}
    for name in load_channels:
        if name.endswith("/"):
            messages.update((k, v) for k, v in state.channels.items() if k.startswith(name))
        else:
            messages[name] = state.channels.get(name, ())
    return Snapshot(
        attributes=dict(state.attributes),
        maps=maps,
        channel_sizes={name: len(waiting) for name, waiting in state.channels.items()},
        messages=messages,
        loaded_attributes=load_attributes,
        loaded_channels=load_channels,
    )
