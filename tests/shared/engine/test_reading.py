# twin: shared
"""Prove that a file can be looked at without its ownership, and a check finds what is wrong."""

import re
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dex_agents.engine.store.check import FileContents, check_file
from dex_agents.engine.store.reading import StoredFile
from dex_agents.errors import EngineFileVersionError, EngineStorageError
from tests.shared.engine.harness import START, Engine, step
from tests.shared.engine.test_opening import ordinary_user


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with one running Flow, closed in good order."""
    engine = Engine(tmp_path / "engine.db")
    engine.start(step("Work"), "flow-1")
    engine.close()
    return tmp_path / "engine.db"


def checked(path: Path) -> FileContents:
    with StoredFile(path) as file:
        return check_file(file)


def flow_ids(file: StoredFile) -> list[str]:
    return [row[0] for row in file.connection.execute("SELECT flow_id FROM runs ORDER BY run")]


def test_a_file_is_read_beside_its_engine_and_is_of_one_moment(path: Path) -> None:
    engine = Engine(path, now=START + 1)
    engine.start(step("Work"), "flow-2")
    with StoredFile(path) as file:
        assert flow_ids(file) == ["flow-1", "flow-2"], "what is in the journal is read too"
        engine.start(step("Work"), "flow-3")
        assert flow_ids(file) == ["flow-1", "flow-2"]
    with StoredFile(path) as file:
        assert flow_ids(file) == ["flow-1", "flow-2", "flow-3"]
    engine.close()


def test_looking_changes_nothing(path: Path) -> None:
    before = path.read_bytes()
    with StoredFile(path) as file, pytest.raises(sqlite3.OperationalError, match="readonly"):
        file.connection.execute("DELETE FROM runs")
    assert checked(path).faults == []
    assert path.read_bytes() == before


def test_what_a_killed_engine_left_is_read(path: Path) -> None:
    engine = Engine(path, now=START + 1)
    engine.start(step("Work"), "flow-2")
    copy = path.with_name("copy.db")
    # The files as a kill leaves them, with the journal beside.
    for end in ("", "-wal"):
        copy.with_name(copy.name + end).write_bytes(path.with_name(path.name + end).read_bytes())
    engine.close()
    with StoredFile(copy) as file:
        assert flow_ids(file) == ["flow-1", "flow-2"]


@pytest.fixture
def closed_folder(path: Path) -> Iterator[Path]:
    """A file in a folder that only root may write to."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "engine #1?.db"
        copy.write_bytes(path.read_bytes())
        Path(name).chmod(0o555)
        yield copy
        Path(name).chmod(0o755)


def test_a_file_is_read_where_nothing_may_be_written(closed_folder: Path) -> None:
    with ordinary_user(), StoredFile(closed_folder) as file:
        assert flow_ids(file) == ["flow-1"]


def test_what_cannot_be_read_is_named(path: Path) -> None:
    with pytest.raises(EngineStorageError, match="there is no such file"):
        StoredFile(path.with_name("missing.db"))
    text = path.with_name("notes.txt")
    text.write_text("my notes " * 100)
    with pytest.raises(EngineFileVersionError, match="not an engine file"):
        StoredFile(text)
    empty = path.with_name("empty.db")
    empty.touch()
    with pytest.raises(EngineFileVersionError, match="of another program"):
        StoredFile(empty)


def test_a_check_counts_what_is_there(path: Path) -> None:
    contents = checked(path)
    assert contents.faults == []
    assert contents.flows == {("Flow", "running"): 1}
    assert contents.steps == {("Work", "running"): 1}
    assert contents.counts["runs"] == 1
    assert contents.counts["history lines"] == 1


DAMAGE = {
    "UPDATE steps SET record = '{'": r"Flow 'flow-1', run .*: cannot be read",
    "UPDATE runs SET record = 'x'": "a run record cannot be read",
    "UPDATE runs SET status = 'lost'": "a run record cannot be read",
    "UPDATE history SET record = '[1]'": r"Flow 'flow-1', run .*: cannot be read",
    "DELETE FROM steps": "runs, but has no Step",
    "INSERT INTO counters VALUES (77, 'Work', 1)": "1 rows of counters belong to no run",
}


@pytest.mark.parametrize("damage", list(DAMAGE))
def test_a_check_finds_what_is_wrong(path: Path, damage: str) -> None:
    with sqlite3.connect(path) as database:
        database.execute(damage)
    database.close()
    faults = checked(path).faults
    assert len(faults) == 1
    assert re.search(DAMAGE[damage], faults[0])


def test_a_check_finds_a_damaged_page(path: Path) -> None:
    content = bytearray(path.read_bytes())
    page = 4096
    content[2 * page : 3 * page] = b"\xff" * page
    path.write_bytes(bytes(content))
    assert any(fault.startswith("SQLite: ") for fault in checked(path).faults)
