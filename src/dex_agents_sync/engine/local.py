# twin: generated from src/dex_agents/engine/local.py by tools/twin; do not edit.
"""The local engine as a child process: a port that Clients and Workers of the `dex` SDK use."""

import json
import sys
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dex_agents import errors
from dex_agents_sync._seam.processes import ChildProcess
from dex_agents.engine.store.file import Durability

_START_SECONDS = 30.0
# Beyond the drain, a stop only closes a port and a file.
_STOP_SECONDS = 10.0


class LocalEngine:
    """Run the local engine beside this program, for as long as it runs.

    Use it as a context manager, or call `start` and `close`. The engine ends with this process,
    however that ends; what it has acknowledged is in its file. It is the same engine as the command
    `dex-agents engine`, which runs without a program around it.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        address: str = "127.0.0.1:0",
        durability: Durability = Durability.PROCESS_CRASH,
        dispatch_wait: float = 10.0,
        drain_seconds: float = 10.0,
        retain_closed: timedelta | None = None,
    ) -> None:
        """Describe an engine; nothing is started before `start`.

        Args:
            path: The engine file, created when absent.
            address: Where it listens, as `host:port`; port 0 takes a free one.
            durability: What an acknowledged change survives.
            dispatch_wait: Seconds that a Step waits for a Worker before that spends an attempt.
            drain_seconds: How long a stop waits for running calls.
            retain_closed: How long a closed run is kept before it is deleted with its history and
                events; `None` keeps all.
        """
        self.path = path
        self._address = address
        self._durability = Durability(durability)
        self._dispatch_wait = dispatch_wait
        self._drain_seconds = drain_seconds
        self._retain_closed = retain_closed
        self._process: ChildProcess | None = None

    @property
    def address(self) -> str:
        """Where the engine listens, for the SDK's `server_address`."""
        return self._address

    @property
    def pid(self) -> int:
        """The number of the engine's process.

        Raises:
            EngineStoppedError: It does not run.
        """
        if self._process is None:
            raise errors.EngineStoppedError("the local engine does not run; call start()")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the engine's process runs."""
        return self._process is not None and self._process.is_running

    def start(self) -> Self:
        """Start the engine and wait until it serves.

        After a `close` or a crash it can be started again, and listens where it listened before.

        Raises:
            EngineFileInUseError: Another engine owns the file.
            EngineFileVersionError: A newer release wrote the file, or it is something else.
            EngineStorageError: The file cannot be opened or written.
            EngineError: The address is taken, or the engine did not start in time.
            RuntimeError: It runs already.
        """
        if self.is_running:
            raise RuntimeError("this engine runs already")
        process = ChildProcess(self._arguments())
        is_ready = False
        try:
            said = _parsed(process.read_line(_START_SECONDS))
            self._address = _address_of(said)
            is_ready = True
        finally:
            if not is_ready:
                process.kill()
                process.wait(_STOP_SECONDS)
        self._process = process
        return self

    def _arguments(self) -> list[str]:
        retained: list[str] = []
        if self._retain_closed is not None:
            retained = ["--retain-closed", f"{self._retain_closed.total_seconds()}s"]
        return [
            *(sys.executable, "-m", "dex_agents.cli", "engine", "--owned"),
            *("--db", str(self.path)),
            *("--address", self._address),
            *("--durability", self._durability.value),
            *("--dispatch-wait", str(self._dispatch_wait)),
            *("--drain", str(self._drain_seconds)),
            *retained,
        ]

    def __enter__(self) -> Self:
        """Start the engine."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the engine."""
        self.close()

    def close(self) -> None:
        """Stop the engine: running calls may finish for a while. Closing twice does nothing."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        if not process.wait(self._drain_seconds + _STOP_SECONDS):
            process.kill()
            process.wait(_STOP_SECONDS)

    def kill(self) -> None:
        """End the engine as a crash would; for tests of what survives that."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(_STOP_SECONDS)


def _parsed(line: str) -> dict[str, Any]:
    try:
        said: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}
    return said


def _address_of(said: dict[str, Any]) -> str:
    if "address" in said:
        return str(said["address"])
    detail = said.get("detail", "the engine did not start; what it printed says why")
    kind = getattr(errors, str(said.get("error", "")), None)
    if isinstance(kind, type) and issubclass(kind, errors.EngineError):
        raise kind(detail)
    raise errors.EngineError(detail)
