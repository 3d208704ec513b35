# twin: shared
"""Prove which state a method call reads, and when it is read again."""

from pathlib import Path

from dex_agents.engine.kernel.messages import Effects, RpcResponse
from dex_agents.engine.kernel.options import MethodOptions
from dex_agents.engine.kernel.values import text_value
from dex_agents.engine.kernel.waits import TimerCondition, WaitingCondition
from tests.shared.engine.harness import (
    Engine,
    go_to,
    loaded_flows,
    publishes,
    rpc_request,
    step,
    writes,
)


def changed(engine: Engine, **attributes: str) -> None:
    engine.rpc(RpcResponse(effects=writes(**attributes)))


def seen(engine: Engine, step_id: str) -> str | bytes:
    return engine.task(step_id).snapshot.attributes["a"].data


def test_retries_read_what_the_first_attempt_read() -> None:
    engine = Engine()
    engine.start()
    changed(engine, a="old")
    engine.rpc(RpcResponse(decision=go_to(step("S"))))
    changed(engine, a="new")
    engine.fail("S-1", retry_after=0)
    assert seen(engine, "S-1") == "old"


def test_without_reuse_each_attempt_reads_the_state_of_its_time() -> None:
    engine = Engine(reuses_snapshots=False)
    engine.start()
    changed(engine, a="old")
    engine.rpc(RpcResponse(decision=go_to(step("S"))))
    changed(engine, a="new")
    engine.fail("S-1", retry_after=0)
    assert seen(engine, "S-1") == "new"


def test_a_restart_reads_the_state_again(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "engine.db")
    engine.start()
    changed(engine, a="old")
    engine.rpc(RpcResponse(decision=go_to(step("S"))))
    changed(engine, a="new")
    engine.cut()
    assert seen(Engine(tmp_path / "engine.db"), "S-1") == "new"


def test_wait_for_and_execute_have_a_snapshot_each() -> None:
    engine = Engine()
    engine.start(step("S", waits=True))
    changed(engine, a="new")
    engine.wait("S-1")
    assert engine.tasks[0].snapshot.attributes == {}
    assert seen(engine, "S-1") == "new"


def test_a_snapshot_does_not_change_under_its_reader() -> None:
    engine = Engine()
    engine.start(step("S", execute=MethodOptions(load_attributes=("m/",), load_channels=("c",))))
    snapshot = engine.task("S-1").snapshot
    effects = Effects(attributes=(("a", text_value("1")), ("m/x", text_value("2"))))
    engine.rpc(RpcResponse(effects=effects))
    engine.publish("c", "1")
    assert (snapshot.attributes, snapshot.maps) == ({}, {"m": {}})
    assert (snapshot.channel_sizes, snapshot.messages) == ({}, {"c": ()})


def test_no_snapshot_is_kept_for_a_step_that_waits_or_has_ended() -> None:
    engine = Engine()
    engine.start(step("S", waits=True))
    [state] = loaded_flows(engine.core).values()
    assert len(state.snapshots) == 1
    engine.wait("S-1", WaitingCondition(timers=(TimerCondition(10),)))
    assert state.snapshots == {}
    engine.pass_time(10)
    engine.complete("S-1")
    assert state.snapshots == {}


def filled() -> Engine:
    engine = Engine()
    engine.start()
    attributes = [("a", "1"), ("m/x", "2"), ("m/y", "3"), ("n/x", "4")]
    effects = Effects(attributes=tuple((name, text_value(text)) for name, text in attributes))
    engine.rpc(RpcResponse(effects=effects))
    engine.rpc(RpcResponse(effects=publishes("c", "c1", "c2")))
    engine.rpc(RpcResponse(effects=publishes("d/x", "x1")))
    engine.rpc(RpcResponse(effects=publishes("d/y", "y1")))
    return engine


def test_attributes_are_always_read_and_map_instances_only_when_asked_for() -> None:
    snapshot = filled().rpc().snapshot
    assert snapshot.attributes == {"a": text_value("1")}
    assert (snapshot.maps, snapshot.loaded_attributes) == ({}, ())


def test_a_map_is_read_whole_or_by_instance_and_the_selection_is_echoed() -> None:
    engine = filled()
    snapshot = engine.rpc(load_attributes=("m/", "n/x", "n/absent")).snapshot
    assert snapshot.maps == {
        "m": {"x": text_value("2"), "y": text_value("3")},
        "n": {"x": text_value("4")},
    }
    assert snapshot.loaded_attributes == ("m/", "n/x", "n/absent")


def test_sizes_of_all_channels_are_read_and_messages_only_when_asked_for() -> None:
    engine = filled()
    snapshot = engine.rpc(load_channels=("c", "d/", "e")).snapshot
    assert snapshot.channel_sizes == {"c": 2, "d/x": 1, "d/y": 1}
    read = {name: [m.value.data for m in found] for name, found in snapshot.messages.items()}
    assert read == {"c": ["c1", "c2"], "d/x": ["x1"], "d/y": ["y1"], "e": []}
    assert snapshot.loaded_channels == ("c", "d/", "e")
    assert engine.rpc().snapshot.messages == {}


def test_an_rpc_reads_the_state_of_its_start() -> None:
    engine = filled()
    call = engine.ask(lambda core: core.begin_rpc(rpc_request()))
    changed(engine, a="new")
    assert call.snapshot.attributes == {"a": text_value("1")}
