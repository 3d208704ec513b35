# twin: seam
"""A child process that says one line when it is ready, waited for in tasks."""

import subprocess
from collections.abc import Sequence
from functools import partial

import anyio
import anyio.to_thread


class ChildProcess:
    """A running child. It reads the end of its input when this process has gone."""

    def __init__(self, arguments: Sequence[str]) -> None:
        """Start it.

        Args:
            arguments: The program and its arguments.
        """
        # A session of its own: an interrupt from the terminal is for this process, which then
        # stops its child in good order.
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The process number."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    async def read_line(self, timeout_seconds: float) -> str:
        """Return the next line that it prints; an empty text when it ends or takes too long."""
        output = self._process.stdout
        if output is not None:
            with anyio.move_on_after(timeout_seconds):
                return await anyio.to_thread.run_sync(output.readline, abandon_on_cancel=True)
        return ""

    async def wait(self, timeout_seconds: float) -> bool:
        """Wait for its end, at most for a time; tell whether it came."""
        wait = partial(self._process.wait, timeout_seconds)
        try:
            # In a shield of its own making: whoever stops a child must know that it is gone.
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(wait)
        except subprocess.TimeoutExpired:
            return False
        self._close_pipes()
        return True

    def terminate(self) -> None:
        """Ask it to stop."""
        self._process.terminate()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
