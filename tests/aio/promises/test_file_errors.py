# twin: source
"""What the engine says of a file that it cannot use."""

import sqlite3
from pathlib import Path

import pytest

from dex_agents.engine.embedded.runtime import EmbeddedEngine
from dex_agents.errors import (
    EngineFileInUseError,
    EngineFileVersionError,
    EngineStoppedError,
    EngineStorageError,
)
from tests.aio.support import build_session, echo, run_turn, texts


async def test_a_second_engine_on_the_same_file_is_refused(tmp_path: Path) -> None:
    async with EmbeddedEngine(tmp_path / "agents.db"):
        with pytest.raises(EngineFileInUseError, match="in use by an engine in this process"):
            await EmbeddedEngine(tmp_path / "agents.db").start()
    async with EmbeddedEngine(tmp_path / "agents.db"):
        pass


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineStorageError, match="a folder that exists"):
        await EmbeddedEngine(tmp_path / "nowhere" / "agents.db").start()


async def test_a_path_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineStorageError, match="cannot open"):
        await EmbeddedEngine(tmp_path).start()


async def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    async with EmbeddedEngine(path):
        pass
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(EngineFileVersionError, match="newer release"):
        await EmbeddedEngine(path).start()


async def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes, certainly no database at all" * 100)
    with pytest.raises(EngineFileVersionError, match="not an engine file"):
        await EmbeddedEngine(path).start()
    assert path.read_text().startswith("my notes")


async def test_a_closed_engine_says_so() -> None:
    engine = EmbeddedEngine(":memory:")
    with pytest.raises(EngineStoppedError, match="not started"):
        await engine.client.describe_flow("s-1")
    async with engine:
        sessions = engine.serve(build_session(echo))
        await sessions.start_session("s-1")
    with pytest.raises(EngineStoppedError, match="closed"):
        await sessions.get_agent_snapshot("s-1")


async def test_a_session_continues_after_close_and_reopen(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    async with EmbeddedEngine(path) as engine:
        sessions = engine.serve(build_session(echo))
        await sessions.start_session("s-1")
        await run_turn(sessions, "s-1", "one")
    async with EmbeddedEngine(path) as engine:
        sessions = engine.serve(build_session(echo))
        snapshot = await run_turn(sessions, "s-1", "two")
        assert texts(snapshot) == ["one", "echo one", "two", "echo two"]
