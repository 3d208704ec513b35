# twin: shared
"""Prove that one engine at a time opens a file, and what it says when it cannot."""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dex_agents.engine.kernel.values import text_value
from dex_agents.engine.store.file import Store
from dex_agents.engine.store.schema import SCHEMA_VERSION
from dex_agents.engine.store.streams import StreamKey
from dex_agents.errors import EngineFileInUseError, EngineFileVersionError, EngineStorageError

# Opens the file of its argument, says so, and holds it until its input ends.
HOLDER = """
import sys
import tempfile
from dex_agents.engine.store.file import Store
store = Store(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
store.close()
print("closed", flush=True)
sys.stdin.close()
"""
UNPRIVILEGED_USER = 65534
EVENTS = StreamKey("Flow", "events", "flow-1")


@contextmanager
def holder(path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run another process that has the file open."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Give up root's rights for a while: permissions do not stop root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(UNPRIVILEGED_USER)
    try:
        yield
    finally:
        os.seteuid(0)


# -- ownership -------------------------------------------------------------------------------------


def test_a_second_store_in_this_process_is_refused(tmp_path: Path) -> None:
    first = Store(tmp_path / "engine.db")
    with pytest.raises(EngineFileInUseError, match="is in use by an engine in this process; stop"):
        Store(tmp_path / "engine.db")
    first.close()
    Store(tmp_path / "engine.db").close()


def test_a_file_of_another_process_is_refused_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "engine.db"
    with holder(path) as process:
        with pytest.raises(EngineFileInUseError, match=f"by an engine in process {process.pid};"):
            Store(path)
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        assert process.stdout.readline() == "closed\n"
        Store(path).close()


def test_a_killed_process_owns_nothing(tmp_path: Path) -> None:
    path = tmp_path / "engine.db"
    with holder(path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        Store(path).close()


def test_a_cut_store_owns_nothing(tmp_path: Path) -> None:
    Store(tmp_path / "engine.db").abandon()
    Store(tmp_path / "engine.db").close()


def test_a_store_that_could_not_be_opened_owns_nothing(tmp_path: Path) -> None:
    path = tmp_path / "engine.db"
    path.write_text("no database at all, but a text of some length")
    for _ in range(2):
        with pytest.raises(EngineFileVersionError):
            Store(path)
    path.write_bytes(b"")
    Store(path).close()


def test_another_spelling_of_the_path_is_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "link.db").symlink_to("real/engine.db")
    monkeypatch.chdir(tmp_path / "real")
    store = Store("engine.db")
    for spelling in ("real/engine.db", "folder/engine.db", "link.db", "real/../real/engine.db"):
        with pytest.raises(EngineFileInUseError):
            Store(tmp_path / spelling)
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_neither_keeps_nor_breaks_the_ownership(tmp_path: Path) -> None:
    path = tmp_path / "engine.db"
    store = Store(path)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    os.close(reading)
    try:
        with pytest.raises(EngineFileInUseError):
            Store(path)
        store.close()
        Store(path).close()
    finally:
        os.close(writing)
        os.waitpid(child, 0)


def test_memory_belongs_to_nobody() -> None:
    first, second = Store(":memory:"), Store(Path(":memory:"))
    assert first.path is None
    first.append_event(EVENTS, "test", text_value("1"), 0.0, 100)
    assert second.streams.after(EVENTS, 0) is None
    first.close()
    second.close()


# -- what cannot be opened -------------------------------------------------------------------------


def test_a_new_file_is_created_and_an_empty_one_is_taken(tmp_path: Path) -> None:
    Store(tmp_path / "new.db").close()
    assert (tmp_path / "new.db").stat().st_size > 0
    (tmp_path / "empty.db").touch()
    Store(str(tmp_path / "empty.db")).close()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "engine.db"
    with pytest.raises(EngineStorageError) as error:
        Store(path)
    assert str(error.value) == (
        f"cannot open {path}: No such file or directory; give the engine a path in a folder that "
        "exists and that this user may write to"
    )


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineStorageError, match=r"cannot open .*engine\.db: Not a directory"):
        Store(tmp_path / "file" / "engine.db")


@pytest.mark.parametrize("below", ["", ".", "folder"])
def test_a_folder_is_no_file(tmp_path: Path, below: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(EngineStorageError, match="it is a folder; name a file in it"):
        Store(tmp_path / below)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"], "no lock file is left there"
    with pytest.raises(EngineStorageError, match="it is a folder"):
        Store("/")


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.db").symlink_to("b.db")
    (tmp_path / "b.db").symlink_to("a.db")
    with pytest.raises(EngineStorageError, match="cannot open"):
        Store(tmp_path / "a.db")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may look into, as the test's own temporary one is not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


def test_a_folder_without_write_permission_is_refused(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    with ordinary_user(), pytest.raises(EngineStorageError, match="Permission denied; give the"):
        Store(open_folder / "engine.db")


def test_a_file_without_write_permission_is_refused_when_it_is_opened(open_folder: Path) -> None:
    path = open_folder / "engine.db"
    Store(path).close()
    path.chmod(0o444)
    (open_folder / "engine.db.lock").chmod(0o666)
    open_folder.chmod(0o777)
    with ordinary_user(), pytest.raises(EngineStorageError, match="readonly database; give the"):
        Store(path)
    path.chmod(0o644)
    Store(path).close()


def test_a_lock_file_that_cannot_be_written_is_refused(open_folder: Path) -> None:
    path = open_folder / "engine.db"
    Store(path).close()
    (open_folder / "engine.db.lock").chmod(0o444)
    with ordinary_user(), pytest.raises(EngineStorageError, match="cannot open"):
        Store(path)


def test_a_file_of_a_newer_release_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "engine.db"
    Store(path).close()
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    database.close()
    before = path.read_bytes()
    with pytest.raises(EngineFileVersionError) as error:
        Store(path)
    assert str(error.value) == (
        f"{path} was written by a newer release of dex-agents (file version {SCHEMA_VERSION + 1}, "
        f"this release reads up to {SCHEMA_VERSION}); upgrade dex-agents to open it"
    )
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE mine (x)",
        "PRAGMA user_version = 7",
        "PRAGMA application_id = 7",
    ],
)
def test_a_database_of_another_program_is_refused_untouched(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as database:
        database.execute(statement)
    database.close()
    before = path.read_bytes()
    with pytest.raises(EngineFileVersionError, match="is a SQLite database of another program"):
        Store(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"hello", b"# Notes\n" * 1000, b"SQLite format 3\0garbage"])
def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(EngineFileVersionError, match=r"notes\.txt is not an engine file; give"):
        Store(path)
    assert path.read_bytes() == content


def test_a_damaged_engine_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "engine.db"
    Store(path).close()
    path.write_bytes(path.read_bytes()[:4096])
    with pytest.raises(EngineStorageError, match="cannot open"):
        Store(path)
    with sqlite3.connect(tmp_path / "half.db") as database:
        database.execute("PRAGMA application_id = 0x44455841")
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    database.close()
    with pytest.raises(EngineStorageError, match="no such table"):
        Store(tmp_path / "half.db")
