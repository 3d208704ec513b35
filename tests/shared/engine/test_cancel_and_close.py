# twin: shared
"""Prove what a decision ends, and that a closed Flow stays closed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dex_agents.engine.core import EngineCore
from dex_agents.engine.kernel.messages import Decision, Effects, RpcResponse
from dex_agents.engine.kernel.state import RunStatus, SearchMode
from dex_agents.engine.kernel.values import text_value
from dex_agents.engine.kernel.waits import ChannelCondition, TimerCondition, WaitingCondition
from dex_agents.engine.refusals import FlowAlreadyExists, FlowMissing, FlowNotActive
from dex_agents.engine.requests import attempt_key
from tests.shared.engine.harness import FLOW_ID, Engine, go_to, publishes, rpc_request, step, writes

COMPLETE = Decision(completes=True)


def started(*names: str, path: Path | str = ":memory:") -> Engine:
    """Start Steps side by side, all from the same source."""
    engine = Engine(path)
    engine.start(step("Start"))
    engine.complete("Start-1", go_to(*(step(name) for name in names)))
    return engine


# -- cancelling ------------------------------------------------------------------------------------


def test_cancelled_types_end_at_once_and_their_calls_are_told() -> None:
    engine = started("A", "B", "B")
    doomed = [attempt_key(engine.task("B-1")), attempt_key(engine.task("B-2"))]
    engine.complete("A-1", Decision(cancelled_types=("B", "NeverStarted")))
    assert engine.steps() == {}
    assert engine.cancelled == doomed
    assert engine.status() == "running"


def test_what_a_cancelled_call_still_returns_is_dropped() -> None:
    engine = started("A", "B")
    engine.complete("A-1", Decision(cancelled_types=("B",)))
    assert not engine.complete("B-1", go_to(step("C")), writes(x="late"))
    assert not engine.fail("B-1")
    assert engine.state().attributes == {}
    assert engine.history() == ["flow_started", "execute_completed", "execute_completed"]


def test_the_deciding_step_and_what_it_starts_are_not_cancelled() -> None:
    engine = started("A", "A")
    engine.complete("A-1", Decision(movements=(step("A"),), cancelled_types=("A",)))
    assert list(engine.steps()) == ["A-3"]
    assert engine.task("A-3").attempt == 1


def test_only_siblings_are_cancelled_where_that_is_asked() -> None:
    engine = started("A", "B")
    engine.complete("A-1", go_to(step("B"), step("C")))
    engine.complete("C-1", Decision(cancelled_sibling_types=("B",)))
    assert list(engine.steps()) == ["B-1"], "B-1 has another source than C-1"


def test_a_cancelled_wait_releases_its_messages_and_timers() -> None:
    engine = Engine()
    engine.start(step("W", waits=True))
    condition = WaitingCondition(
        timers=(TimerCondition(50),), channels=(ChannelCondition("c", 2, 2),)
    )
    engine.wait("W-1", condition)
    engine.publish("c", "1")
    engine.rpc(RpcResponse(decision=Decision(cancelled_types=("W",))))
    assert engine.core.next_due() is None
    assert len(engine.state().channels["c"]) == 1


def test_an_rpc_cancels_and_starts_in_one_commit() -> None:
    engine = started("A")
    decision = Decision(movements=(step("B"),), cancelled_types=("A",))
    engine.rpc(RpcResponse(decision=decision))
    assert list(engine.steps()) == ["B-1"]
    assert engine.task("B-1").source == "__rpc/rpc"


def test_ids_are_used_up_by_steps_that_never_ran(tmp_path: Path) -> None:
    engine = started("A", path=tmp_path / "engine.db")
    engine.core.served.clear()
    engine.rpc(RpcResponse(decision=go_to(step("A"))))
    engine.rpc(RpcResponse(decision=Decision(cancelled_types=("A",))))
    engine.close()
    engine = Engine(tmp_path / "engine.db")
    engine.rpc(RpcResponse(decision=go_to(step("A"))))
    assert list(engine.steps()) == ["A-3"]


def test_effects_are_applied_before_what_they_lead_to() -> None:
    engine = Engine()
    engine.start(step("W", waits=True))
    engine.publish("c", "old")
    message = engine.state().channels["c"][0]
    effects = Effects(
        attributes=(("a", text_value("1")), ("a", text_value("2"))),
        deleted_messages=(("c", message.message_id),),
        published=(("c", text_value("new")),),
    )
    engine.wait("W-1", WaitingCondition(channels=(ChannelCondition("c", 1, None),)), effects)
    task = engine.task("W-1")
    assert task.snapshot.attributes == {"a": text_value("2")}
    assert task.results is not None
    assert task.results.channels[0].values == (text_value("new"),)


# -- completing ------------------------------------------------------------------------------------


def test_a_dead_end_leaves_the_flow_running() -> None:
    engine = started("A")
    engine.complete("A-1")
    assert engine.status() == "running"
    assert engine.core.next_due() is None
    engine.rpc(RpcResponse(decision=go_to(step("B"))))
    assert list(engine.steps()) == ["B-1"]


def test_completion_waits_for_the_other_steps_and_collects_outputs() -> None:
    engine = started("A", "B", "C")
    engine.complete("A-1", Decision(completes=True, output=text_value("a")))
    engine.complete("B-1", COMPLETE)
    assert engine.status() == "running"
    engine.complete("C-1", Decision(completes=True, output=text_value("c")))
    record = engine.core.describe(FLOW_ID)
    assert record.status == RunStatus.COMPLETED
    assert record.outputs == (("A", "A-1", text_value("a")), ("C", "C-1", text_value("c")))
    assert record.closed_at == engine.now


def test_a_requested_completion_comes_with_the_last_step_however_it_ends() -> None:
    engine = started("A", "B", "C")
    engine.complete("A-1", COMPLETE)
    engine.complete("B-1")
    engine.rpc(RpcResponse(decision=Decision(cancelled_types=("C",))))
    assert engine.status() == "completed"


def test_a_decision_can_fail_the_flow() -> None:
    engine = started("A", "B")
    engine.complete("A-1", Decision(movements=(step("C"),), fail_reason="out of luck"))
    record = engine.core.describe(FLOW_ID)
    assert (record.status, record.error_type) == (RunStatus.FAILED, "step_decision_failed")
    assert record.error_message == "out of luck"
    assert engine.steps() == {}
    assert engine.cancelled == [attempt_key(engine.task("B-1"))]


@pytest.mark.parametrize("status", [RunStatus.CANCELED, RunStatus.TERMINATED, RunStatus.FAILED])
def test_a_client_can_stop_a_flow(status: RunStatus) -> None:
    engine = started("A")
    engine.ask(lambda core: core.stop_flow(FLOW_ID, status, "enough"))
    record = engine.core.describe(FLOW_ID)
    assert (record.status, record.error_message) == (status, "enough")
    assert record.error_type == ("client_api_failed" if status is RunStatus.FAILED else None)
    assert engine.cancelled == [attempt_key(engine.task("A-1"))]
    assert engine.history()[-1] == "flow_closed"


# -- closed ----------------------------------------------------------------------------------------


def closed(path: Path | str = ":memory:") -> Engine:
    engine = Engine(path)
    engine.start(step("W", waits=True))
    engine.wait("W-1", WaitingCondition(timers=(TimerCondition(50),)), writes(a="kept"))
    engine.rpc(RpcResponse(effects=publishes("c", "kept"), decision=go_to(step("A"))))
    engine.ask(lambda core: core.stop_flow(FLOW_ID, RunStatus.CANCELED, "enough"))
    return engine


CHANGES: list[Callable[[EngineCore], object]] = [
    lambda core: core.stop_flow(FLOW_ID, RunStatus.FAILED, "again"),
    lambda core: core.skip_timer(FLOW_ID, "W-1", 0),
    lambda core: core.update_search_mode(FLOW_ID, SearchMode.ALL),
    lambda core: core.begin_rpc(rpc_request(locks=("a",))),
    lambda core: core.begin_rpc(rpc_request(is_transactional=True)),
    lambda core: core.finish_rpc(
        core.begin_rpc(rpc_request()), RpcResponse(effects=writes(a="changed"))
    ),
    lambda core: core.finish_rpc(core.begin_rpc(rpc_request()), RpcResponse(decision=Decision())),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_closed_flow_refuses_every_change(change: Callable[[EngineCore], object]) -> None:
    engine = closed()
    before = engine.state()
    with pytest.raises(FlowNotActive, match="is canceled"):
        engine.ask(change)
    assert engine.state() == before


@pytest.mark.parametrize("change", CHANGES)
def test_an_absent_flow_is_missing(change: Callable[[EngineCore], object]) -> None:
    with pytest.raises(FlowMissing, match="no Flow 'flow-1'"):
        Engine().ask(change)


def test_a_closed_flow_drops_results_and_does_nothing_by_itself() -> None:
    engine = closed()
    assert not engine.complete("A-1", go_to(step("B")))
    assert not engine.fail("A-1")
    assert engine.core.next_due() is None
    engine.pass_time(1e6)
    assert engine.status() == "canceled"
    assert engine.state().steps == {}


def test_a_closed_flow_stays_readable(tmp_path: Path) -> None:
    closed(tmp_path / "engine.db").close()
    engine = Engine(tmp_path / "engine.db")
    call = engine.rpc(load_channels=("c",))
    assert call.snapshot.attributes == {"a": text_value("kept")}
    assert [m.value for m in call.snapshot.messages["c"]] == [text_value("kept")]
    assert engine.core.next_due() is None


def test_a_flow_id_is_never_used_again_but_its_request_may_be_repeated() -> None:
    engine = Engine()
    run_id = engine.start(step("A"), request_id="r1")
    assert engine.start(step("A"), request_id="r1") == run_id
    for other in ("r2", ""):
        with pytest.raises(FlowAlreadyExists, match="already exists and is running"):
            engine.start(step("A"), request_id=other)
    engine.ask(lambda core: core.stop_flow(FLOW_ID, RunStatus.CANCELED, ""))
    assert engine.start(step("A"), request_id="r1") == run_id
    with pytest.raises(FlowAlreadyExists, match="is canceled"):
        engine.start(step("A"), request_id="r2")
    assert engine.attempts_of("A-1") == [1]
