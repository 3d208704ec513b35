"""How long a turn takes, against the floor of as many bare SQLite commits.

W1: one session, 200 turns of model call, two parallel tools, model call.
W2: 50 sessions at once, 10 turns each.

    python -m benchmarks.turn [--turns 200] [--sessions 50] [--power-loss]

Each row is the best of three rounds, since other work on the machine only ever adds time.
"""

import argparse
import json
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from benchmarks.agents import build_async_session, build_sync_session
from dex_agents.engine.store.file import Durability

_ROUNDS = 3
_W2_TURNS = 10


@dataclass(frozen=True, slots=True)
class Result:
    """One measured workload."""

    seconds: float
    turns: int
    commits: int

    @property
    def ms_per_turn(self) -> float:
        """Milliseconds per turn."""
        return self.seconds / self.turns * 1000


@dataclass(frozen=True, slots=True)
class Workload:
    """How many sessions at once, and how many turns each."""

    sessions: int
    turns: int
    durability: Durability


def run_async(backend: str, workload: Workload, path: Path) -> Result:
    """Measure `dex_agents` on asyncio or trio."""
    from dex_agents import EmbeddedEngine

    async def main() -> Result:
        async with EmbeddedEngine(path, durability=workload.durability) as engine:
            sessions = engine.serve(build_async_session())
            for number in range(workload.sessions):
                await sessions.start_session(f"s-{number}")
            begun, commits = time.perf_counter(), _commits(engine)
            async with anyio.create_task_group() as group:
                for number in range(workload.sessions):
                    group.start_soon(_talk_async, engine, sessions, f"s-{number}", workload.turns)
            seconds = time.perf_counter() - begun
            return _result(workload, seconds, _commits(engine) - commits)

    return anyio.run(main, backend=backend)


async def _talk_async(engine: Any, sessions: Any, session_id: str, turns: int) -> None:
    token = ""
    for number in range(turns):
        await sessions.send_user_message(session_id, f"Is order {number} there?")
        while True:
            event = await engine.client.read_stream(
                sessions.session, session_id, resume_token=token, wait_seconds=30.0
            )
            token = event.resume_token
            if _ends_turn(event.value):
                break


def run_sync(workload: Workload, path: Path) -> Result:
    """Measure `dex_agents_sync`, a thread per session."""
    from dex_agents_sync import EmbeddedEngine

    with EmbeddedEngine(path, durability=workload.durability) as engine:
        sessions = engine.serve(build_sync_session())
        for number in range(workload.sessions):
            sessions.start_session(f"s-{number}")
        begun, commits = time.perf_counter(), _commits(engine)
        threads = [
            threading.Thread(
                target=_talk_sync, args=(engine, sessions, f"s-{number}", workload.turns)
            )
            for number in range(workload.sessions)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - begun
        return _result(workload, seconds, _commits(engine) - commits)


def _talk_sync(engine: Any, sessions: Any, session_id: str, turns: int) -> None:
    token = ""
    for number in range(turns):
        sessions.send_user_message(session_id, f"Is order {number} there?")
        while True:
            event = engine.client.read_stream(
                sessions.session, session_id, resume_token=token, wait_seconds=30.0
            )
            token = event.resume_token
            if _ends_turn(event.value):
                break


def _ends_turn(event: str) -> bool:
    kind = json.loads(event)["type"]
    if kind == "turn_failed":
        raise RuntimeError(event)
    return bool(kind == "turn_completed")


def _commits(engine: Any) -> int:
    commits: int = engine.commits
    return commits


def _result(workload: Workload, seconds: float, commits: int) -> Result:
    return Result(seconds, workload.sessions * workload.turns, commits)


def run_floor(workload: Workload, commits: int, path: Path) -> Result:
    """Make as many commits of one small row on a bare SQLite file of the same settings."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    full = workload.durability is Durability.POWER_LOSS
    connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
    connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)")
    begun = time.perf_counter()
    for _ in range(commits):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO rows (text) VALUES ('x')")
        connection.execute("COMMIT")
    seconds = time.perf_counter() - begun
    connection.close()
    return _result(workload, seconds, commits)


def best(run: Callable[[Path], Result]) -> Result:
    """Run a few rounds, each on a file of its own, and return the fastest."""
    results: list[Result] = []
    for _ in range(_ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            results.append(run(Path(folder) / "bench.db"))
    return min(results, key=lambda result: result.seconds)


def main() -> None:
    """Run both workloads in both colours and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=200, help="turns of W1")
    parser.add_argument("--sessions", type=int, default=50, help="sessions of W2")
    parser.add_argument("--power-loss", action="store_true", help="commits survive a power loss")
    options = parser.parse_args()
    durability = Durability.POWER_LOSS if options.power_loss else Durability.PROCESS_CRASH
    workloads = {
        "W1": Workload(1, options.turns, durability),
        "W2": Workload(options.sessions, _W2_TURNS, durability),
    }
    print(
        f"{'workload':10}{'colour':10}{'ms/turn':>10}{'turns/s':>10}{'commits/turn':>14}{'floor':>8}"
    )
    for name, workload in workloads.items():
        for colour in ("asyncio", "trio", "threads"):
            print_row(name, colour, workload)


def print_row(name: str, colour: str, workload: Workload) -> None:
    """Measure one workload in one colour and print its row."""
    if colour == "threads":
        result = best(lambda path: run_sync(workload, path))
    else:
        result = best(lambda path: run_async(colour, workload, path))
    floor = best(lambda path: run_floor(workload, result.commits, path))
    ratio = result.seconds / floor.seconds
    print(
        f"{name:10}{colour:10}{result.ms_per_turn:10.2f}{1000 / result.ms_per_turn:10.0f}"
        f"{result.commits / result.turns:14.1f}{ratio:7.1f}x"
    )


if __name__ == "__main__":
    main()
