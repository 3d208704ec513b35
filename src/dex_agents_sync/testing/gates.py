# twin: generated from src/dex_agents/testing/gates.py by tools/twin; do not edit.
"""Stop code under test at an exact point, from another task, thread or process."""

import time

from dex_agents_sync._seam.concurrency import sleep
from dex_agents.testing.blocking import GATE_POLL_SECONDS, GATE_TIMEOUT_SECONDS, GateFiles


class FileGate(GateFiles):
    """A gate that a tool or model marks and waits at, and that a test opens.

    Two gates that are reached at once prove that two calls run at the same time.
    """

    def wait_for_release(self, timeout_seconds: float = GATE_TIMEOUT_SECONDS) -> None:
        """Mark the gate reached and wait until it is released.

        Raises:
            TimeoutError: Nobody released the gate in time.
        """
        self.mark_reached()
        give_up_at = time.monotonic() + timeout_seconds
        while not self.is_released:
            if time.monotonic() > give_up_at:
                raise TimeoutError(f"gate {self.name!r} was not released in {timeout_seconds:g} s")
            sleep(GATE_POLL_SECONDS)

    def wait_until_reached(self, timeout_seconds: float = GATE_TIMEOUT_SECONDS) -> None:
        """Wait until the code under test has come to the gate.

        Raises:
            TimeoutError: It did not come in time.
        """
        give_up_at = time.monotonic() + timeout_seconds
        while not self.is_reached:
            if time.monotonic() > give_up_at:
                raise TimeoutError(f"gate {self.name!r} was not reached in {timeout_seconds:g} s")
            sleep(GATE_POLL_SECONDS)
