# twin: generated from tests/aio/promises/test_storage_failure.py by tools/twin; do not edit.
"""A disk that refuses a write: callers are told, nothing is lost, and it goes on afterwards."""

from pathlib import Path

import pytest

from dex_agents_sync.engine.embedded.runtime import EmbeddedEngine
from dex_agents.errors import EngineStorageError
from dex_agents.model.tool_calls import ToolEffect
from dex_agents_sync.testing.waiting import wait_for_agent_snapshot
from tests.sync.support import (
    ToolBench,
    build_session,
    calls_then_text,
    echo,
    run_turn,
    texts,
    tool_call,
    wait_for_turn_end,
)
from tests.invariants import check_session


class FullDisk:
    """Make the engine's file full for real: SQLite then refuses to grow it."""

    def __init__(self, engine: EmbeddedEngine) -> None:
        # There is no public way to fill a disk; the limit is SQLite's own.
        self._connection = engine.loop._store._connection

    def fill(self) -> None:
        pages = self._connection.execute("PRAGMA page_count").fetchone()[0]
        self._connection.execute(f"PRAGMA max_page_count = {pages}")

    def free(self) -> None:
        self._connection.execute("PRAGMA max_page_count = 1000000")


def test_a_full_disk_is_told_to_the_caller_and_nothing_is_half_done(tmp_path: Path) -> None:
    with EmbeddedEngine(tmp_path / "agents.db") as engine:
        sessions = engine.serve(build_session(echo))
        sessions.start_session("s-1")
        before = run_turn(sessions, "s-1", "one")
        disk = FullDisk(engine)
        disk.fill()
        with pytest.raises(EngineStorageError, match=r"full.*nothing of this change was kept"):
            sessions.send_user_message("s-1", "x" * 200_000)
        disk.free()
        after = sessions.get_agent_snapshot("s-1")
        assert texts(after) == texts(before)
        assert after.queued_message_count == 0
        snapshot = run_turn(sessions, "s-1", "two")
        assert texts(snapshot)[-1] == "echo two"


def test_a_finished_tool_is_recorded_once_there_is_room_again(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    tool = bench.tool("pay", ToolEffect.NON_IDEMPOTENT_WRITE, waits=True, requires_approval=False)
    script = calls_then_text(tool_call("pay", value="x" * 100_000))
    with EmbeddedEngine(tmp_path / "agents.db") as engine:
        sessions = engine.serve(build_session(script, [tool]))
        sessions.start_session("s-1", "go")
        bench.gate("pay").wait_until_reached()
        disk = FullDisk(engine)
        disk.fill()
        bench.gate("pay").release()
        wait_for_agent_snapshot(
            sessions,
            "s-1",
            lambda snapshot: engine.refused_commits > 0,
            description="a commit that the disk refused",
        )
        disk.free()
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert texts(snapshot)[-1].startswith("done: pay xxx")
        assert bench.ledger.count("pay") == 1
        check_session(snapshot, bench.ledger, ["pay"])
    with EmbeddedEngine(tmp_path / "agents.db") as engine:
        sessions = engine.serve(build_session(script, [tool]))
        assert texts(sessions.get_agent_snapshot("s-1")) == texts(snapshot)
