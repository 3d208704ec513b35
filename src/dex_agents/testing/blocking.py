# twin: shared
"""The files behind `FileGate` and `InvocationLog`: they work across processes and threads."""

import json
import os
import time
from pathlib import Path

GATE_POLL_SECONDS = 0.002
GATE_TIMEOUT_SECONDS = 30.0


class GateFiles:
    """A gate's two marks, "reached" and "released", as files in a folder."""

    def __init__(self, state_dir: str | Path, name: str) -> None:
        """Name a gate; equal names in one folder are one gate, in every process."""
        folder = Path(state_dir)
        folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self._reached = folder / f"{name}.reached"
        self._released = folder / f"{name}.released"

    def mark_reached(self) -> None:
        """Say that the code under test has come here."""
        self._reached.touch()

    @property
    def is_reached(self) -> bool:
        """Whether the code under test has come here."""
        return self._reached.exists()

    def release(self) -> None:
        """Let everything through, now and later."""
        self._released.touch()

    @property
    def is_released(self) -> bool:
        """Whether the gate lets through."""
        return self._released.exists()

    def reset(self) -> None:
        """Close the gate again and forget who reached it."""
        self._reached.unlink(missing_ok=True)
        self._released.unlink(missing_ok=True)

    def block_until_released(self, timeout_seconds: float = GATE_TIMEOUT_SECONDS) -> None:
        """Mark the gate reached and block this thread: for plain tools.

        Raises:
            TimeoutError: Nobody released the gate in time.
        """
        self.mark_reached()
        give_up_at = time.monotonic() + timeout_seconds
        while not self.is_released:
            if time.monotonic() > give_up_at:
                raise TimeoutError(f"gate {self.name!r} was not released in {timeout_seconds:g} s")
            time.sleep(GATE_POLL_SECONDS)


class InvocationLog:
    """A ledger of real calls: one line per call, in a file that outlives its writers."""

    def __init__(self, path: str | Path) -> None:
        """Name the file; it is created by the first line."""
        self._path = Path(path)
        self._path.parent.mkdir(parents=True, exist_ok=True)

    def record(self, name: str, **details: str) -> None:
        """Append one line; a single write, so that processes and threads do not mix lines."""
        line = json.dumps({"name": name, **details}, ensure_ascii=False) + "\n"
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)

    def entries(self, name: str | None = None) -> list[dict[str, str]]:
        """Return the lines, oldest first; with a name only those."""
        if not self._path.exists():
            return []
        lines = self._path.read_text(encoding="utf-8").splitlines()
        found: list[dict[str, str]] = [json.loads(line) for line in lines]
        return [entry for entry in found if name is None or entry["name"] == name]

    def count(self, name: str | None = None) -> int:
        """Return how many lines there are."""
        return len(self.entries(name))
