# twin: shared
"""What a shell asks of the core, and what it gets back after a commit."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from dex_agents.engine.kernel.messages import Effects, StepMovement, Task
from dex_agents.engine.kernel.state import (
    FlowState,
    RunRecord,
    RunStatus,
    SearchMode,
    Snapshot,
    StepExecution,
)
from dex_agents.engine.store.streams import StreamKey


class IdReuse(StrEnum):
    """What may happen to a Flow ID that has had a run before."""

    REFUSE = "refuse"
    IF_CLOSED = "if_closed"
    IF_NOT_COMPLETED = "if_not_completed"
    TERMINATE = "terminate"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """Start a Flow. The same `request_id` again returns the run it started.

    Attributes:
        id_reuse: What may happen to an ID that is taken.
        accepts_repeats: Whether the same request ID again is answered, not refused.
        effects: The first state, which the first Step already sees.
        delay: Seconds before the first Step may be handed out.
    """

    flow_id: str
    flow_type: str
    movement: StepMovement | None
    request_id: str = ""
    search_mode: SearchMode = SearchMode.DISABLED
    id_reuse: IdReuse = IdReuse.REFUSE
    accepts_repeats: bool = True
    effects: Effects = field(default_factory=Effects)
    delay: float = 0.0

    def repeats(self, run: RunRecord) -> bool:
        """Tell whether this very request started a run."""
        same = bool(self.request_id) and self.request_id == run.request_id
        return same and self.accepts_repeats

    def may_follow(self, run: RunRecord) -> bool:
        """Tell whether another run may begin after, or instead of, the latest one."""
        if self.id_reuse is IdReuse.TERMINATE:
            return True
        if run.status is RunStatus.RUNNING or self.id_reuse is IdReuse.REFUSE:
            return False
        return self.id_reuse is IdReuse.IF_CLOSED or run.status is not RunStatus.COMPLETED


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcRequest:
    """Ask for the state that an RPC handler reads."""

    flow_id: str
    rpc_name: str
    run_id: str = ""
    locks: tuple[str, ...] = ()
    is_transactional: bool = False
    load_attributes: tuple[str, ...] = ()
    load_channels: tuple[str, ...] = ()

    @property
    def needs_active_flow(self) -> bool:
        """Whether a closed Flow refuses this RPC before its handler runs."""
        return self.is_transactional or bool(self.locks)


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcCall:
    """An RPC whose handler may run now; its locks are held until it is finished or abandoned."""

    token: str
    request: RpcRequest
    state: FlowState
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class AttemptKey:
    """Names one attempt of one method."""

    run_id: str
    step_id: str
    method: str
    attempt: int


@dataclass(slots=True)
class WaveEffects:
    """What a commit allows: tasks to hand out, calls to cancel, readers to wake.

    Of the `cancelled` attempts, `silent` names those that gave no sign of life.
    """

    tasks: list[Task] = field(default_factory=list[Task])
    cancelled: list[AttemptKey] = field(default_factory=list[AttemptKey])
    silent: set[AttemptKey] = field(default_factory=set[AttemptKey])
    changed_flows: set[str] = field(default_factory=set[str])
    appended: set[StreamKey] = field(default_factory=set[StreamKey])
    closed_flows: set[str] = field(default_factory=set[str])


class Dispatcher(Protocol):
    """Says which ready Steps have a worker right now; without one, every served Step has."""

    @property
    def wait_seconds(self) -> float:
        """How long a ready Step is offered before that spends an attempt."""
        ...

    def admit(self, state: FlowState, step: StepExecution) -> bool:
        """Reserve a worker for a ready Step, or tell that there is none now.

        A Step that is not admitted is tried again when its Flow is offered again.
        """
        ...

    def explain(self, state: FlowState, step: StepExecution) -> str:
        """Say why no worker took a Step in time, and forget it."""
        ...


def attempt_key(task: Task) -> AttemptKey:
    """Return the key of a handed-out attempt."""
    return AttemptKey(task.run_id, task.step_id, task.method.value, task.attempt)
