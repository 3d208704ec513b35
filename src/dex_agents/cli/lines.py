# twin: shared
"""What the commands print of Flows and their histories, wherever that was read."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowLine:
    """One run of a Flow; times in seconds since the epoch."""

    flow_id: str
    run_id: str
    flow_type: str
    status: str
    started_at: float
    closed_at: float | None

    def to_json(self) -> dict[str, Any]:
        """Return it for a program, with times in ISO 8601."""
        return {
            "flow_id": self.flow_id,
            "run_id": self.run_id,
            "flow_type": self.flow_type,
            "status": self.status,
            "started_at": iso_time(self.started_at),
            "closed_at": None if self.closed_at is None else iso_time(self.closed_at),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One line of a run's history.

    Attributes:
        event_id: Its place, from 1.
        time: When it happened, in seconds since the epoch.
        kind: What happened, such as `execute_completed`.
        step_id: The Step execution; empty for what is no Step's, as the next three are.
        source: The Step execution that led to it.
        attempt: The attempt that ended it.
        seconds: How long that attempt took.
        detail: The name of an RPC, the text of a failure, the status of a closed run.
    """

    event_id: int
    time: float
    kind: str
    step_id: str = ""
    source: str = ""
    attempt: int = 0
    seconds: float | None = None
    detail: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it for a program, with its time in ISO 8601; what is empty is left out."""
        found: dict[str, Any] = {
            "event_id": self.event_id,
            "time": iso_time(self.time),
            "kind": self.kind,
        }
        for name in ("step_id", "source", "attempt", "seconds", "detail"):
            if value := getattr(self, name):
                found[name] = value
        return found


class FlowSource(AbstractContextManager["FlowSource"], Protocol):
    """Where Flows are read: a file, or an engine at an address."""

    def flows(self, query: str, limit: int) -> Iterable[FlowLine]:
        """Return the newest runs that match a query.

        Raises:
            DexAgentsError: The query cannot be understood, or nobody answers.
        """
        ...

    def history(self, flow_id: str, run_id: str) -> Iterable[HistoryEntry]:
        """Return the history of a Flow's latest run or of the one named, oldest first.

        Raises:
            DexAgentsError: There is no such run, or nobody answers.
        """
        ...


def iso_time(seconds: float) -> str:
    """Return a time in ISO 8601, in UTC and to the millisecond."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def short_time(seconds: float | None) -> str:
    """Return a time as a person reads it, in UTC; empty for `None`."""
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows under their heads, each column as wide as its longest entry."""
    shown = [tuple(heads), *(tuple(_printable(cell) for cell in row) for row in rows)]
    widths = [max(len(row[place]) for row in shown) for place in range(len(heads))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    )
    return "\n".join(lines)


def _printable(text: str) -> str:
    """Show what would move the cursor, or fake a line, as an escape."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )
