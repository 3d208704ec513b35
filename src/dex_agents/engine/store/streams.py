# twin: shared
"""Event Streams in the engine file: append, read on from an ID, bounded by capacity.

IDs grow with the clock and never go back, so a resume token that was given out before a crash
still means "after this moment" when the newest events were lost with the process.
"""

import sqlite3
from typing import NamedTuple

from dex_agents.engine.kernel.values import Value, ValueKind

# Room for a million events within one millisecond.
_SEQUENCE_BITS = 20
# A full Stream is cut to this share of its capacity, so that not every append has to cut.
_KEPT_SHARE = 0.9
_KEYS_IN_MEMORY = 16_384


class StreamKey(NamedTuple):
    """A Stream belongs to a Flow ID and outlives its runs."""

    flow_type: str
    name: str
    flow_id: str


class StreamRow(NamedTuple):
    """One stored event."""

    message_id: int
    source: str
    created_at: float
    value: Value


class StreamTable:
    """The Streams of one engine file; every call runs in the caller's open transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Read where the IDs stand."""
        self._connection = connection
        newest = connection.execute("SELECT max(id) FROM stream_messages").fetchone()[0]
        self._last_id: int = newest or 0
        # Both are caches of what the open transaction sees.
        self._keys: dict[StreamKey, int] = {}
        self._sizes: dict[tuple[str, str], int] = {}

    def forget_caches(self) -> None:
        """Read again when next needed; called after a transaction was rolled back."""
        self._keys.clear()
        self._sizes.clear()

    def append(
        self, key: StreamKey, source: str, value: Value, now: float, capacity_bytes: int
    ) -> int:
        """Append one event, drop the oldest ones beyond the capacity, and return its ID.

        Args:
            key: The Stream.
            source: What wrote it, for the reader's information.
            value: The event.
            now: Seconds since the epoch.
            capacity_bytes: The budget of all Streams of this Flow type and name together.
        """
        stream = self._keys.get(key)
        if stream is None:
            if len(self._keys) >= _KEYS_IN_MEMORY:
                self._keys.clear()
            stream = self._keys[key] = self._find_or_create(key)
        self._last_id = max(self._last_id + 1, int(now * 1000) << _SEQUENCE_BITS)
        family = (key.flow_type, key.name)
        if family not in self._sizes:
            self._sizes[family] = self._size_of(family)
        size = value.size_bytes
        self._connection.execute(
            "INSERT INTO stream_messages (id, stream, source, created_at, size, kind, encoding, "
            "data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (self._last_id, stream, source, now, size, *value.columns),
        )
        self._sizes[family] += size
        if self._sizes[family] > capacity_bytes:
            self._cut(family, int(capacity_bytes * _KEPT_SHARE))
        return self._last_id

    def _size_of(self, family: tuple[str, str]) -> int:
        row = self._connection.execute(
            "SELECT sum(m.size) FROM streams s JOIN stream_messages m ON m.stream = s.stream "
            "WHERE s.flow_type = ? AND s.name = ?",
            family,
        ).fetchone()
        return int(row[0] or 0)

    def _find_or_create(self, key: StreamKey) -> int:
        self._connection.execute(
            "INSERT OR IGNORE INTO streams (flow_type, name, flow_id) VALUES (?, ?, ?)", key
        )
        found = self._find(key)
        if found is None:
            raise sqlite3.IntegrityError(f"stream {key} vanished")
        return found

    def _find(self, key: StreamKey) -> int | None:
        row = self._connection.execute(
            "SELECT stream FROM streams WHERE flow_type = ? AND name = ? AND flow_id = ?", key
        ).fetchone()
        return None if row is None else int(row[0])

    def _cut(self, family: tuple[str, str], target_bytes: int) -> None:
        excess = self._sizes[family] - target_bytes
        doomed: list[int] = []
        for message_id, size in self._connection.execute(
            "SELECT m.id, m.size FROM stream_messages m JOIN streams s ON s.stream = m.stream "
            "WHERE s.flow_type = ? AND s.name = ? AND m.id < ? ORDER BY m.id",
            (*family, self._last_id),
        ):
            if excess <= 0:
                break
            doomed.append(message_id)
            excess -= size
        self._connection.executemany(
            "DELETE FROM stream_messages WHERE id = ?", [(message_id,) for message_id in doomed]
        )
        self._sizes[family] = excess + target_bytes

    def after(self, key: StreamKey, message_id: int) -> StreamRow | None:
        """Return the oldest retained event whose ID is greater, or `None`."""
        return self._one(key, "id > ? ORDER BY id", message_id)

    def before(self, key: StreamKey, message_id: int | None, limit: int) -> list[StreamRow]:
        """Return up to `limit` events before an ID (`None`: from the end), newest first."""
        stream = self._known(key)
        if stream is None:
            return []
        bound = (1 << 63) - 1 if message_id is None else message_id
        rows = self._connection.execute(
            "SELECT id, source, created_at, kind, encoding, data FROM stream_messages "
            "WHERE stream = ? AND id < ? ORDER BY id DESC LIMIT ?",
            (stream, bound, limit),
        )
        return [_row(row) for row in rows]

    def _known(self, key: StreamKey) -> int | None:
        stream = self._keys.get(key)
        if stream is None:
            stream = self._find(key)
            if stream is not None:
                self._keys[key] = stream
        return stream

    def _one(self, key: StreamKey, condition: str, message_id: int) -> StreamRow | None:
        stream = self._known(key)
        if stream is None:
            return None
        row = self._connection.execute(
            "SELECT id, source, created_at, kind, encoding, data FROM stream_messages "
            f"WHERE stream = ? AND {condition} LIMIT 1",
            (stream, message_id),
        ).fetchone()
        return None if row is None else _row(row)


def _row(columns: tuple[int, str, float, str, str, str | bytes]) -> StreamRow:
    message_id, source, created_at, kind, encoding, data = columns
    return StreamRow(message_id, source, created_at, Value(ValueKind(kind), encoding, data))
