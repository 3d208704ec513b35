# twin: shared
"""The counters of the SQLite spend limit: what they add up, refuse, forget and share."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dex_agents.spend.allowances import (
    SpendAllowance,
    SpendPeriod,
    SpendScope,
    SpendTotal,
    to_micros,
)
from dex_agents.spend.book import BookEntry, SpendBook

AT = datetime(2030, 1, 1, 23, 0, tzinfo=UTC)
ALL, SESSION, USER = SpendScope.ALL, SpendScope.SESSION, SpendScope.USER


def entry(key: str, tokens: int = 10, micros: int = 0, **changes: object) -> BookEntry:
    values: dict[str, object] = {"session": "s-1", "user": "ann", "at": AT, **changes}
    return BookEntry(key=key, tokens=tokens, micros=micros, **values)  # type: ignore[arg-type]  # the test's own values


def test_a_reservation_becomes_what_was_used() -> None:
    book = SpendBook(":memory:", [])
    assert book.reserve(entry("a", 50, 7)) is None
    assert book.total(ALL, "", None) == SpendTotal(
        open_calls=1, reserved_tokens=50, reserved_money=Decimal("0.000007")
    )
    for _ in range(2):
        book.settle(entry("a", 30, 4), has_failed=False)
        for scope, owner in ((ALL, ""), (SESSION, "s-1"), (USER, "ann")):
            for day in (None, "2030-01-01"):
                assert book.total(scope, owner, day) == SpendTotal(
                    calls=1, tokens=30, money=Decimal("0.000004")
                )


def test_a_failed_call_and_an_unknown_report() -> None:
    book = SpendBook(":memory:", [])
    book.reserve(entry("a", 50))
    book.settle(entry("a", 0), has_failed=True)
    assert book.total(ALL, "", None) == SpendTotal()
    # The counters lost the question; what the call used is counted all the same.
    book.settle(entry("b", 20), has_failed=False)
    assert book.total(ALL, "", None) == SpendTotal(calls=1, tokens=20)


def test_a_question_that_comes_again_reserves_once_and_is_allowed() -> None:
    book = SpendBook(":memory:", [SpendAllowance(scope=ALL, max_tokens=10)])
    assert book.reserve(entry("a")) is None
    assert book.reserve(entry("a")) is None
    assert book.total(ALL, "", None).open_calls == 1
    assert book.reserve(entry("b")) is not None


def test_the_day_of_the_question_counts_and_the_next_day_is_free() -> None:
    book = SpendBook(":memory:", [SpendAllowance(scope=SESSION, max_tokens=10)])
    assert book.reserve(entry("a")) is None
    assert book.reserve(entry("b", at=AT + timedelta(hours=2))) is None
    assert book.reserve(entry("c")) is not None
    book.settle(entry("a"), has_failed=False)
    assert book.total(SESSION, "s-1", "2030-01-01").tokens == 10


@pytest.mark.parametrize(
    ("allowance", "reason"),
    [
        (
            SpendAllowance(scope=SESSION, max_tokens=25),
            "this session may use 25 tokens; 20 are used or reserved today, "
            "and this call may need 10",
        ),
        (
            SpendAllowance(scope=USER, period=SpendPeriod.EVER, max_money=Decimal("2.5")),
            "this user may spend 2.5; 2 is spent or reserved so far, and this call may cost 1",
        ),
        (
            SpendAllowance(scope=ALL, max_tokens=20, max_money=Decimal(9)),
            "all sessions together may use 20 tokens; 20 are used or reserved today, "
            "and this call may need 10",
        ),
    ],
)
def test_a_refusal_says_whose_limit_it_is(allowance: SpendAllowance, reason: str) -> None:
    book = SpendBook(":memory:", [allowance])
    for key in ("a", "b"):
        assert book.reserve(entry(key, 10, 1_000_000)) is None
    book.settle(entry("a", 10, 1_000_000), has_failed=False)
    assert book.reserve(entry("c", 10, 1_000_000)) == reason


def test_an_allowance_for_users_passes_over_a_call_of_nobody() -> None:
    book = SpendBook(":memory:", [SpendAllowance(scope=USER, max_tokens=0)])
    assert book.reserve(entry("a", user=None)) is None
    assert book.reserve(entry("b")) is not None


def test_old_keys_are_forgotten_and_their_totals_kept(tmp_path: Path) -> None:
    book = SpendBook(tmp_path / "spend.db", [])
    book.reserve(entry("open"))
    book.reserve(entry("old"))
    book.settle(entry("old"), has_failed=False)
    book.reserve(entry("new", at=AT + timedelta(days=40)))
    book.close()
    again = SpendBook(tmp_path / "spend.db", [])
    assert again.total(ALL, "", None) == SpendTotal(
        calls=1, tokens=10, open_calls=2, reserved_tokens=20
    )
    # The key of the old call is gone, the one of the open call is not.
    again.settle(entry("open", 5), has_failed=False)
    assert again.total(ALL, "", None).open_calls == 1
    again.settle(entry("old"), has_failed=False)
    assert again.total(ALL, "", None).calls == 3
    again.close()


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    book = SpendBook(tmp_path / "spend.db", [])
    with pytest.raises(OverflowError):
        book.reserve(entry("a", tokens=2**70))
    assert book.total(ALL, "", None) == SpendTotal()
    assert book.reserve(entry("a")) is None
    book.close()


_OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "used", "failed"]),
        st.sampled_from("abcd"),
        st.integers(1, 40),
    ),
    max_size=30,
)


@settings(max_examples=40)
@given(_OPERATIONS)
def test_the_totals_are_those_of_a_plain_model(operations: list[tuple[str, str, int]]) -> None:
    book = SpendBook(":memory:", [SpendAllowance(scope=ALL, max_tokens=100)])
    open_calls: dict[str, int] = {}
    ended: dict[str, int | None] = {}
    for operation, key, tokens in operations:
        used = sum(n for n in ended.values() if n is not None)
        if operation == "reserve":
            is_new = key not in open_calls and key not in ended
            fits = used + sum(open_calls.values()) + tokens <= 100
            assert (book.reserve(entry(key, tokens)) is None) is (fits or not is_new)
            if is_new and fits:
                open_calls[key] = tokens
        else:
            book.settle(entry(key, tokens), has_failed=operation == "failed")
            if key not in ended:
                open_calls.pop(key, None)
                ended[key] = tokens if operation == "used" else None
    counted = [n for n in ended.values() if n is not None]
    assert book.total(ALL, "", None) == SpendTotal(
        calls=len(counted),
        tokens=sum(counted),
        open_calls=len(open_calls),
        reserved_tokens=sum(open_calls.values()),
    )


_CHILD = """
import sys
from datetime import UTC, datetime
from dex_agents.spend.allowances import SpendAllowance, SpendScope
from dex_agents.spend.book import BookEntry, SpendBook

