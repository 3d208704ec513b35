# twin: shared
"""Child processes of either colour that own an engine file, and how a test talks to them."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from dex_agents.model.requests import AgentSnapshot
from dex_agents.testing.blocking import GateFiles, InvocationLog

T = TypeVar("T")

COLOURS = ("asyncio", "trio", "threads")
_TIMEOUT_SECONDS = 30.0


class Child:
    """One process that serves a session on an engine file."""

    _numbers = itertools.count(1)

    def __init__(self, colour: str, path: Path, state_dir: Path) -> None:
        """Start it and wait until it serves."""
        module = "tests.sync_only.run_child" if colour == "threads" else "tests.aio_only.run_child"
        self.state_dir = state_dir
        (state_dir / "ready").unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, colour, str(path), str(state_dir)],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.wait_for("the child to serve", lambda: (state_dir / "ready").exists())

    def kill(self) -> None:
        """End it with SIGKILL, in the middle of whatever it does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(_TIMEOUT_SECONDS)

    def stop(self) -> None:
        """Let it close its engine and end."""
        self.ask("stop")
        assert self.process.wait(_TIMEOUT_SECONDS) == 0

    def ask(self, op: str, **arguments: str) -> Any:
        """Send a command and return its answer."""
        number = f"{next(self._numbers):06d}"
        draft = self.state_dir / f"draft-{number}"
        draft.write_text(json.dumps({"op": op, **arguments}))
        draft.rename(self.state_dir / f"command-{number}.json")
        answer = self.state_dir / f"answer-{number}.json"
        self.wait_for(f"the answer to {op}", answer.exists)
        return json.loads(answer.read_text())

    def snapshot(self) -> AgentSnapshot:
        """Return the session's snapshot."""
        return AgentSnapshot.from_json(self.ask("snapshot"))

    def wait_for(self, what: str, probe: Callable[[], T | None]) -> T:
        """Wait until a probe returns something true while the process lives."""
        give_up_at = time.monotonic() + _TIMEOUT_SECONDS
        while True:
            found = probe()
            if found:
                return found
            assert self.process.poll() is None, f"the child died while waiting for {what}"
            assert time.monotonic() < give_up_at, f"waited too long for {what}"
            time.sleep(0.003)

    def wait_for_turn_end(self, number: int = 1) -> AgentSnapshot:
        """Wait until a turn has ended and none runs."""

        def probe() -> AgentSnapshot | None:
            snapshot = self.snapshot()
            state = snapshot.state
            if state is None or state.active_turn_id or state.turn_number < number:
                return None
            return snapshot

        return self.wait_for(f"the end of turn {number}", probe)

    def wait_for_interrupt(self) -> str:
        """Wait for a pending approval and return its ID."""
        return self.wait_for(
            "an approval",
            lambda: next((i.interrupt_id for i in self.snapshot().pending_interrupts), ""),
        )

    def wait_at(self, gate: str) -> GateFiles:
        """Wait until the child's code is at a gate."""
        files = GateFiles(self.state_dir, gate)
        self.wait_for(f"gate {gate}", lambda: files.is_reached)
        return files

    @property
    def ledger(self) -> InvocationLog:
        """The ledger of its tools and model."""
        return InvocationLog(self.state_dir / "ledger.jsonl")
