# twin: shared
"""Verify an engine file: SQLite's own check, then every record of ours is read."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field

from dex_agents.engine.kernel.state import FlowState
from dex_agents.engine.store.reading import StoredFile
from dex_agents.engine.store.search import SearchCondition

_PAGE = 500
_MOST_FAULTS = 100
_RUN_TABLES = ("attributes", "messages", "steps", "indexed", "counters", "history")


@dataclass(slots=True)
class FileContents:
    """What a file holds, and what is wrong with it.

    Attributes:
        faults: What cannot be read, at most 100 lines; empty for a sound file.
        flows: The number of runs by Flow type and status.
        steps: The number of active Step executions by type and phase.
        counts: Everything else, by a name for people.
    """

    faults: list[str] = field(default_factory=list[str])
    flows: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    steps: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    counts: dict[str, int] = field(default_factory=dict[str, int])


def check_file(file: StoredFile) -> FileContents:
    """Read everything in a file.

    A running Flow without a Step waits for nothing and is a fault too: it could never go on.
    """
    contents = FileContents()
    try:
        for line in file.connection.execute(f"PRAGMA integrity_check({_MOST_FAULTS})"):
            if line[0] != "ok":
                contents.faults.append(f"SQLite: {line[0]}")
        for fault in _faults(file, contents):
            if len(contents.faults) >= _MOST_FAULTS:
                break
            contents.faults.append(fault)
        _count(file.connection, contents)
    except sqlite3.Error as error:
        contents.faults.append(f"SQLite: {error}")
    return contents


def _faults(file: StoredFile, contents: FileContents) -> Iterator[str]:
    for table in _RUN_TABLES:
        orphans = file.connection.execute(
            f"SELECT count(*) FROM {table} WHERE run NOT IN (SELECT run FROM runs)"
        ).fetchone()[0]
        if orphans:
            yield f"{orphans} rows of {table} belong to no run"
    before: int | None = None
    while True:
        try:
            runs, before = file.search(SearchCondition("1"), _PAGE, before)
        except (ValueError, LookupError, TypeError) as error:
            # Which one it is only SQLite's shell could tell; the rest cannot be paged through.
            yield f"a run record cannot be read: {error!r}"
            return
        for run in runs:
            where = f"Flow {run.flow_id!r}, run {run.run_id}"
            key = (run.flow_type, run.status.value)
            contents.flows[key] = contents.flows.get(key, 0) + 1
            try:
                state = file.load(run)
                for _ in file.read_history(run.run_id):
                    pass
            except (ValueError, LookupError, TypeError) as error:
                yield f"{where}: cannot be read: {error!r}"
                continue
            _count_steps(state, contents)
            if state.is_active and not state.steps:
                yield f"{where}: runs, but has no Step"
        if before is None:
            return


def _count_steps(state: FlowState, contents: FileContents) -> None:
    for step in state.steps.values():
        key = (step.step_type, step.phase.value)
        contents.steps[key] = contents.steps.get(key, 0) + 1


_COUNTS = {
    "runs": "SELECT count(*) FROM runs",
    "Attributes": "SELECT count(*) FROM attributes",
    "bytes of Attributes": "SELECT coalesce(sum(length(CAST(data AS BLOB))), 0) FROM attributes",
    "waiting channel messages": "SELECT count(*) FROM messages",
    "history lines": "SELECT count(*) FROM history",
    "stream events": "SELECT count(*) FROM stream_messages",
    "bytes of stream events": "SELECT coalesce(sum(size), 0) FROM stream_messages",
}


def _count(connection: sqlite3.Connection, contents: FileContents) -> None:
    for name, question in _COUNTS.items():
        contents.counts[name] = int(connection.execute(question).fetchone()[0])
    version, pages, page_size, free = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("user_version", "page_count", "page_size", "freelist_count")
    )
    contents.counts["file version"] = version
    contents.counts["bytes of the file"] = pages * page_size
    contents.counts["bytes of it that are free"] = free * page_size
