# twin: shared
"""The counters of a spend limit in one SQLite file; blocking, for any number of processes."""

import os
import sqlite3
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from dex_agents.spend.allowances import (
    SpendAllowance,
    SpendPeriod,
    SpendScope,
    SpendTotal,
    from_micros,
    to_micros,
)

_EVER: Final = "ever"

# A report may come again while its Step is tried again, which ends within hours; the keys of
# finished calls are kept far longer than that.
_KEEP_KEYS: Final = timedelta(days=30)

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS spend_calls (
    key TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    user TEXT,
    day TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    micros INTEGER NOT NULL,
    is_open INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS spend_calls_day ON spend_calls (day) WHERE is_open = 0;
CREATE TABLE IF NOT EXISTS spend_totals (
    scope TEXT NOT NULL,
    owner TEXT NOT NULL,
    period TEXT NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    micros INTEGER NOT NULL DEFAULT 0,
    open_calls INTEGER NOT NULL DEFAULT 0,
    reserved_tokens INTEGER NOT NULL DEFAULT 0,
    reserved_micros INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, owner, period)
) WITHOUT ROWID;
"""

_COUNTERS: Final = ("calls", "tokens", "micros", "open_calls", "reserved_tokens", "reserved_micros")


@dataclass(frozen=True, slots=True, kw_only=True)
class BookEntry:
    """One attempt of a model call, with its estimate or what it used.

    Attributes:
        key: Names the attempt.
        session: The session ID.
        user: The user's key, if the application knows one.
        at: When the call was asked for; its day counts, also for a report that comes later.
        tokens: Input and output tokens.
        micros: Their price in millionths.
    """

    key: str
    session: str
    user: str | None
    at: datetime
    tokens: int
    micros: int


@dataclass(slots=True)
class _Counters:
    calls: int = 0
    tokens: int = 0
    micros: int = 0
    open_calls: int = 0
    reserved_tokens: int = 0
    reserved_micros: int = 0


class SpendBook:
    """Count what is reserved and used; every method is one transaction."""

    def __init__(
        self, path: str | Path, allowances: Sequence[SpendAllowance], *, wait_seconds: float = 30.0
    ) -> None:
        """Open the file with the first call.

        Args:
            path: The SQLite file; `":memory:"` for one that lasts as long as this object.
            allowances: What may be spent.
            wait_seconds: How long to wait for other processes.
        """
        self._path = str(path)
        self._allowances = tuple(allowances)
        self._wait_seconds = wait_seconds
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._pruned_day = ""

    def reserve(self, entry: BookEntry) -> str | None:
        """Reserve an estimate; return why not when an allowance has too little left."""
        with self._transaction() as db:
            if _call(db, entry.key) is not None:
                # The answer to this question was lost; it has been allowed.
                return None
            for allowance in self._allowances:
                refusal = _refusal(db, allowance, entry)
                if refusal is not None:
                    return refusal
            self._prune(db, _day(entry.at))
            _store_call(db, entry, is_open=True)
            _add(
                db,
                entry,
                _Counters(open_calls=1, reserved_tokens=entry.tokens, reserved_micros=entry.micros),
            )
            return None

    def settle(self, entry: BookEntry, *, has_failed: bool) -> None:
        """Replace a reservation by what was used; a second report of a key changes nothing."""
        with self._transaction() as db:
            found = _call(db, entry.key)
            if found is not None and not found[2]:
                return
            tokens, micros = (0, 0) if found is None else found[:2]
            change = _Counters(
                open_calls=0 if found is None else -1,
                reserved_tokens=-tokens,
                reserved_micros=-micros,
            )
            if not has_failed:
                change.calls, change.tokens, change.micros = 1, entry.tokens, entry.micros
            _store_call(db, entry, is_open=False)
            _add(db, entry, change)

    def total(self, scope: SpendScope, owner: str, day: str | None) -> SpendTotal:
        """Return what was spent; on one day (`2026-12-31`), or ever."""
        with self._transaction() as db:
            found = _total(db, scope, owner, day or _EVER)
        return SpendTotal(
            calls=found.calls,
            tokens=found.tokens,
            money=from_micros(found.micros),
            open_calls=found.open_calls,
            reserved_tokens=found.reserved_tokens,
            reserved_money=from_micros(found.reserved_micros),
        )

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with self._lock:
            db = self._open()
            # One writer at a time in all processes: nobody decides on numbers that are changing.
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    def _open(self) -> sqlite3.Connection:
        # A forked child must not use its parent's connection.
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        db = sqlite3.connect(
            self._path,
            timeout=self._wait_seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.executescript(_SCHEMA)
        except BaseException:
            db.close()
            raise
        self._connection, self._process = db, os.getpid()
        return db

    def _prune(self, db: sqlite3.Connection, day: str) -> None:
        """Forget the keys of finished calls that are older than any report can be."""
        if day == self._pruned_day:
            return
        self._pruned_day = day
        oldest = datetime.fromisoformat(day) - _KEEP_KEYS
        db.execute(
            "DELETE FROM spend_calls WHERE day < ? AND is_open = 0",
            (oldest.date().isoformat(),),
        )


def _day(at: datetime) -> str:
    return at.astimezone(UTC).date().isoformat()


def _owners(entry: BookEntry) -> list[tuple[SpendScope, str]]:
    owners = [(SpendScope.ALL, ""), (SpendScope.SESSION, entry.session)]
    if entry.user is not None:
        owners.append((SpendScope.USER, entry.user))
    return owners


def _call(db: sqlite3.Connection, key: str) -> tuple[int, int, bool] | None:
    row = db.execute(
        "SELECT tokens, micros, is_open FROM spend_calls WHERE key = ?", (key,)
    ).fetchone()
    return None if row is None else (row[0], row[1], bool(row[2]))


def _store_call(db: sqlite3.Connection, entry: BookEntry, *, is_open: bool) -> None:
    db.execute(
        "INSERT OR REPLACE INTO spend_calls VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            entry.key,
            entry.session,
            entry.user,
            _day(entry.at),
            entry.tokens,
            entry.micros,
            int(is_open),
        ),
    )


def _add(db: sqlite3.Connection, entry: BookEntry, change: _Counters) -> None:
    values = [getattr(change, name) for name in _COUNTERS]
    changes = ", ".join(f"{name} = {name} + excluded.{name}" for name in _COUNTERS)
    statement = (
        f"INSERT INTO spend_totals (scope, owner, period, {', '.join(_COUNTERS)}) "
        f"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET {changes}"
    )
    for scope, owner in _owners(entry):
        for period in (_day(entry.at), _EVER):
            db.execute(statement, (scope.value, owner, period, *values))


def _total(db: sqlite3.Connection, scope: SpendScope, owner: str, period: str) -> _Counters:
    row = db.execute(
        f"SELECT {', '.join(_COUNTERS)} FROM spend_totals "
        "WHERE scope = ? AND owner = ? AND period = ?",
        (scope.value, owner, period),
    ).fetchone()
    return _Counters() if row is None else _Counters(*row)


def _refusal(db: sqlite3.Connection, allowance: SpendAllowance, entry: BookEntry) -> str | None:
    owner = dict(_owners(entry)).get(allowance.scope)
    if owner is None:
        # Nobody knows whose call this is, so no user's allowance covers it.
        return None
    is_daily = allowance.period is SpendPeriod.DAY
    total = _total(db, allowance.scope, owner, _day(entry.at) if is_daily else _EVER)
    whose = {
        SpendScope.SESSION: "this session",
        SpendScope.USER: "this user",
        SpendScope.ALL: "all sessions together",
    }[allowance.scope]
    when = "today" if is_daily else "so far"
    spent = total.tokens + total.reserved_tokens
    if allowance.max_tokens is not None and spent + entry.tokens > allowance.max_tokens:
        return (
            f"{whose} may use {allowance.max_tokens} tokens; {spent} are used or reserved {when}, "
            f"and this call may need {entry.tokens}"
        )
    if allowance.max_money is None:
        return None
    micros = total.micros + total.reserved_micros
    if micros + entry.micros > to_micros(allowance.max_money):
        return (
            f"{whose} may spend {_amount(allowance.max_money)}; {_amount(from_micros(micros))} is "
            f"spent or reserved {when}, and this call may cost "
            f"{_amount(from_micros(entry.micros))}"
        )
    return None


def _amount(money: object) -> str:
    return f"{money:f}"
