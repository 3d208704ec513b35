# twin: shared
"""How a Step is run: timeouts, retries, locks and what its methods load.

Each movement carries its options, so the kernel needs no definition of a Step. Names are physical:
`Name`, or `Map/instance` for one instance of a map; `Map/` selects all instances of it.
Defaults are the `dex` SDK's: two hours per attempt, a minute between signs of life, four hours of
attempts.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """The delay before attempt k+1 is `initial * coefficient ** (k - 1)`, at most `maximum`.

    `maximum_attempts` 0 means no limit. `total_duration` counts from the first attempt and only
    decides whether another attempt is scheduled.
    """

    initial_interval: float = 1.0
    coefficient: float = 2.0
    maximum_interval: float = 100.0
    maximum_attempts: int = 0
    total_duration: float = 4 * 3600.0

    def delay_after(self, attempt: int) -> float:
        """Return the seconds to wait after the given attempt has failed."""
        if not self.initial_interval:
            return 0.0
        try:
            delay = self.initial_interval * self.coefficient ** (attempt - 1)
        except OverflowError:  # after a thousand attempts
            return self.maximum_interval
        return min(delay, self.maximum_interval)


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodOptions:
    """Options of one method, `wait_for` or `execute`; durations are in seconds."""

    timeout: float = 2 * 3600.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    locks: tuple[str, ...] = ()
    load_attributes: tuple[str, ...] = ()
    load_channels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOptions:
    """Options of one Step execution.

    Attributes:
        heartbeat_timeout: Seconds without a sign of life after which a running attempt is lost.
        skips_wait_for: The Step has no `wait_for`; it starts with `execute`.
        wait_failure_proceeds: After the last failed `wait_for`, run `execute`; else the Flow fails.
        failure_step: The Step type that receives the same input after the last failed `execute`;
            without one the Flow fails.
        failure_options: The options of that Step.
    """

    wait_for: MethodOptions = field(default_factory=MethodOptions)
    execute: MethodOptions = field(default_factory=MethodOptions)
    heartbeat_timeout: float = 60.0
    skips_wait_for: bool = False
    wait_failure_proceeds: bool = False
    failure_step: str | None = None
    failure_options: "StepOptions | None" = None
