# twin: shared
"""What a session says to its engine, in values of its own.

A Step or RPC of the session reads and writes through `StepIO` and returns one of the small values
below. Each mount (the embedded engine, the `dex` SDK, the recorder for unit tests) translates
them; nothing here knows an engine. All payloads are text: our JSON.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

# Steps that call nothing outside must survive Workers that are away for a long time: the SDK's
# default of four hours would cost a session a weekend without Workers.
UNLIMITED_RETRY_SECONDS = 365 * 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Say how often one method of a Step is tried.

    The delay before attempt k+1 is `initial_interval_seconds * backoff_coefficient ** (k - 1)`, at
    most `maximum_interval_seconds`. `maximum_attempts` counts the first one; 0 means no limit.
    `total_duration_seconds` counts from the first attempt and only decides whether another attempt
    is scheduled; it never shortens one that runs.
    """

    initial_interval_seconds: float = 1.0
    backoff_coefficient: float = 2.0
    maximum_interval_seconds: float = 100.0
    maximum_attempts: int = 0
    total_duration_seconds: float = UNLIMITED_RETRY_SECONDS


@dataclass(frozen=True, slots=True)
class MapLoad:
    """Name instances of an AttributeMap that a method reads; `key=None` means every instance."""

    map_name: str
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOptions:
    """Say how an engine runs a Step; the same for every movement to it.

    `failure_step` receives the same input once `execute` has used up its attempts; without one the
    Flow fails. Locks are Attribute names, held through all attempts of the method.
    """

    wait_for_timeout_seconds: float = 60.0
    execute_timeout_seconds: float = 60.0
    heartbeat_timeout_seconds: float = 60.0
    wait_for_retry: RetryPolicy = RetryPolicy()
    execute_retry: RetryPolicy = RetryPolicy()
    wait_for_locks: tuple[str, ...] = ()
    execute_locks: tuple[str, ...] = ()
    failure_step: str | None = None


@dataclass(frozen=True, slots=True)
class ChannelWait:
    """Wait until a Channel (or one instance of a ChannelMap) holds `at_least` messages.

    The winning condition consumes up to `at_most` of them, oldest first; `None` takes all.
    """

    channel: str
    key: str | None = None
    at_least: int = 1
    at_most: int | None = 1


@dataclass(frozen=True, slots=True)
class TimerWait:
    """Wait for whole seconds, counted from the commit of the wait; 0 fires at once."""

    seconds: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until any one of the conditions holds; without conditions the Step goes on at once."""

    any_of: tuple[ChannelWait | TimerWait, ...] = ()


@dataclass(frozen=True, slots=True)
class Movement:
    """Start one Step.

    `execute_loads` replaces the table's loads for this execution only, and `failure_loads` those
    of its failure route.
    """

    step: str
    input: str | None = None
    execute_loads: tuple[MapLoad, ...] | None = None
    failure_loads: tuple[MapLoad, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDecision:
    """Say what follows: Steps to start in parallel, Steps to cancel, or the Flow's failure.

    Nothing at all ends this branch and leaves the Flow running.
    """

    movements: tuple[Movement, ...] = ()
    cancelled_steps: tuple[str, ...] = ()
    failure_reason: str | None = None


DEAD_END = StepDecision()


def go_to(*movements: Movement) -> StepDecision:
    """Return the decision that starts these movements in parallel."""
    return StepDecision(movements=movements)


@dataclass(frozen=True, slots=True)
class StepPlan:
    """What one `execute` decided: the events of the commit, oldest first, and the decision."""

    decision: StepDecision
    events: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcResult:
    """What an RPC handler answers: output JSON text and, optionally, Steps to start or cancel."""

    output: str
    decision: StepDecision | None = None
    events: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecoveryError:
    """The failure that sent a Flow down a recovery path.

    `error_type` is the exception's qualified name, or an engine's word for what it saw itself
    (a timeout, a lost Worker, no Worker at all). `attempt_progress` is what an SDK that has it
    reports: `NOT_STARTED` proves that no attempt reached a Worker.
    """

    detail: str
    error_type: str
    attempt_progress: str | None = None


@dataclass(frozen=True, slots=True)
class PendingMessage:
    """One message that waits in a Channel, with the ID the engine gave it."""

    message_id: str
    value: str


class StepIO(Protocol):
    """What one method call of a Step, or one RPC handler, sees of its Flow.

    Used in the thread or task that the engine called, never kept after it. Writes are collected
    and committed together with the decision; reads see them at once. Values are text.

    Reading a map instance that the method did not load raises `LookupError`: it is a mistake in
    the Step table, and an absent value must never be mistaken for one that was not loaded.
    """

    @property
    def flow_id(self) -> str: ...
    @property
    def run_id(self) -> str: ...
    @property
    def step_execution_id(self) -> str:
        """`<Step>-<n>`, shared by all attempts; empty in an RPC."""
        ...

    @property
    def attempt(self) -> int: ...
    @property
    def now(self) -> datetime:
        """The time of this call, aware, in UTC; fixed for its duration."""
        ...

    @property
    def max_load_bytes(self) -> int | None:
        """How much one Step of this mount may load; `None` where loading moves no bytes."""
        ...

    @property
    def recovery_error(self) -> RecoveryError | None: ...
    @property
    def heartbeat_checkpoint(self) -> str | None:
        """What an earlier attempt of this call saved last, if anything."""
        ...

    def get(self, attribute: str) -> str | None: ...
    def set(self, attribute: str, value: str) -> None: ...
    def delete(self, attribute: str) -> None: ...
    def get_item(self, map_name: str, key: str) -> str | None: ...
    def set_item(self, map_name: str, key: str, value: str) -> None: ...
    def delete_item(self, map_name: str, key: str) -> None: ...
    def item_keys(self, map_name: str) -> Sequence[str]:
        """The keys of the loaded instances, with this call's own writes, in ascending order."""
        ...

    def items(self, map_name: str) -> Sequence[tuple[str, str]]:
        """The loaded instances as key and value, with this call's own writes, in key order."""
        ...

    def publish(self, channel: str, value: str, key: str | None = None) -> None: ...
    def channel_size(self, channel: str, key: str | None = None) -> int: ...
    def pending_messages(self, channel: str, key: str | None = None) -> Sequence[PendingMessage]:
        """The waiting messages of a Channel that this RPC or Step loads, oldest first."""
        ...

    def delete_message(self, channel: str, message_id: str, key: str | None = None) -> None: ...
    def wait_results(self, channel: str, key: str | None = None) -> Sequence[str]:
        """What the finished wait consumed from a Channel; empty when it did not win."""
        ...

    def has_timer_fired(self, index: int = 0) -> bool:
        """Tell whether the wait's `index`-th timer has fired, also when another condition won."""
        ...
