# twin: shared
"""The writes of many transitions, merged into one transaction.

Later writes win, a message that came and went is never written, and each table gets one
`executemany`: that is what makes one commit for all that are ready cheap.
"""

import sqlite3
from collections.abc import Callable

from dex_agents.engine.kernel.records import event_to_text, run_to_text, step_to_text
from dex_agents.engine.kernel.state import Message, Phase, RunRecord, StepExecution
from dex_agents.engine.kernel.transition import FlowWrites, HistoryEvent
from dex_agents.engine.kernel.values import IndexEntry, Value, ValueKind

# The newest lines that each run's history keeps; older ones are dropped a block at a time.
HISTORY_LIMIT = 10_000
_HISTORY_BLOCK = 256


class WriteBatch:
    """Collect writes by run key; `None` deletes."""

    def __init__(self) -> None:
        """Begin empty."""
        self.runs: dict[int, RunRecord] = {}
        self.attributes: dict[tuple[int, str], Value | None] = {}
        self.added: dict[tuple[int, int], tuple[str, Message]] = {}
        self.removed: list[tuple[int, int]] = []
        self.steps: dict[tuple[int, str], StepExecution | None] = {}
        self.counters: dict[tuple[int, str], int] = {}
        self.history: list[tuple[int, HistoryEvent]] = []
        self.indexes: dict[tuple[int, str], IndexEntry] = {}
        self.index_types: dict[str, str] = {}
        self.removed_runs: set[int] = set()

    def __bool__(self) -> bool:
        """Tell whether there is anything to write."""
        return bool(
            self.runs
            or self.attributes
            or self.added
            or self.removed
            or self.steps
            or self.counters
            or self.history
            or self.indexes
            or self.index_types
            or self.removed_runs
        )

    def add(self, run: int, writes: FlowWrites) -> None:
        """Merge the writes of one transition of one run."""
        if writes.run is not None:
            self.runs[run] = writes.run
        for name, value in writes.attributes.items():
            self.attributes[run, name] = value
        for channel, message in writes.added_messages:
            self.added[run, message.order] = (channel, message)
        for order in writes.removed_messages:
            if self.added.pop((run, order), None) is None:
                self.removed.append((run, order))
        for step_id, step in writes.steps.items():
            self.steps[run, step_id] = step
        for step_type, number in writes.counters.items():
            self.counters[run, step_type] = number
        for key, entry in writes.indexes.items():
            self.indexes[run, key] = entry
        self.history.extend((run, event) for event in writes.history)

    def execute(self, connection: sqlite3.Connection) -> None:
        """Write everything within the open transaction."""
        many = connection.executemany
        if self.runs:
            many(_UPSERT_RUN, [_run_row(run, record) for run, record in self.runs.items()])
        self._execute_attributes(many)
        self._execute_messages(many)
        self._execute_steps(many)
        if self.counters:
            many(
                "INSERT INTO counters (run, type, n) VALUES (?, ?, ?) "
                "ON CONFLICT (run, type) DO UPDATE SET n = excluded.n",
                [(run, kind, n) for (run, kind), n in self.counters.items()],
            )
        self._execute_history(many)
        self._execute_indexes(many)
        # Last: a Flow that a run of this batch started keeps its event Streams.
        for run in self.removed_runs:
            for statement in _DELETE_RUN:
                connection.execute(statement, {"run": run})

    def _execute_attributes(self, many: Callable[..., object]) -> None:
        upserts = [
            (run, name, *value.columns)
            for (run, name), value in self.attributes.items()
            if value is not None
        ]
        deletes = [key for key, value in self.attributes.items() if value is None]
        if upserts:
            many(
                "INSERT INTO attributes (run, name, kind, encoding, data) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (run, name) DO UPDATE SET kind = excluded.kind, "
                "encoding = excluded.encoding, data = excluded.data",
                upserts,
            )
        if deletes:
            many("DELETE FROM attributes WHERE run = ? AND name = ?", deletes)

    def _execute_messages(self, many: Callable[..., object]) -> None:
        if self.removed:
            many("DELETE FROM messages WHERE run = ? AND ord = ?", self.removed)
        if self.added:
            many(
                "INSERT INTO messages (run, ord, channel, message_id, kind, encoding, data) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (run, order, channel, message.message_id, *message.value.columns)
                    for (run, order), (channel, message) in self.added.items()
                ],
            )

    def _execute_steps(self, many: Callable[..., object]) -> None:
        upserts = [
            (run, *_step_columns(step)) for (run, _), step in self.steps.items() if step is not None
        ]
        deletes = [key for key, step in self.steps.items() if step is None]
        if deletes:
            many("DELETE FROM steps WHERE run = ? AND step_id = ?", deletes)
        if upserts:
            many(
                "INSERT INTO steps (run, step_id, type, phase, waits, due_at, record) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, step_id) DO UPDATE SET "
                "phase = excluded.phase, due_at = excluded.due_at, record = excluded.record",
                upserts,
            )

    def _execute_indexes(self, many: Callable[..., object]) -> None:
        if self.index_types:
            many("REPLACE INTO index_types (key, type) VALUES (?, ?)", self.index_types.items())
        if not self.indexes:
            return
        many("DELETE FROM indexed WHERE run = ? AND key = ?", list(self.indexes))
        many(
            "INSERT INTO indexed (run, key, place, term, kind, encoding, data) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (run, key, place, term, *entry.value.columns)
                for (run, key), entry in self.indexes.items()
                if entry.value.kind is not ValueKind.NULL
                for place, term in enumerate(entry.terms)
            ],
        )

    def _execute_history(self, many: Callable[..., object]) -> None:
        if not self.history:
            return
        many(
            "INSERT INTO history (run, event, time, kind, record) VALUES (?, ?, ?, ?, ?)",
            [(run, e.event_id, e.time, e.kind, event_to_text(e)) for run, e in self.history],
        )
        cuts = [
            (run, event.event_id - HISTORY_LIMIT)
            for run, event in self.history
            if event.event_id % _HISTORY_BLOCK == 0 and event.event_id > HISTORY_LIMIT
        ]
        if cuts:
            many("DELETE FROM history WHERE run = ? AND event <= ?", cuts)


