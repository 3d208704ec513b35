# twin: shared
"""The tables of an engine file, how it is opened, and the check that a file is one."""

import sqlite3
from pathlib import Path

from dex_agents.errors import EngineFileVersionError, EngineStorageError

# "DEXA" in ASCII, in SQLite's application_id: tells an engine file from any other database.
APPLICATION_ID = 0x44455841
# In SQLite's user_version. Raise it when an older release could no longer read the file.
SCHEMA_VERSION = 1
_MARKS = ("application_id", "user_version")

TABLES = """
CREATE TABLE runs (
    run INTEGER PRIMARY KEY,
    flow_id TEXT NOT NULL,
    run_id TEXT NOT NULL UNIQUE,
    flow_type TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at REAL NOT NULL,
    closed_at REAL,
    request_id TEXT NOT NULL,
    error_type TEXT,
    error_message TEXT,
    search_mode TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX runs_by_flow ON runs (flow_id, run);
CREATE TABLE attributes (
    run INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, encoding TEXT NOT NULL,
    data NOT NULL, PRIMARY KEY (run, name)
) WITHOUT ROWID;
CREATE TABLE messages (
    run INTEGER NOT NULL, ord INTEGER NOT NULL, channel TEXT NOT NULL, message_id TEXT NOT NULL,
    kind TEXT NOT NULL, encoding TEXT NOT NULL, data NOT NULL, PRIMARY KEY (run, ord)
) WITHOUT ROWID;
CREATE TABLE steps (
    run INTEGER NOT NULL, step_id TEXT NOT NULL, type TEXT NOT NULL, phase TEXT NOT NULL,
    waits INTEGER NOT NULL, due_at REAL, record TEXT NOT NULL, PRIMARY KEY (run, step_id)
) WITHOUT ROWID;
CREATE INDEX steps_by_type ON steps (type, run);
CREATE TABLE indexed (
    run INTEGER NOT NULL, key TEXT NOT NULL, place INTEGER NOT NULL, term, kind TEXT NOT NULL,
    encoding TEXT NOT NULL, data NOT NULL, PRIMARY KEY (run, key, place)
) WITHOUT ROWID;
CREATE INDEX indexed_by_term ON indexed (key, term, run);
CREATE TABLE index_types (key TEXT PRIMARY KEY, type TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE counters (
    run INTEGER NOT NULL, type TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (run, type)
) WITHOUT ROWID;
CREATE TABLE history (
    run INTEGER NOT NULL, event INTEGER NOT NULL, time REAL NOT NULL, kind TEXT NOT NULL,
    record TEXT NOT NULL, PRIMARY KEY (run, event)
) WITHOUT ROWID;
CREATE TABLE streams (
    stream INTEGER PRIMARY KEY, flow_type TEXT NOT NULL, name TEXT NOT NULL, flow_id TEXT NOT NULL,
    UNIQUE (flow_type, name, flow_id)
);
CREATE TABLE stream_messages (
    id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, source TEXT NOT NULL, created_at REAL NOT NULL,
    size INTEGER NOT NULL, kind TEXT NOT NULL, encoding TEXT NOT NULL, data NOT NULL
);
CREATE INDEX stream_messages_by_stream ON stream_messages (stream, id, size);
"""


def connect(path: Path | None, *, survives_power_loss: bool) -> sqlite3.Connection:
    """Open or create an engine file; without a path, one in memory.

    Raises:
        EngineFileVersionError: The file is newer than this release, or is something else.
        sqlite3.Error: It cannot be opened or written; see `open_error`.
    """
    where = ":memory:" if path is None else str(path)
    # The engine hands its store from the thread that opened it to the one that runs it.
    connection = sqlite3.connect(where, isolation_level=None, check_same_thread=False)
    try:
        prepare_schema(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if survives_power_loss else 'NORMAL'}")
        # Proves now, not at the first message, that the file can be written; to begin is not
        # enough, since SQLite lets a transaction begin on a file that it may only read.
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM runs WHERE run < 0")
        connection.execute("ROLLBACK")
    except BaseException:
        connection.close()
        raise
    return connection


def open_error(
    path: Path | None, error: sqlite3.Error, *, verb: str = "open"
) -> EngineStorageError | EngineFileVersionError:
    """Return the error for a file that SQLite could not open, read or write.

    Args:
        path: The file.
        error: What SQLite said.
        verb: What was tried; "read" for one that is only looked at.
    """
    if "not a database" in str(error):
        return EngineFileVersionError(
            f"{path} is not an engine file; give the engine a file of its own"
        )
    access = "read" if verb == "read" else "write to"
    return EngineStorageError(
        f"cannot {verb} {path}: {error}; give the engine a path in a folder that exists and that "
        f"this user may {access}"
    )


def prepare_schema(connection: sqlite3.Connection, path: Path | None) -> None:
    """Create the tables in an empty file, or check that the file is one of ours.

    Raises:
        EngineFileVersionError: The file is newer than this release, or is something else.
    """
    if _is_empty(connection):
        # One transaction: a process killed here leaves an empty file, not half a schema.
        connection.executescript(
            f"BEGIN IMMEDIATE;{TABLES}PRAGMA application_id={APPLICATION_ID};"
            f"PRAGMA user_version={SCHEMA_VERSION};COMMIT;"
        )
    else:
        check_schema(connection, path)


def _is_empty(connection: sqlite3.Connection) -> bool:
    marks = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _MARKS]
    return not any(marks) and not connection.execute("SELECT 1 FROM sqlite_master").fetchone()


def check_schema(connection: sqlite3.Connection, path: Path | None) -> None:
    """Check that a file is one of ours, of a form that this release can read.

    Raises:
        EngineFileVersionError: The file is newer than this release, or is something else.
    """
    application_id, version = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _MARKS
    )
    if application_id != APPLICATION_ID:
        raise EngineFileVersionError(
            f"{path} is a SQLite database of another program; give the engine a file of its own"
        )
    if version > SCHEMA_VERSION:
        raise EngineFileVersionError(
            f"{path} was written by a newer release of dex-agents (file version {version}, "
            f"this release reads up to {SCHEMA_VERSION}); upgrade dex-agents to open it"
        )
