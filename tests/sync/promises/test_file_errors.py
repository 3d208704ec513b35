# twin: generated from tests/aio/promises/test_file_errors.py by tools/twin; do not edit.
"""What the engine says of a file that it cannot use."""

import sqlite3
from pathlib import Path

import pytest

from dex_agents_sync.engine.embedded.runtime import EmbeddedEngine
from dex_agents.errors import (
    EngineFileInUseError,
    EngineFileVersionError,
    EngineStoppedError,
    EngineStorageError,
)
from tests.sync.support import build_session, echo, run_turn, texts


def test_a_second_engine_on_the_same_file_is_refused(tmp_path: Path) -> None:
    with EmbeddedEngine(tmp_path / "agents.db"):
        with pytest.raises(EngineFileInUseError, match="in use by an engine in this process"):
            EmbeddedEngine(tmp_path / "agents.db").start()
    with EmbeddedEngine(tmp_path / "agents.db"):
        pass


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineStorageError, match="a folder that exists"):
        EmbeddedEngine(tmp_path / "nowhere" / "agents.db").start()


def test_a_path_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineStorageError, match="cannot open"):
        EmbeddedEngine(tmp_path).start()


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    with EmbeddedEngine(path):
        pass
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(EngineFileVersionError, match="newer release"):
        EmbeddedEngine(path).start()


def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes, certainly no database at all" * 100)
    with pytest.raises(EngineFileVersionError, match="not an engine file"):
        EmbeddedEngine(path).start()
    assert path.read_text().startswith("my notes")


def test_a_closed_engine_says_so() -> None:
    engine = EmbeddedEngine(":memory:")
    with pytest.raises(EngineStoppedError, match="not started"):
        engine.client.describe_flow("s-1")
    with engine:
        sessions = engine.serve(build_session(echo))
        sessions.start_session("s-1")
    with pytest.raises(EngineStoppedError, match="closed"):
        sessions.get_agent_snapshot("s-1")


def test_a_session_continues_after_close_and_reopen(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    with EmbeddedEngine(path) as engine:
        sessions = engine.serve(build_session(echo))
        sessions.start_session("s-1")
        run_turn(sessions, "s-1", "one")
    with EmbeddedEngine(path) as engine:
        sessions = engine.serve(build_session(echo))
        snapshot = run_turn(sessions, "s-1", "two")
        assert texts(snapshot) == ["one", "echo one", "two", "echo two"]