# Streams belong to a Flow and go with its last run; the run itself tells which, so it goes last.
_ORPHANED_STREAMS = (
    "flow_id = (SELECT flow_id FROM runs WHERE run = :run) AND NOT EXISTS (SELECT 1 FROM runs r "
    "WHERE r.flow_id = streams.flow_id AND r.run != :run)"
)
_DELETE_RUN = (
    *(
        f"DELETE FROM {table} WHERE run = :run"
        for table in ("attributes", "messages", "steps", "indexed", "counters", "history")
    ),
    "DELETE FROM stream_messages WHERE stream IN "
    f"(SELECT stream FROM streams WHERE {_ORPHANED_STREAMS})",
    f"DELETE FROM streams WHERE {_ORPHANED_STREAMS}",
    "DELETE FROM runs WHERE run = :run",
)

_RUN_COLUMNS = (
    "flow_id, run_id, flow_type, status, started_at, closed_at, request_id, "
    "error_type, error_message, search_mode, record"
)
_UPSERT_RUN = (
    f"INSERT INTO runs (run, {_RUN_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (run) DO UPDATE SET status = excluded.status, closed_at = excluded.closed_at, "
    "error_type = excluded.error_type, error_message = excluded.error_message, "
    "search_mode = excluded.search_mode, record = excluded.record"
)


def _run_row(run: int, record: RunRecord) -> tuple[object, ...]:
    return (
        run,
        record.flow_id,
        record.run_id,
        record.flow_type,
        record.status.value,
        record.started_at,
        record.closed_at,
        record.request_id,
        record.error_type,
        record.error_message,
        record.search_mode.value,
        run_to_text(record),
    )


def _step_columns(step: StepExecution) -> tuple[object, ...]:
    due_at = None
    if step.phase is Phase.READY:
        due_at = step.due_at
    elif step.phase is Phase.WAITING and step.timers:
        due_at = min(step.timers)
    waits = 0 if step.options.skips_wait_for else 1
    return (step.step_id, step.step_type, step.phase.value, waits, due_at, step_to_text(step))
