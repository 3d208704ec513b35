# twin: shared
"""What comes into the kernel, and what goes out to a worker."""

from dataclasses import dataclass, field

from dex_agents.engine.kernel.options import StepOptions
from dex_agents.engine.kernel.state import Method, RecoveryError, Snapshot
from dex_agents.engine.kernel.values import NULL, IndexEntry, Value
from dex_agents.engine.kernel.waits import ConditionResults, WaitingCondition

# The proof that no attempt of a call ever reached a worker; `RecoveryError.error_type`.
NOT_STARTED_ERROR_TYPE = "dex_agents.engine.NotStarted"
METHOD_TIMEOUT_ERROR_TYPE = "StartToClose"
HEARTBEAT_ERROR_TYPE = "Heartbeat"
DISCONNECTED_ERROR_TYPE = "WORKER_DISCONNECTED"
NO_WORKER_ERROR_TYPE = "NO_WORKER_AVAILABLE"


@dataclass(frozen=True, slots=True)
class StepMovement:
    """Start one Step."""

    step_type: str
    input: Value = NULL
    options: StepOptions = field(default_factory=StepOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What a method or RPC writes; all of it is one commit, in this order.

    Attributes:
        attributes: Physical name and value; NULL deletes.
        deleted_messages: (channel, message ID).
        published: (channel, value), in order.
        indexes: What the run can be searched by from now on.
    """

    attributes: tuple[tuple[str, Value], ...] = ()
    deleted_messages: tuple[tuple[str, str], ...] = ()
    published: tuple[tuple[str, Value], ...] = ()
    indexes: tuple[IndexEntry, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether anything is written."""
        return bool(self.attributes or self.deleted_messages or self.published or self.indexes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What follows an `execute` or an RPC.

    Attributes:
        movements: Steps to start in parallel.
        cancelled_types: Step types whose other executions are cancelled.
        cancelled_sibling_types: The same, only of executions with the same source.
        completes: Complete the Flow once no Step is left, adding `output` to its results.
        completes_now: Complete the Flow at once and cancel its other Steps.
        unless_messages_in: Channels whose messages stop `completes_now`; then the Flow goes on with
            `movements`.
        fail_reason: Fail the Flow now.
        output: The result that a completing branch leaves; `None` leaves none.
    """

    movements: tuple[StepMovement, ...] = ()
    cancelled_types: tuple[str, ...] = ()
    cancelled_sibling_types: tuple[str, ...] = ()
    completes: bool = False
    completes_now: bool = False
    unless_messages_in: tuple[str, ...] = ()
    fail_reason: str | None = None
    output: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForResponse:
    """What a `wait_for` returned; no condition means go on at once."""

    effects: Effects = field(default_factory=Effects)
    condition: WaitingCondition | None = None
    locals: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteResponse:
    """What an `execute` returned."""

    effects: Effects = field(default_factory=Effects)
    decision: Decision = field(default_factory=Decision)


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcResponse:
    """What an RPC handler wants written and started."""

    effects: Effects = field(default_factory=Effects)
    decision: Decision | None = None

    @property
    def has_effects(self) -> bool:
        """Whether the Flow must be active for this answer to be applied."""
        return bool(self.effects) or self.decision is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed attempt.

    Attributes:
        retry_after: Seconds to the next attempt, instead of the policy's delay; `None` leaves it to
            the policy.
        is_interruption: The engine itself went away during the attempt. The call did not fail, so
            the next attempt comes at once, and the time away does not count as time spent trying.
        is_final: Another attempt cannot cure it, so there is none.
    """

    detail: str
    error_type: str
    retry_after: float | None = None
    is_interruption: bool = False
    is_final: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One attempt, handed out to a worker."""

    flow_id: str
    run_id: str
    flow_type: str
    flow_started_at: float
    step_id: str
    step_type: str
    method: Method
    attempt: int
    input: Value
    source: str
    snapshot: Snapshot
    started_at: float
    first_attempt_at: float
    timeout: float
    results: ConditionResults | None = None
    recovery_error: RecoveryError | None = None
    checkpoint: Value | None = None
    wait_for_failed: bool = False
    locals: tuple[tuple[str, Value], ...] = ()
