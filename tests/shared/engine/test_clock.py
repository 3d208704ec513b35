# twin: shared
"""Prove what the clocks promise."""

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex_agents.engine.clock import Clock, SystemClock, VirtualClock

START = datetime(2030, 1, 1, tzinfo=UTC)


def test_the_system_clock_tells_the_machines_time_and_moves_by_itself() -> None:
    clock: Clock = SystemClock()
    before = time.time()
    now = clock.now()
    assert before <= now <= time.time()
    clock.jump_to(now + 1e6)
    assert clock.now() < now + 1e5
    clock.on_change(lambda: pytest.fail("nobody moves real time"))
    assert (clock.is_virtual, clock.skips_time) == (False, False)


def test_a_virtual_clock_stands_until_it_is_moved() -> None:
    clock: Clock = VirtualClock(START)
    assert clock.now() == START.timestamp() == clock.now()
    assert (clock.is_virtual, clock.skips_time) == (True, False)
    assert VirtualClock(time_skipping=True).skips_time


def test_a_virtual_clock_moves_forward_and_says_so() -> None:
    clock, woken = VirtualClock(START), list[float]()
    clock.on_change(lambda: woken.append(clock.now()))
    clock.advance(timedelta(days=30))
    assert woken == [START.timestamp() + 30 * 86400]
    clock.advance(timedelta(0))
    assert len(woken) == 2


def test_jumping_is_the_engines_own_doing_and_wakes_nobody() -> None:
    clock = VirtualClock(START)
    clock.on_change(lambda: pytest.fail("the engine jumped itself"))
    clock.jump_to(START.timestamp() + 5)
    assert clock.now() == START.timestamp() + 5


@given(st.lists(st.floats(-1e6, 1e6) | st.timedeltas(timedelta(0), timedelta(days=999))))
def test_virtual_time_never_goes_back(moves: list[float | timedelta]) -> None:
    clock = VirtualClock(START)
    for move in moves:
        before = clock.now()
        if isinstance(move, timedelta):
            clock.advance(move)
        else:
            clock.jump_to(START.timestamp() + move)
        assert clock.now() >= before


def test_a_negative_duration_is_refused() -> None:
    with pytest.raises(ValueError, match="time does not go back"):
        VirtualClock().advance(timedelta(seconds=-1))


def test_the_start_must_say_its_time_zone() -> None:
    with pytest.raises(ValueError, match="aware datetime"):
        VirtualClock(datetime(2030, 1, 1))
    there = datetime(2030, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert VirtualClock(there).now() == START.timestamp()


def test_a_clock_may_be_handed_to_the_next_engine() -> None:
    clock, woken = VirtualClock(START), list[str]()
    clock.on_change(lambda: woken.append("first"))
    clock.on_change(lambda: woken.append("second"))
    clock.advance(timedelta(seconds=1))
    assert woken == ["second"]
