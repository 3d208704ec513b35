# twin: shared
"""Where the engine's time comes from."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Tell the time, in seconds since the epoch."""

    @property
    def skips_time(self) -> bool:
        """Whether the engine may jump to the next timer when nothing runs."""
        ...

    @property
    def is_virtual(self) -> bool:
        """Whether this time moves only when it is told to."""
        ...

    def now(self) -> float:
        """Return the time."""
        ...

    def jump_to(self, moment: float) -> None:
        """Move a virtual clock forward; a real one does not."""
        ...

    def on_change(self, wake: Callable[[], None]) -> None:
        """Have a function called whenever the time was moved by hand."""
        ...


class SystemClock:
    """The time of this machine."""

    skips_time = False
    is_virtual = False

    def now(self) -> float:
        """Return the machine's time."""
        return time.time()

    def jump_to(self, moment: float) -> None:
        """Do nothing: real time moves by itself."""

    def on_change(self, wake: Callable[[], None]) -> None:
        """Do nothing: nobody moves real time."""


class VirtualClock:
    """A time that tests move, or that skips ahead whenever nothing else is left to do.

    A clock belongs to one engine at a time and may be handed on to the next one on the same file.
    """

    is_virtual = True

    def __init__(
        self,
        start: datetime = datetime(2030, 1, 1, tzinfo=UTC),
        *,
        time_skipping: bool = False,
    ) -> None:
        """Create a clock that stands at `start`.

        Args:
            start: An aware time.
            time_skipping: Jump to the next timer whenever no call runs and nothing is to be done.
        """
        if start.tzinfo is None:
            raise ValueError("start must be an aware datetime, such as datetime.now(UTC)")
        self.skips_time = time_skipping
        self._now = start.timestamp()
        self._lock = threading.Lock()
        self._wake: Callable[[], None] = lambda: None

    def now(self) -> float:
        """Return the virtual time."""
        with self._lock:
            return self._now

    def advance(self, duration: timedelta) -> None:
        """Move the time forward; timers that come due fire at once."""
        if duration < timedelta(0):
            raise ValueError("time does not go back")
        with self._lock:
            self._now += duration.total_seconds()
        self._wake()

    def jump_to(self, moment: float) -> None:
        """Move the time forward to a moment; a moment in the past changes nothing."""
        with self._lock:
            self._now = max(self._now, moment)

    def on_change(self, wake: Callable[[], None]) -> None:
        """Have a function called whenever the time was moved by hand."""
        self._wake = wake
