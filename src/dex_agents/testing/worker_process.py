# twin: shared
"""A Worker in a process of its own, as `AgentTestStack` starts, kills and stops it."""

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_ADDRESS = "DEX_AGENTS_WORKER_SERVER_ADDRESS"
_READY_FILE = "DEX_AGENTS_WORKER_READY_FILE"

_END_SECONDS = 10.0
_LOG_CHARACTERS = 4000

_numbers = itertools.count(1)


class WorkerSurroundings:
    """What a Worker child finds in its environment."""

    def __init__(self) -> None:
        """Read the environment.

        Raises:
            RuntimeError: No `AgentTestStack` has started this process.
        """
        address, ready_file = os.environ.get(_ADDRESS), os.environ.get(_READY_FILE)
        if not address or not ready_file:
            raise RuntimeError(
                "run_agent_worker serves in a child process of AgentTestStack, which names its "
                f"engine in {_ADDRESS}; to serve an engine of your own, use dex_agents.sdk.serve"
            )
        self.server_address = address
        self._ready_file = Path(ready_file)

    def mark_ready(self) -> None:
        """Tell the stack that the engine has accepted this Worker."""
        self._ready_file.touch()


class WorkerProcess:
    """A Worker child in its own process group.

    Attributes:
        module: The module that it runs.
        log: The file with everything that it prints.
    """

    def __init__(
        self,
        module: str,
        *,
        server_address: str,
        folder: Path,
        cwd: str | Path | None,
        env: Mapping[str, str],
    ) -> None:
        """Start it; it is ready once `is_ready`.

        Args:
            module: Calls `run_agent_worker` when it is run with `python -m`.
            server_address: The engine that it serves.
            folder: Where its log goes.
            cwd: Where it runs; the current folder unless given.
            env: What its environment has besides this process's.
        """
        self._is_asked_to_end = False
        number = next(_numbers)
        self.module = module
        self.log = folder / f"worker-{number}.log"
        self._ready_file = folder / f"worker-{number}.ready"
        self._ready_file.unlink(missing_ok=True)
        places = {_ADDRESS: server_address, _READY_FILE: str(self._ready_file.resolve())}
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module],
                cwd=cwd,
                env={**os.environ, **env, **places},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Return the process ID, which is also the group's."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Return whether the process has not ended yet."""
        return self._process.poll() is None

    @property
    def is_ready(self) -> bool:
        """Return whether the engine has accepted the Worker."""
        return self._ready_file.exists()

    def printed(self) -> str:
        """Return the end of what it printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-_LOG_CHARACTERS:]

    def kill(self) -> None:
        """End its whole group with SIGKILL, in the middle of whatever it does."""
        self._signal(signal.SIGKILL)
        self._process.wait(_END_SECONDS)

    def suspend(self) -> None:
        """Stop it with SIGSTOP: it lives, and does nothing."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after `suspend`."""
        self._signal(signal.SIGCONT)

    def terminate(self) -> None:
        """Ask it with SIGTERM to finish its calls and end; `AgentWorker.stop` waits for that."""
        # A second signal would end it at once.
        if not self._is_asked_to_end:
            self._is_asked_to_end = True
            self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        # A child that has ended has no group any more, and its number may be another's.
        if self.is_running:
            os.killpg(self.pid, number)