path, name = sys.argv[1:]
book = SpendBook(path, [SpendAllowance(scope=SpendScope.ALL, max_tokens=1000)])
made = 0
for number in range(100):
    at = datetime(2030, 1, 1, tzinfo=UTC)
    values = dict(key=f"{name}-{number}", session=name, user=None, at=at)
    if book.reserve(BookEntry(tokens=30, micros=0, **values)) is None:
        made += 1
        book.settle(BookEntry(tokens=20, micros=0, **values), has_failed=False)
print(made)
"""


def test_two_processes_never_pass_a_shared_limit(tmp_path: Path) -> None:
    path = tmp_path / "spend.db"
    children = [
        subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(path), name], stdout=subprocess.PIPE, text=True
        )
        for name in ("one", "two")
    ]
    made = sum(int(child.communicate(timeout=60)[0]) for child in children)
    total = SpendBook(path, []).total(ALL, "", None)
    assert total.calls == made
    assert 900 < total.tokens <= 1000
    assert total.open_calls == 0


def test_money_is_rounded_up_and_checked() -> None:
    assert to_micros(Decimal("0.0000001")) == 1
    assert to_micros(Decimal("1.5")) == 1_500_000
    with pytest.raises(TypeError, match="a price must be a Decimal, not float"):
        to_micros(0.1)
    for wrong in ("-1", "NaN", "Infinity"):
        with pytest.raises(ValueError, match="a price must be a number that is not negative"):
            to_micros(Decimal(wrong))


def test_an_allowance_refuses_what_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="needs max_tokens, max_money or both"):
        SpendAllowance(scope=ALL)
    with pytest.raises(TypeError, match="max_tokens must be an int, not float"):
        SpendAllowance(scope=ALL, max_tokens=1.5)  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(TypeError, match="max_money must be a finite Decimal, not float"):
        SpendAllowance(scope=ALL, max_money=0.5)  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(ValueError, match="must not be negative"):
        SpendAllowance(scope=ALL, max_tokens=-1)
    with pytest.raises(ValueError, match="is not a valid SpendScope"):
        SpendAllowance(scope="team", max_tokens=1)  # type: ignore[arg-type]  # the mistake under test
