# twin: shared
"""Prove what happens to attempts that fail, time out, fall silent or are interrupted."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex_agents.engine.kernel.messages import (
    DISCONNECTED_ERROR_TYPE,
    HEARTBEAT_ERROR_TYPE,
    METHOD_TIMEOUT_ERROR_TYPE,
    StepMovement,
)
from dex_agents.engine.kernel.options import MethodOptions, RetryPolicy, StepOptions
from dex_agents.engine.kernel.state import RecoveryError
from dex_agents.engine.kernel.values import Value, text_value
from dex_agents.engine.kernel.waits import TimerCondition, WaitingCondition
from dex_agents.engine.requests import AttemptKey, attempt_key
from tests.shared.engine.harness import FLOW_ID, Engine, attempts, go_to, step

ONCE = attempts(1)


def started(movement: StepMovement, path: Path | str = ":memory:") -> Engine:
    engine = Engine(path)
    engine.start(movement)
    return engine


# -- delays ----------------------------------------------------------------------------------------


def test_the_delay_doubles_up_to_the_maximum() -> None:
    policy = RetryPolicy(initial_interval=1, coefficient=2, maximum_interval=10)
    assert [policy.delay_after(attempt) for attempt in range(1, 7)] == [1, 2, 4, 8, 10, 10]


@given(
    st.floats(0, 1e6),
    st.floats(1, 1e6),
    st.floats(0, 1e6),
    st.integers(1, 10**9),
)
def test_the_delay_never_shrinks_nor_exceeds_the_maximum(
    initial: float, coefficient: float, maximum: float, attempt: int
) -> None:
    policy = RetryPolicy(
        initial_interval=initial, coefficient=coefficient, maximum_interval=maximum
    )
    assert 0 <= policy.delay_after(attempt) <= policy.delay_after(attempt + 1) <= maximum


def test_a_failed_attempt_is_followed_by_one_more_after_its_delay() -> None:
    engine = started(step("S"))
    for delay in (1, 2, 4):
        engine.fail("S-1")
        assert engine.core.next_due() == engine.now + delay
        engine.pass_time(delay - 0.01)
        assert engine.steps()["S-1"].phase == "ready"
        engine.pass_time(0.01)
    assert engine.attempts_of("S-1") == [1, 2, 3, 4]


def test_retry_after_replaces_the_delay() -> None:
    engine = started(step("S"))
    engine.fail("S-1", retry_after=30)
    assert engine.core.next_due() == engine.now + 30
    engine.pass_time(30)
    engine.fail("S-1", retry_after=0)
    assert engine.attempts_of("S-1") == [1, 2, 3]


def test_all_attempts_of_a_call_know_when_the_first_one_started() -> None:
    engine = started(step("S"))
    engine.fail("S-1")
    engine.pass_time(5)
    first, second = engine.tasks
    assert second.first_attempt_at == first.started_at < second.started_at


# -- limits ----------------------------------------------------------------------------------------


def test_the_last_attempt_is_the_maximum() -> None:
    engine = started(step("S", execute=attempts(2)))
    engine.fail("S-1")
    engine.pass_time(1)
    assert engine.status() == "running"
    engine.fail("S-1", "still broken")
    assert engine.status() == "failed"
    record = engine.core.describe(FLOW_ID)
    assert record.error_type == "worker_api_failed"
    assert record.error_message == "S failed: still broken"


@pytest.mark.parametrize(("total", "allowed"), [(11.9, [1, 2, 3]), (12.0, [1, 2, 3, 4])])
def test_no_attempt_starts_past_the_total_duration(total: float, allowed: list[int]) -> None:
    retry = RetryPolicy(initial_interval=4, coefficient=1, total_duration=total)
    engine = started(step("S", execute=MethodOptions(retry=retry)))
    while engine.status() == "running":
        engine.fail("S-1")
        engine.pass_time(4)
    assert engine.attempts_of("S-1") == allowed


def test_the_total_duration_never_shortens_a_running_attempt() -> None:
    retry = RetryPolicy(total_duration=10)
    engine = started(step("S", execute=MethodOptions(retry=retry), heartbeat_timeout=1000))
    engine.pass_time(500)
    assert engine.complete("S-1")


def test_wait_for_and_execute_count_their_attempts_apart() -> None:
    engine = started(step("S", waits=True))
    engine.fail("S-1")
    engine.pass_time(1)
    engine.wait("S-1")
    engine.fail("S-1")
    engine.pass_time(1)
    assert [(t.method.value, t.attempt) for t in engine.tasks] == [
        ("wait_for", 1),
        ("wait_for", 2),
        ("execute", 1),
        ("execute", 2),
    ]


# -- silence and timeouts --------------------------------------------------------------------------


def test_a_method_that_takes_too_long_fails_and_its_call_is_told() -> None:
    engine = started(step("S", execute=MethodOptions(timeout=30), failure_step="R"))
    engine.pass_time(29.9)
    assert engine.cancelled == []
    engine.pass_time(0.1)
    assert engine.cancelled == [attempt_key(engine.task("S-1"))]
    engine.pass_time(1)
    assert engine.attempts_of("S-1") == [1, 2]


def test_a_silent_attempt_fails_and_a_heartbeat_puts_that_off() -> None:
    engine = started(step("S", heartbeat_timeout=10))
    key = attempt_key(engine.task("S-1"))
    engine.pass_time(9)
    assert engine.ask(lambda core: core.heartbeat(key, FLOW_ID))
    assert engine.core.next_due() == engine.now + 10
    engine.pass_time(9)
    assert engine.ask(lambda core: core.checkpoint(key, FLOW_ID, text_value("half")))
    engine.pass_time(9.9)
    assert engine.cancelled == []
    engine.pass_time(0.1)
    assert engine.cancelled == [key]


def test_a_call_that_the_shell_knows_to_be_alive_is_not_silent() -> None:
    alive: set[AttemptKey] = set()
    engine = Engine(is_alive=alive.__contains__)
    engine.start(step("S", heartbeat_timeout=10, execute=MethodOptions(timeout=35)))
    key = attempt_key(engine.task("S-1"))
    alive.add(key)
    for _ in range(3):
        engine.pass_time(10)
        assert engine.steps()["S-1"].phase == "running"
    engine.pass_time(5)
    assert engine.cancelled == [key], "a living call still has its method timeout"


def test_two_attempts_that_time_out_at_once_close_the_flow_once() -> None:
    engine = started(step("Start"))
    engine.complete("Start-1", go_to(step("A", execute=ONCE), step("B")))
    engine.pass_time(60)
    assert engine.status() == "failed"
    assert engine.state().steps == {}
    assert len(engine.cancelled) == len(set(engine.cancelled)) == 2


@pytest.mark.parametrize("restarts", [False, True])
def test_attempts_that_end_at_once_fail_in_the_order_of_their_age(
    tmp_path: Path, restarts: bool
) -> None:
    engine = started(step("Start"), tmp_path / "engine.db")
    younger = step("A", waits=True, execute=ONCE, failure_step="R")
    engine.complete("Start-1", go_to(younger, step("Z", execute=ONCE, failure_step="R")))
    engine.wait("A-1")
    if restarts:
        engine.cut()
        engine = Engine(tmp_path / "engine.db", now=engine.now + 60)
    else:
        engine.pass_time(60)
    assert engine.steps()["R-1"].source == "Z-1"
    assert engine.steps()["R-2"].source == "A-1"


@pytest.mark.parametrize("error_type", [METHOD_TIMEOUT_ERROR_TYPE, HEARTBEAT_ERROR_TYPE])
def test_the_recovery_step_learns_which_limit_was_passed(error_type: str) -> None:
    timeout = 20 if error_type == METHOD_TIMEOUT_ERROR_TYPE else 1000
    options = MethodOptions(timeout=timeout, retry=RetryPolicy(maximum_attempts=1))
    engine = started(step("S", execute=options, heartbeat_timeout=40, failure_step="R"))
    engine.pass_time(50)
    error = engine.task("R-1").recovery_error
    assert error is not None and error.error_type == error_type


def test_late_and_foreign_results_are_dropped() -> None:
    engine = started(step("S"))
    late = engine.task("S-1")
    engine.fail(late)
    engine.pass_time(1)
    key = attempt_key(late)
    assert not engine.complete(late)
    assert not engine.fail(late)
    assert not engine.ask(lambda core: core.heartbeat(key, FLOW_ID))
    assert not engine.ask(lambda core: core.checkpoint(key, FLOW_ID, text_value("late")))
    foreign = AttemptKey("another run", "S-1", "execute", 2)
    assert not engine.ask(lambda core: core.heartbeat(foreign, FLOW_ID))
    assert not engine.ask(lambda core: core.heartbeat(attempt_key(late), "another flow"))
    assert engine.steps()["S-1"].attempt == 2
    assert engine.state().steps["S-1"].checkpoint is None


# -- checkpoints -----------------------------------------------------------------------------------


def save(engine: Engine, checkpoint: Value | None) -> None:
    key = attempt_key(engine.tasks[-1])
    assert engine.ask(lambda core: core.checkpoint(key, FLOW_ID, checkpoint))


def test_the_next_attempt_gets_the_last_checkpoint() -> None:
    engine = started(step("S"))
    save(engine, text_value("one"))
    save(engine, text_value("two"))
    engine.fail("S-1", retry_after=0)
    assert engine.task("S-1").checkpoint == text_value("two")
    save(engine, None)
    engine.fail("S-1", retry_after=0)
    assert engine.task("S-1").checkpoint is None


def test_a_checkpoint_ends_with_its_method() -> None:
    engine = started(step("S", waits=True))
    save(engine, text_value("of wait_for"))
    engine.wait("S-1")
    assert engine.task("S-1").checkpoint is None


# -- interruptions ---------------------------------------------------------------------------------


def test_a_restart_interrupts_what_ran_and_tries_again_at_once(tmp_path: Path) -> None:
    engine = started(step("S"), tmp_path / "engine.db")
    save(engine, text_value("half"))
    engine.cut()
    again = Engine(tmp_path / "engine.db", now=engine.now + 1000)
    task = again.task("S-1")
    assert (task.attempt, task.checkpoint) == (2, text_value("half"))
    assert not again.complete(engine.task("S-1")), "the old attempt no longer counts"


def test_the_time_away_does_not_count_as_time_spent_trying(tmp_path: Path) -> None:
    retry = RetryPolicy(initial_interval=3, coefficient=1, total_duration=10)
    engine = started(step("S", execute=MethodOptions(retry=retry)), tmp_path / "engine.db")
    engine.fail("S-1")
    engine.pass_time(3)
    engine.cut()
    engine = Engine(tmp_path / "engine.db", now=engine.now + 100_000)
    # Three seconds were spent before the attempt that was interrupted; six more are left.
    engine.fail("S-1")
    engine.pass_time(3)
    engine.fail("S-1")
    engine.pass_time(3)
    assert engine.attempts_of("S-1") == [3, 4, 5]
    engine.fail("S-1")
    assert engine.status() == "failed"


def test_an_interruption_spends_an_attempt(tmp_path: Path) -> None:
    engine = started(step("S", execute=ONCE, failure_step="R"), tmp_path / "engine.db")
    engine.cut()
    engine = Engine(tmp_path / "engine.db")
    assert engine.task("R-1").recovery_error == RecoveryError(
        "the engine stopped during attempt 1", DISCONNECTED_ERROR_TYPE
    )


def test_two_interrupted_attempts_close_the_flow_once(tmp_path: Path) -> None:
    engine = started(step("Start"), tmp_path / "engine.db")
    engine.complete("Start-1", go_to(step("A", execute=ONCE), step("B")))
    engine.cut()
    engine = Engine(tmp_path / "engine.db")
    assert engine.status() == "failed"
    assert engine.state().steps == {}


def test_what_was_ready_is_handed_out_with_its_own_number_after_a_restart(tmp_path: Path) -> None:
    engine = started(step("S"), tmp_path / "engine.db")
    engine.fail("S-1", retry_after=50)
    engine.cut()
    engine = Engine(tmp_path / "engine.db", now=engine.now + 10)
    assert engine.tasks == []
    assert engine.core.next_due() == engine.now + 40
    engine.pass_time(40)
    assert engine.attempts_of("S-1") == [2]


# -- failure routes --------------------------------------------------------------------------------


def test_the_failure_step_gets_the_same_input_and_the_error() -> None:
    route = StepOptions(skips_wait_for=False)
    movement = step("S", "input", execute=ONCE, failure_step="R", failure_options=route)
    engine = started(movement)
    engine.fail("S-1", "no luck")
    engine.fail("R-1", retry_after=0)
    engine.wait("R-1", WaitingCondition(timers=(TimerCondition(0),)))
    tasks = [task for task in engine.tasks if task.step_type == "R"]
    assert [(t.method.value, t.attempt) for t in tasks] == [
        ("wait_for", 1),
        ("wait_for", 2),
        ("execute", 1),
    ]
    for task in tasks:
        assert (task.input, task.source) == (text_value("input"), "S-1")
        assert task.recovery_error == RecoveryError("no luck", "tests.Broken")
        assert not task.wait_for_failed
    assert "S-1" not in engine.steps()
    assert engine.history() == ["flow_started", "execute_failed", "wait_for_completed"]


def test_a_failure_step_without_options_of_its_own_gets_the_defaults() -> None:
    engine = started(step("S", execute=ONCE, failure_step="R"))
    engine.fail("S-1")
    assert engine.steps()["R-1"].options == StepOptions()


def test_without_a_route_the_flow_fails_and_the_other_calls_are_cancelled() -> None:
    engine = started(step("Start"))
    engine.complete("Start-1", go_to(step("A", execute=ONCE), step("B")))
    engine.fail("A-1")
    assert engine.status() == "failed"
    assert engine.cancelled == [attempt_key(engine.task("B-1"))]


def test_after_a_failed_wait_for_execute_may_go_on_with_the_error() -> None:
    engine = started(step("S", waits=True, wait_for=ONCE, wait_failure_proceeds=True))
    engine.fail("S-1", "no luck")
    task = engine.task("S-1")
    assert (task.method.value, task.attempt, task.wait_for_failed) == ("execute", 1, True)
    assert task.recovery_error == RecoveryError("no luck", "tests.Broken")
    assert task.results is None


def test_without_leave_to_go_on_a_failed_wait_for_fails_the_flow() -> None:
    engine = started(step("S", waits=True, wait_for=ONCE, failure_step="R"))
    engine.fail("S-1")
    assert engine.status() == "failed"
