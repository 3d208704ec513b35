# twin: shared
"""The engine file: load runs, write batches, commit.

One `Store` belongs to one engine and is used from one thread at a time. Events of Streams are
written at once into the open transaction, where this connection already sees them, and become
durable with the next commit; everything else is collected and written by `commit`.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path

from dex_agents.engine.kernel.records import event_from_text, run_from_columns, step_from_text
from dex_agents.engine.kernel.state import FlowState, Message, RunRecord, split_name
from dex_agents.engine.kernel.transition import FlowWrites, HistoryEvent
from dex_agents.engine.kernel.values import Value, ValueKind
from dex_agents.engine.store.batch import WriteBatch
from dex_agents.engine.store.ownership import FileOwnership
from dex_agents.engine.store.schema import connect, open_error
from dex_agents.engine.store.search import SearchCondition
from dex_agents.engine.store.streams import StreamKey, StreamTable
from dex_agents.errors import EngineStorageError

# How long events may stay uncommitted when nothing else is committed. They are best effort, readers
# see them at once, and a commit per streamed word would cost more than the words.
EVENT_COMMIT_SECONDS = 0.05
_KEYS_IN_MEMORY = 16_384
_BEYOND_ALL_RUNS = 1 << 62


class Durability(StrEnum):
    """What a commit survives: a killed process (the default), or a machine without power."""

    PROCESS_CRASH = "process-crash"
    POWER_LOSS = "power-loss"


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


class Store:
    """One open engine file.

    Attributes:
        on_commit: Called before and after each transaction ("before" or "after", and its number
            from 1); tests cut the store dead there.
    """

    def __init__(self, path: str | Path, durability: Durability = Durability.PROCESS_CRASH) -> None:
        """Open or create the file and take its ownership.

        Args:
            path: A file, or `:memory:` for one that goes with the store.
            durability: What a commit survives.

        Raises:
            EngineFileInUseError: Another engine owns the file.
            EngineFileVersionError: A newer release wrote it, or it is something else.
            EngineStorageError: The file cannot be opened or written.
        """
        self.on_commit: Callable[[str, int], None] | None = None
        self.commits = 0
        self._events_since: float | None = None
        self._batch = WriteBatch()
        # The row of each run: those of the open batch and, as a cache, some of the file.
        self._keys: dict[str, int] = {}
        self._refusal: EngineStorageError | None = None
        self._ownership: FileOwnership | None = None
        # Other spellings of the path, symbolic links among them, are the same file.
        self.path = None if str(path) == ":memory:" else Path(os.path.realpath(path))
        with ExitStack() as undo:
            if self.path is not None:
                self._ownership = FileOwnership(self.path)
                undo.callback(self._ownership.close)
            full = durability is Durability.POWER_LOSS
            try:
                self._connection = connect(self.path, survives_power_loss=full)
                undo.callback(self._connection.close)
                self.streams = StreamTable(self._connection)
                newest = self._connection.execute("SELECT max(run) FROM runs").fetchone()[0]
            except sqlite3.Error as error:
                raise open_error(self.path, error) from None
            undo.pop_all()
        self._next_run: int = (newest or 0) + 1

    def close(self) -> None:
        """Commit what is open, close the file and give up its ownership."""
        try:
            self.commit(forces_events=True)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the file without committing what is open."""
        self._connection.close()
        if self._ownership is not None:
            self._ownership.close()

    # -- writing -----------------------------------------------------------------------------

    def write(self, writes: FlowWrites) -> None:
        """Add one transition's writes to the next commit."""
        self._batch.add(self._row(writes.run_id), writes)

    def _row(self, run_id: str) -> int:
        row = self._keys.get(run_id)
        if row is None:
            found = self._connection.execute("SELECT run FROM runs WHERE run_id = ?", (run_id,))
            stored = found.fetchone()
            if stored is None:
                stored, self._next_run = (self._next_run,), self._next_run + 1
            row = self._keys[run_id] = int(stored[0])
        return row

    def append_event(
        self, key: StreamKey, source: str, value: Value, now: float, capacity_bytes: int
    ) -> None:
        """Append an event to a Stream; it is durable with the next commit.

        Raises:
            EngineStorageError: The disk refused it. Nothing of the open transaction was kept, so
                the next commit raises this too.
        """
        try:
            self._begin()
            self.streams.append(key, source, value, now, capacity_bytes)
            if self._events_since is None:
                self._events_since = time.monotonic()
        except sqlite3.Error as error:
            self._refusal = self._rolled_back(error)
            raise self._refusal from error

    def events_due_in(self) -> float | None:
        """Return the seconds until events without a transition must be committed, or `None`."""
        if self._events_since is None:
            return None
        return max(0.0, self._events_since + EVENT_COMMIT_SECONDS - time.monotonic())

    def commit(self, *, forces_events: bool = False) -> None:
        """Write everything collected since the last commit, in one transaction.

        Events alone wait a moment for a transition to share its commit.

        Raises:
            EngineStorageError: The disk refused it; nothing of the batch was kept.
        """
        if self._refusal is not None:
            refusal, self._refusal = self._refusal, None
            self._forget()
            raise refusal
        if not self._batch and not (forces_events or self.events_due_in() == 0.0):
            return
        if not self._batch and not self._connection.in_transaction:
            return
        try:
            self._report("before", self.commits + 1)
            self._begin()
            self._batch.execute(self._connection)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._rolled_back(error) from error
        except BaseException:
            self._forget()
            raise
        self.commits += 1
        self._batch = WriteBatch()
        self._events_since = None
        if len(self._keys) > _KEYS_IN_MEMORY:
            self._keys.clear()
        self._report("after", self.commits)

    def _report(self, moment: str, number: int) -> None:
        if self.on_commit is not None:
            self.on_commit(moment, number)

    def _begin(self) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")

    def _forget(self) -> None:
        """Drop everything that is not committed."""
        self._batch = WriteBatch()
        self._events_since = None
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._keys.clear()
        self.streams.forget_caches()

    def _rolled_back(self, error: sqlite3.Error) -> EngineStorageError:
        self._forget()
        where = self.path or "the database in memory"
        return EngineStorageError(
            f"cannot write {where}: {error}; nothing of this change was kept, and the file is as "
            "it was before; free space or restore access, then try again"
        )

    # -- reading -----------------------------------------------------------------------------

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
        run = self._row(record.run_id)
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

    def set_index_types(self, types: Mapping[str, str]) -> None:
        """Add names to search by to the next commit."""
        self._batch.index_types.update(types)

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
