# twin: shared
"""Read Flows out of an engine file, without its ownership."""

import sqlite3
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from dex_agents.cli.lines import FlowLine, HistoryEntry
from dex_agents.engine.kernel.state import RunRecord
from dex_agents.engine.kernel.transition import HistoryEvent
from dex_agents.engine.store.reading import StoredFile
from dex_agents.engine.store.search import SearchQueryError, parse_query
from dex_agents.errors import DexAgentsError, EngineStorageError


class FileSource:
    """An engine file, as it is when it is opened; an engine may run on it meanwhile."""

    def __init__(self, path: str | Path) -> None:
        """Open the file.

        Raises:
            EngineFileVersionError: A newer release wrote the file, or it is something else.
            EngineStorageError: There is no such file, or it cannot be read.
        """
        self._file = StoredFile(path)

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
        self._file.__exit__(kind, error, trace)

    def flows(self, query: str, limit: int) -> Iterable[FlowLine]:
        """Return the newest runs that match a query."""
        with self._readable():
            try:
                condition = parse_query(query, self._file.index_types())
            except SearchQueryError as error:
                raise DexAgentsError(str(error)) from None
            runs, _ = self._file.search(condition, limit, None)
        return [_flow_line(run) for run in runs]

    def history(self, flow_id: str, run_id: str) -> Iterable[HistoryEntry]:
        """Return the history of a Flow's latest run or of the one named, oldest first."""
        with self._readable():
            run = self._file.find_run(flow_id, run_id)
            if run is None:
                named = (
                    f"no run {run_id!r} of Flow {flow_id!r}" if run_id else f"no Flow {flow_id!r}"
                )
                raise DexAgentsError(f"there is {named} in {self._file.path}")
            return [_entry(event) for event in self._file.read_history(run.run_id)]

    @contextmanager
    def _readable(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise EngineStorageError(
                f"cannot read {self._file.path}: {error}; see what is wrong with "
                f"dex-agents engine --db {self._file.path} --check"
            ) from None


def _flow_line(run: RunRecord) -> FlowLine:
    return FlowLine(
        flow_id=run.flow_id,
        run_id=run.run_id,
        flow_type=run.flow_type,
        status=run.status.value,
        started_at=run.started_at,
        closed_at=run.closed_at,
    )


def _entry(event: HistoryEvent) -> HistoryEntry:
    return HistoryEntry(
        event_id=event.event_id,
        time=event.time,
        kind=event.kind,
        step_id=event.step_id,
        source=event.source,
        attempt=event.attempt,
        seconds=round(max(0.0, event.time - event.started_at), 3) if event.step_id else None,
        detail=event.detail,
    )
