# twin: shared
"""What a shell asks of the core, and what it gets back after a commit."""

from dataclasses import dataclass, field

from dex_agents.engine.kernel.messages import StepMovement, Task
from dex_agents.engine.kernel.state import FlowState, SearchMode, Snapshot
from dex_agents.engine.store.streams import StreamKey


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """Start a Flow. The same `request_id` again returns the run it started."""

    flow_id: str
    flow_type: str
    movement: StepMovement | None
    request_id: str = ""
    search_mode: SearchMode = SearchMode.DISABLED


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
    """What a commit allows: tasks to hand out, calls to cancel, readers to wake."""

    tasks: list[Task] = field(default_factory=list[Task])
    cancelled: list[AttemptKey] = field(default_factory=list[AttemptKey])
    appended: set[StreamKey] = field(default_factory=set[StreamKey])
    closed_flows: set[str] = field(default_factory=set[str])


def attempt_key(task: Task) -> AttemptKey:
    """Return the key of a handed-out attempt."""
    return AttemptKey(task.run_id, task.step_id, task.method.value, task.attempt)
