# twin: shared
"""Prove when a wait ends and which messages it takes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex_agents.engine.kernel.messages import RpcResponse
from dex_agents.engine.kernel.waits import (
    ChannelCondition,
    ChannelResult,
    TimerCondition,
    WaitingCondition,
    WaitMode,
    match,
)
from dex_agents.engine.refusals import InvalidRequest
from tests.shared.engine.harness import (
    FLOW_ID,
    Engine,
    go_to,
    publishes,
    step,
    texts,
)
from tests.shared.engine.inputs import CHANNELS, waiting_conditions
from tests.shared.engine.model import winner

sizes_by_channel = st.fixed_dictionaries({name: st.integers(0, 6) for name in CHANNELS})


def taken(
    condition: WaitingCondition, fired: tuple[bool, ...] = (), **sizes: int
) -> dict[int, int] | None:
    found = match(condition, fired, sizes)
    return None if found is None else dict(found.taken)


def channels(*conditions: ChannelCondition, mode: WaitMode = WaitMode.ANY) -> WaitingCondition:
    return WaitingCondition(mode=mode, channels=conditions)


# -- the matching ----------------------------------------------------------------------------------


def test_a_wait_without_conditions_holds_in_every_mode() -> None:
    for mode in (WaitMode.ALL, WaitMode.ANY):
        assert taken(WaitingCondition(mode=mode)) == {}


def test_for_one_takes_one_of_many() -> None:
    assert taken(channels(ChannelCondition("c")), c=5) == {0: 1}
    assert taken(channels(ChannelCondition("c"))) is None


def test_for_n_waits_for_n_and_takes_n() -> None:
    condition = channels(ChannelCondition("c", 3, 3))
    assert taken(condition, c=2) is None
    assert taken(condition, c=7) == {0: 3}


def test_at_least_takes_all_there_is() -> None:
    condition = channels(ChannelCondition("c", 2, None))
    assert taken(condition, c=1) is None
    assert taken(condition, c=9) == {0: 9}


def test_at_most_holds_with_nothing_to_take() -> None:
    condition = channels(ChannelCondition("c", 0, 3))
    assert taken(condition) == {0: 0}
    assert taken(condition, c=9) == {0: 3}


def test_the_upper_bound_of_a_range_never_blocks() -> None:
    assert taken(channels(ChannelCondition("c", 1, 2)), c=5) == {0: 2}


def test_any_tries_timers_before_channels_and_both_in_declared_order() -> None:
    condition = WaitingCondition(
        timers=(TimerCondition(5), TimerCondition(9)),
        channels=(ChannelCondition("c"), ChannelCondition("d")),
    )
    assert taken(condition, (False, True), c=1) == {}
    assert taken(condition, (False, False), c=1, d=1) == {0: 1}
    assert taken(condition, (False, False), d=1) == {1: 1}
    assert taken(condition, (False, False)) is None


def test_all_needs_every_timer_and_every_channel() -> None:
    condition = WaitingCondition(
        mode=WaitMode.ALL,
        timers=(TimerCondition(5),),
        channels=(ChannelCondition("c"), ChannelCondition("d", 2, 2)),
    )
    assert taken(condition, (True,), c=1, d=1) is None
    assert taken(condition, (False,), c=1, d=2) is None
    assert taken(condition, (True,), c=1, d=2) == {0: 1, 1: 2}


def test_the_first_satisfied_combination_wins() -> None:
    condition = WaitingCondition(
        mode=WaitMode.COMBINATIONS,
        timers=(TimerCondition(5, "late"),),
        channels=(ChannelCondition("c", condition_id="c"), ChannelCondition("d", condition_id="d")),
        combinations=(("c", "d"), ("late", "d"), ("c",)),
    )
    assert taken(condition, (True,), c=1, d=1) == {0: 1, 1: 1}
    assert taken(condition, (True,), d=1) == {1: 1}
    assert taken(condition, (False,), c=1) == {0: 1}
    assert taken(condition, (False,), d=1) is None


def test_minima_on_one_channel_are_reserved_before_the_rest_is_given_out() -> None:
    condition = channels(
        ChannelCondition("c", 1, 4), ChannelCondition("c", 2, None), mode=WaitMode.ALL
    )
    assert taken(condition, c=2) is None
    assert taken(condition, c=3) == {0: 1, 1: 2}
    assert taken(condition, c=5) == {0: 3, 1: 2}
    assert taken(condition, c=9) == {0: 4, 1: 5}


@given(waiting_conditions(), st.data(), sizes_by_channel)
def test_matching_is_what_the_naive_model_says(
    condition: WaitingCondition, data: st.DataObject, sizes: dict[str, int]
) -> None:
    fired = tuple(data.draw(st.booleans()) for _ in condition.timers)
    found = match(condition, fired, sizes)
    assert (None if found is None else dict(found.taken)) == winner(condition, fired, sizes)


@given(waiting_conditions(), st.data(), sizes_by_channel)
def test_a_match_takes_no_more_than_there_is_and_stays_in_its_bounds(
    condition: WaitingCondition, data: st.DataObject, sizes: dict[str, int]
) -> None:
    found = match(condition, [data.draw(st.booleans()) for _ in condition.timers], sizes)
    if found is None:
        return
    for name in CHANNELS:
        shares = [n for i, n in found.taken.items() if condition.channels[i].channel == name]
        assert sum(shares) <= sizes[name]
    for i, count in found.taken.items():
        bounds = condition.channels[i]
        assert bounds.at_least <= count
        assert bounds.at_most is None or count <= bounds.at_most


@given(waiting_conditions(), st.data(), sizes_by_channel, sizes_by_channel)
def test_what_holds_still_holds_with_more_messages_and_more_time(
    condition: WaitingCondition,
    data: st.DataObject,
    sizes: dict[str, int],
    more: dict[str, int],
) -> None:
    fired = [data.draw(st.booleans()) for _ in condition.timers]
    if match(condition, fired, sizes) is not None:
        later = [f or data.draw(st.booleans()) for f in fired]
        larger = {name: size + more[name] for name, size in sizes.items()}
        assert match(condition, later, larger) is not None


# -- waiting Steps ---------------------------------------------------------------------------------


def waiting(engine: Engine, condition: WaitingCondition, name: str = "W") -> str:
    """Start one Step that waits, and return its ID."""
    if engine.tasks:
        engine.rpc(RpcResponse(decision=go_to(step(name, waits=True))))
    else:
        engine.start(step(name, waits=True))
    task = engine.tasks[-1]
    engine.wait(task, condition)
    return task.step_id


def test_messages_are_consumed_oldest_first_and_only_by_the_winning_condition() -> None:
    engine = Engine()
    step_id = waiting(engine, channels(ChannelCondition("c", 2, 2), ChannelCondition("d")))
    engine.publish("c", "c1")
    assert engine.steps()[step_id].phase == "waiting"
    engine.rpc(RpcResponse(effects=publishes("d", "d1", "d2")))
    results = engine.task(step_id).results
    assert results is not None
    assert results.channels == (
        ChannelResult("c", None),
        ChannelResult("d", results.channels[1].values),
    )
    assert texts(results.channels[1].values or ()) == ["d1"]
    assert [m.value.data for m in engine.state().channels["d"]] == ["d2"]
    assert [m.value.data for m in engine.state().channels["c"]] == ["c1"]


def test_consumed_messages_are_gone_from_the_snapshot_of_execute() -> None:
    engine = Engine()
    step_id = waiting(engine, channels(ChannelCondition("c")))
    engine.publish("c", "1", "2", "3")
    assert engine.task(step_id).snapshot.channel_sizes == {"c": 2}


def test_a_retry_of_execute_sees_the_same_results_and_consumes_nothing() -> None:
    engine = Engine()
    step_id = waiting(engine, channels(ChannelCondition("c")))
    engine.publish("c", "1", "2")
    first = engine.task(step_id)
    engine.fail(first)
    engine.pass_time(1)
    second = engine.task(step_id)
    assert (second.attempt, second.results) == (2, first.results)
    assert len(engine.state().channels["c"]) == 1


def test_one_message_goes_to_the_step_that_began_to_wait_first() -> None:
    engine = Engine()
    first = waiting(engine, channels(ChannelCondition("c")), "A")
    second = waiting(engine, channels(ChannelCondition("c")), "B")
    engine.publish("c", "1")
    assert engine.steps()[first].phase == "running"
    assert engine.steps()[second].phase == "waiting"
    engine.publish("c", "2")
    assert engine.steps()[second].phase == "running"


def test_messages_published_by_the_wait_itself_can_end_it() -> None:
    engine = Engine()
    engine.start(step("W", waits=True))
    condition = channels(ChannelCondition("c", 2, 2))
    engine.wait("W-1", condition, publishes("c", "1", "2"))
    assert engine.task("W-1").method == "execute"


def test_a_timer_counts_from_the_commit_of_the_wait_and_never_fires_early() -> None:
    engine = Engine()
    engine.start(step("W", waits=True))
    engine.pass_time(7)
    began = engine.now
    engine.wait("W-1", WaitingCondition(timers=(TimerCondition(10),)))
    assert engine.core.next_due() == began + 10
    engine.pass_time(9.999)
    assert engine.steps()["W-1"].phase == "waiting"
    engine.pass_time(0.001)
    results = engine.task("W-1").results
    assert results is not None and results.timers == (True,)


def test_a_timer_of_no_seconds_fires_at_once() -> None:
    engine = Engine()
    step_id = waiting(engine, WaitingCondition(timers=(TimerCondition(0),)))
    assert engine.task(step_id).method == "execute"


def test_a_timer_that_fired_without_winning_is_reported_as_fired() -> None:
    engine = Engine()
    condition = WaitingCondition(
        mode=WaitMode.COMBINATIONS,
        timers=(TimerCondition(1, "t"),),
        channels=(ChannelCondition("c", condition_id="c"),),
        combinations=(("c",),),
    )
    step_id = waiting(engine, condition)
    engine.pass_time(2)
    engine.publish("c", "1")
    results = engine.task(step_id).results
    assert results is not None and results.timers == (True,)


def test_a_timer_that_fired_while_a_message_is_missing_is_not_due_again() -> None:
    engine = Engine()
    condition = WaitingCondition(
        mode=WaitMode.ALL, timers=(TimerCondition(1),), channels=(ChannelCondition("c"),)
    )
    step_id = waiting(engine, condition)
    engine.pass_time(5)
    assert engine.core.next_due() is None
    engine.publish("c", "1")
    assert engine.task(step_id).method == "execute"


def test_a_timer_fires_after_a_restart_at_its_own_time(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "engine.db")
    waiting(engine, WaitingCondition(timers=(TimerCondition(100),)))
    engine.cut()
    engine = Engine(tmp_path / "engine.db", now=engine.now + 40)
    assert engine.core.next_due() == engine.now + 60
    assert engine.tasks == []
    engine.pass_time(60)
    assert engine.task("W-1").method == "execute"


def test_a_timer_that_came_due_while_the_engine_was_away_fires_in_the_first_wave(
    tmp_path: Path,
) -> None:
    engine = Engine(tmp_path / "engine.db")
    waiting(engine, WaitingCondition(timers=(TimerCondition(100),)))
    engine.close()
    engine = Engine(tmp_path / "engine.db", now=engine.now + 200)
    assert [task.step_id for task in engine.tasks] == ["W-1"]


def test_timers_fire_for_a_flow_type_that_nobody_serves_yet() -> None:
    engine = Engine()
    engine.start(step("W", waits=True), flow_type="Unserved")
    engine.core.serve("Unserved")
    engine.pass_time(0)
    engine.wait("W-1", WaitingCondition(timers=(TimerCondition(10),)))
    engine.core.served.clear()
    assert engine.core.next_due() == engine.now + 10
    engine.pass_time(10)
    assert engine.steps()["W-1"].phase == "ready"
    assert engine.core.next_due() is None


def test_a_ready_step_that_nobody_serves_does_not_hide_a_timer() -> None:
    engine = Engine()
    engine.start(step("Start"))
    engine.complete("Start-1", go_to(step("W", waits=True), step("Other")))
    engine.wait("W-1", WaitingCondition(timers=(TimerCondition(10),)))
    engine.fail("Other-1", retry_after=5.0)
    engine.core.served.clear()
    engine.pass_time(6)
    assert engine.core.next_due() == engine.now + 4
    engine.pass_time(4)
    assert engine.steps()["W-1"].method == "execute"


def test_skip_timer_ends_a_wait_now() -> None:
    engine = Engine()
    step_id = waiting(engine, WaitingCondition(timers=(TimerCondition(1e6),)))
    engine.ask(lambda core: core.skip_timer(FLOW_ID, step_id, 0))
    results = engine.task(step_id).results
    assert results is not None and results.timers == (True,)


@pytest.mark.parametrize(("step_id", "index"), [("W-1", 1), ("W-1", -1), ("X-1", 0)])
def test_skip_timer_refuses_what_nobody_waits_for(step_id: str, index: int) -> None:
    engine = Engine()
    waiting(engine, WaitingCondition(timers=(TimerCondition(1e6),)))
    with pytest.raises(InvalidRequest, match=step_id):
        engine.ask(lambda core: core.skip_timer(FLOW_ID, step_id, index))
    assert engine.steps()["W-1"].phase == "waiting"
