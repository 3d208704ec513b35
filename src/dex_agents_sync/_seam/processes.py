# twin: seam
"""A child process that says one line when it is ready, waited for in threads."""

import subprocess
import threading
from collections.abc import Sequence


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

    def read_line(self, timeout_seconds: float) -> str:
        """Return the next line that it prints; an empty text when it ends or takes too long."""
        output = self._process.stdout
        if output is None:
            return ""
        lines: list[str] = []
        # A pipe cannot be read for a limited time, and its reader can be left alone.
        reader = threading.Thread(target=lambda: lines.append(output.readline()), daemon=True)
        reader.start()
        reader.join(timeout_seconds)
        return lines[0] if lines else ""

    def wait(self, timeout_seconds: float) -> bool:
        """Wait for its end, at most for a time; tell whether it came."""
        try:
            self._process.wait(timeout_seconds)
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
