# twin: shared
"""The engine file: write batches, commit.

One `Store` belongs to one engine and is used from one thread at a time. Events of Streams are
written at once into the open transaction, where this connection already sees them, and become
durable with the next commit; everything else is collected and written by `commit`.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from enum import StrEnum
from pathlib import Path

from dex_agents.engine.kernel.transition import FlowWrites
from dex_agents.engine.kernel.values import Value
from dex_agents.engine.store.batch import WriteBatch
from dex_agents.engine.store.ownership import FileOwnership
from dex_agents.engine.store.reading import StoreReader
from dex_agents.engine.store.schema import connect, open_error
from dex_agents.engine.store.streams import StreamKey, StreamTable
from dex_agents.errors import EngineStorageError

# How long events may stay uncommitted when nothing else is committed. They are best effort, readers
# see them at once, and a commit per streamed word would cost more than the words.
EVENT_COMMIT_SECONDS = 0.05
_KEYS_IN_MEMORY = 16_384
# Runs that one commit deletes at most; a longer one would make everybody wait.
_REMOVED_AT_ONCE = 100


class Durability(StrEnum):
    """What a commit survives: a killed process (the default), or a machine without power."""

    PROCESS_CRASH = "process-crash"
    POWER_LOSS = "power-loss"


class Store(StoreReader):
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
                super().__init__(connect(self.path, survives_power_loss=full))
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
        row = self._stored_row(run_id)
        if row is None:
            row = self._keys[run_id] = self._next_run
            self._next_run += 1
        return row

    def expect_removals(self) -> None:
        """Make it cheap to find the runs that were closed first."""
        # Only speed is at stake: a full disk must not keep an engine from opening.
        with suppress(sqlite3.Error):
            self._connection.execute(
                "CREATE INDEX IF NOT EXISTS runs_by_close ON runs (closed_at) "
                "WHERE closed_at IS NOT NULL"
            )

    def remove_closed(self, closed_before: float) -> None:
        """Add the runs that were closed first, up to a time, to what the next commit deletes.

        It takes at most 100, so that nobody waits long; `first_closed_at` then says what is left.
        """
        self._batch.removed_runs.update(self.closed_runs(closed_before, _REMOVED_AT_ONCE))

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
        has_removed = bool(self._batch.removed_runs)
        self._batch = WriteBatch()
        self._events_since = None
        if has_removed or len(self._keys) > _KEYS_IN_MEMORY:
            self._keys.clear()
        if has_removed:
            self.streams.forget_caches()
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

    def set_index_types(self, types: Mapping[str, str]) -> None:
        """Add names to search by to the next commit."""
        self._batch.index_types.update(types)
