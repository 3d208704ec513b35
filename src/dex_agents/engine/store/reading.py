# twin: shared
"""Read an engine file: runs, their state and history, and what a search finds.

An engine's own `Store` reads this way, and so does whoever only looks at a file: without its
ownership, beside a running engine, and without changing a byte of it.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from dex_agents.engine.kernel.records import event_from_text, run_from_columns, step_from_text
from dex_agents.engine.kernel.state import FlowState, Message, RunRecord, split_name
from dex_agents.engine.kernel.transition import HistoryEvent
from dex_agents.engine.kernel.values import Value, ValueKind
from dex_agents.engine.store.schema import check_schema, open_error
from dex_agents.engine.store.search import SearchCondition
from dex_agents.errors import EngineStorageError

_BEYOND_ALL_RUNS = 1 << 62


_RUN_COLUMNS = (
    "flow_id",
    "run_id",
    "flow_type",
    "status",
    "started_at",
    "closed_at",
    "request_id",
    "error_type",
    "error_message",
    "search_mode",
    "record",
)
_SELECT_RUN = f"SELECT run, {', '.join(_RUN_COLUMNS)} FROM runs"


class StoreReader:
    """Read the rows of one open connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Read through a connection that stays the caller's to close."""
        self._connection = connection
        # The row of each run: those of an open batch and, as a cache, some of the file.
        self._keys: dict[str, int] = {}

    def _stored_row(self, run_id: str) -> int | None:
        row = self._keys.get(run_id)
        if row is None:
            found = self._connection.execute("SELECT run FROM runs WHERE run_id = ?", (run_id,))
            stored = found.fetchone()
            if stored is not None:
                row = self._keys[run_id] = int(stored[0])
        return row

    def find_run(self, flow_id: str, run_id: str = "") -> RunRecord | None:
        """Return the latest run of a Flow, or the one named, or `None`."""
        if run_id:
            found = self._runs("WHERE flow_id = ? AND run_id = ?", (flow_id, run_id))
        else:
            found = self._runs("WHERE flow_id = ? ORDER BY run DESC LIMIT 1", (flow_id,))
        return found[0][1] if found else None

    def _runs(self, condition: str, parameters: Sequence[object]) -> list[tuple[int, RunRecord]]:
        found: list[tuple[int, RunRecord]] = []
        for row in self._connection.execute(f"{_SELECT_RUN} {condition}", tuple(parameters)):
            record = run_from_columns(dict(zip(_RUN_COLUMNS, row[1:], strict=True)))
            self._keys[record.run_id] = row[0]
            found.append((row[0], record))
        return found

    def load(self, record: RunRecord) -> FlowState:
        """Read the whole state of a stored run."""
        run = self._stored_row(record.run_id)
        read = self._connection.execute
        state = FlowState(run=record)
        for name, kind, encoding, data in read(
            "SELECT name, kind, encoding, data FROM attributes WHERE run = ?", (run,)
        ):
            value = Value(ValueKind(kind), encoding, data)
            map_name, instance = split_name(name)
            if instance is None:
                state.attributes[name] = value
            else:
                state.maps.setdefault(map_name, {})[instance] = value
        channels: dict[str, list[Message]] = {}
        for order, channel, message_id, kind, encoding, data in read(
            "SELECT ord, channel, message_id, kind, encoding, data FROM messages "
            "WHERE run = ? ORDER BY ord",
            (run,),
        ):
            message = Message(message_id, order, Value(ValueKind(kind), encoding, data))
            channels.setdefault(channel, []).append(message)
            state.next_order = max(state.next_order, order + 1)
        state.channels = {channel: tuple(waiting) for channel, waiting in channels.items()}
        steps = [
            step_from_text(step_id, text)
            for step_id, text in read("SELECT step_id, record FROM steps WHERE run = ?", (run,))
        ]
        for step in sorted(steps, key=lambda s: s.since):
            state.steps[step.step_id] = step
            state.next_order = max(state.next_order, step.since + 1)
        state.counters = dict(read("SELECT type, n FROM counters WHERE run = ?", (run,)))
        newest = read("SELECT max(event) FROM history WHERE run = ?", (run,)).fetchone()[0]
        state.next_event = (newest or 0) + 1
        return state

    def index_types(self) -> dict[str, str]:
        """Return the stored names to search by, and the type of each."""
        return dict(self._connection.execute("SELECT key, type FROM index_types"))

    def indexed_values(self, run_id: str) -> dict[str, Value]:
        """Return what a run can be searched by."""
        rows = self._connection.execute(
            "SELECT i.key, i.kind, i.encoding, i.data FROM indexed i JOIN runs r ON r.run = i.run "
            "WHERE r.run_id = ? AND i.place = 0 ORDER BY i.key",
            (run_id,),
        )
        return {key: Value(ValueKind(kind), encoding, data) for key, kind, encoding, data in rows}

    def unfinished_runs(self) -> list[RunRecord]:
        """Return the running runs with a Step that does more than wait."""
        condition = (
            "WHERE status = 'running' AND run IN (SELECT run FROM steps WHERE phase != 'waiting')"
        )
        return [record for _, record in self._runs(condition, ())]

    def sleeping_runs(self) -> list[tuple[str, float]]:
        """Return each Flow with a Step that waits for a timer, and the earliest such time."""
        return self._connection.execute(
            "SELECT r.flow_id, min(s.due_at) FROM steps s JOIN runs r ON r.run = s.run "
            "WHERE s.phase = 'waiting' AND s.due_at IS NOT NULL GROUP BY s.run"
        ).fetchall()

    def read_history(self, run_id: str) -> list[HistoryEvent]:
        """Return the retained history of a run, oldest first."""
        rows = self._connection.execute(
            "SELECT h.event, h.time, h.kind, h.record FROM history h JOIN runs r ON r.run = h.run "
            "WHERE r.run_id = ? ORDER BY h.event",
            (run_id,),
        )
        return [event_from_text(*row) for row in rows]

    def closed_runs(self, closed_before: float, limit: int) -> list[int]:
        """Return the rows of the runs that were closed first, up to a time."""
        rows = self._connection.execute(
            "SELECT run FROM runs WHERE closed_at >= 0 AND closed_at <= ? "
            "ORDER BY closed_at LIMIT ?",
            (closed_before, limit),
        )
        return [row[0] for row in rows]

    def first_closed_at(self) -> float | None:
        """Return when the run that was closed first was closed, or `None`."""
        found = self._connection.execute(
            "SELECT closed_at FROM runs WHERE closed_at >= 0 ORDER BY closed_at LIMIT 1"
        ).fetchone()
        return None if found is None else float(found[0])

    def search(
        self, condition: SearchCondition, limit: int, before_run: int | None
    ) -> tuple[list[RunRecord], int | None]:
        """Return matching runs, newest first, and where the next page starts."""
        bound = _BEYOND_ALL_RUNS if before_run is None else min(before_run, _BEYOND_ALL_RUNS)
        found = self._runs(
            f"WHERE run < ? AND ({condition.sql}) ORDER BY run DESC LIMIT ?",
            (bound, *condition.parameters, limit + 1),
        )
        next_page = found[limit - 1][0] if len(found) > limit else None
        return [record for _, record in found[:limit]], next_page


