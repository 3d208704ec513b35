# twin: shared
"""Child processes that call `serve`, and the signals that end them."""

import signal
import subprocess
import sys
import time
from pathlib import Path

_TIMEOUT_SECONDS = 30.0
# The child is in a group of its own, because a test may interrupt it.
_CHILD = """
import asyncio, pathlib, sys
from {package}.sdk import AgentSessionFlow, serve
from {tests}.sdk.agent import build_flow
folder = pathlib.Path(sys.argv[2])
served = serve([build_flow(folder)], server_address=sys.argv[1],
               on_ready=(folder / "ready").touch)
if served is not None:
    asyncio.run(served)
(folder / "returned").touch()
"""


class ServingChild:
    """One process that serves the kill tests' agent and then notes that `serve` returned."""

    def __init__(self, package: str, tests: str, address: str, folder: Path) -> None:
        self._folder = folder
        code = _CHILD.format(package=package, tests=tests)
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, address, str(folder)], start_new_session=True
        )
        give_up_at = time.monotonic() + _TIMEOUT_SECONDS
        while not (folder / "ready").exists():
            assert self.process.poll() is None
            assert time.monotonic() < give_up_at
            time.sleep(0.01)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def wait(self) -> int:
        """Wait for its end."""
        return self.process.wait(_TIMEOUT_SECONDS)

    @property
    def has_returned(self) -> bool:
        """Whether `serve` came back."""
        return (self._folder / "returned").exists()