class StoredFile(StoreReader):
    """An engine file opened only to be looked at; use it as a context manager.

    It needs no ownership, so an engine may run on the file meanwhile. All that is read within one
    `with` block is of one moment.
    """

    def __init__(self, path: str | Path) -> None:
        """Open a file.

        Raises:
            EngineFileVersionError: A newer release wrote the file, or it is something else.
            EngineStorageError: There is no such file, or it cannot be read.
        """
        self.path = Path(path)
        if not self.path.is_file():
            raise EngineStorageError(f"cannot read {path}: there is no such file")
        super().__init__(_connect_for_reading(self.path))

    def __enter__(self) -> Self:
        """Return the open file."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self._connection.close()

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection, for questions that no method here asks."""
        return self._connection


def _connect_for_reading(path: Path) -> sqlite3.Connection:
    # `as_uri` quotes what a URI gives a meaning of its own.
    uri = path.resolve().as_uri()
    try:
        return _opened(f"{uri}?mode=ro", path)
    except sqlite3.Error as error:
        refused = error
    journal = path.with_name(path.name + "-wal")
    if not journal.exists() or journal.stat().st_size == 0:
        # In a folder that this user may not write to, SQLite cannot make the files that readers
        # and writers share; without a journal there is no writer to share with.
        with suppress(sqlite3.Error):
            return _opened(f"{uri}?mode=ro&immutable=1", path)
    raise open_error(path, refused, verb="read") from None


def _opened(uri: str, path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        # One transaction, so that a running engine's commits do not show in between.
        connection.execute("BEGIN")
        check_schema(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection
