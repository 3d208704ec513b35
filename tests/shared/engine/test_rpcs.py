# twin: shared
"""Prove the RPC modes: plain, transactional and locked."""

from typing import Unpack

import pytest

from dex_agents.engine.core import EngineCore
from dex_agents.engine.kernel.messages import Decision, Effects, RpcResponse
from dex_agents.engine.kernel.state import RunStatus
from dex_agents.engine.kernel.values import NULL, text_value
from dex_agents.engine.refusals import FlowMissing, FlowNotActive, MessageGone
from dex_agents.engine.requests import RpcCall
from tests.shared.engine.harness import (
    FLOW_ID,
    Engine,
    RpcOptions,
    go_to,
    publishes,
    rpc_request,
    step,
    writes,
)

MODES = pytest.mark.parametrize("options", [{"is_transactional": True}, {"locks": ("a",)}])


def started() -> Engine:
    engine = Engine()
    engine.start(step("S"))
    return engine


def deletes(*messages: tuple[str, str]) -> RpcResponse:
    effects = Effects(deleted_messages=messages, attributes=(("a", text_value("applied")),))
    return RpcResponse(effects=effects)


def test_a_plain_rpc_reads_a_running_and_a_closed_flow() -> None:
    engine = started()
    engine.rpc(RpcResponse(effects=writes(a="1")))
    assert engine.rpc().snapshot.attributes == {"a": text_value("1")}
    engine.ask(lambda core: core.stop_flow(FLOW_ID, RunStatus.CANCELED, ""))
    assert engine.rpc().snapshot.attributes == {"a": text_value("1")}


def test_an_rpc_that_changes_nothing_commits_nothing() -> None:
    engine = started()
    before = engine.store.commits
    engine.rpc()
    engine.rpc(is_transactional=True)
    assert engine.store.commits == before
    assert engine.history() == ["flow_started"]


def test_effects_and_decision_of_an_rpc_are_one_commit() -> None:
    engine = started()
    before = engine.store.commits
    response = RpcResponse(effects=publishes("c", "1", "2"), decision=go_to(step("T")))
    engine.rpc(response)
    assert engine.store.commits == before + 1
    assert engine.task("T-1").snapshot.channel_sizes == {"c": 2}
    assert engine.task("T-1").source == "__rpc/rpc"
    assert engine.history() == ["flow_started", "rpc_completed"]


def test_null_deletes_an_attribute_and_a_map_instance() -> None:
    engine = started()
    values = (("a", text_value("1")), ("m/x", text_value("2")), ("m/y", text_value("3")))
    engine.rpc(RpcResponse(effects=Effects(attributes=values)))
    engine.rpc(RpcResponse(effects=Effects(attributes=(("a", NULL), ("m/x", NULL), ("z", NULL)))))
    state = engine.state()
    assert state.attributes == {}
    assert state.maps == {"m": {"y": text_value("3")}}


@MODES
def test_a_missing_message_refuses_everything_of_a_transactional_rpc(
    options: RpcOptions,
) -> None:
    engine = started()
    engine.publish("c", "1", "2")
    first, second = engine.state().channels["c"]
    engine.rpc(deletes(("c", first.message_id)), **options)
    with pytest.raises(MessageGone, match="channel c has no message"):
        engine.rpc(deletes(("c", second.message_id), ("c", first.message_id)), **options)
    assert [m.value.data for m in engine.state().channels["c"]] == ["2"]


def test_a_missing_message_is_nothing_to_a_plain_rpc() -> None:
    engine = started()
    engine.publish("c", "1")
    [message] = engine.state().channels["c"]
    engine.rpc(deletes(("c", "gone"), ("d", message.message_id), ("c", message.message_id)))
    assert engine.state().channels == {}
    assert engine.state().attributes["a"].data == "applied"


def in_between(engine: Engine, response: RpcResponse, **options: Unpack[RpcOptions]) -> None:
    """Run an RPC during which the Flow is stopped."""

    def begin(core: EngineCore) -> RpcCall:
        return core.begin_rpc(rpc_request(**options))

    call = engine.ask(begin)
    engine.ask(lambda core: core.stop_flow(FLOW_ID, RunStatus.CANCELED, ""))
    engine.ask(lambda core: core.finish_rpc(call, response))


@MODES
def test_the_flow_must_also_be_active_when_a_transactional_rpc_ends(
    options: RpcOptions,
) -> None:
    with pytest.raises(FlowNotActive):
        in_between(started(), RpcResponse(), **options)


def test_the_flow_must_be_active_when_a_plain_rpc_with_effects_ends() -> None:
    in_between(started(), RpcResponse())
    for response in (RpcResponse(effects=writes(a="1")), RpcResponse(decision=Decision())):
        with pytest.raises(FlowNotActive):
            in_between(started(), response)


def test_an_rpc_that_ends_after_its_flow_left_memory_changes_the_right_state() -> None:
    engine = started()
    call = engine.ask(lambda core: core.begin_rpc(rpc_request(is_transactional=True)))
    engine.core._flows._loaded.clear()  # as if thousands of other Flows had been used since
    engine.rpc(RpcResponse(effects=writes(b="2")))
    engine.ask(lambda core: core.finish_rpc(call, RpcResponse(effects=writes(a="1"))))
    assert engine.state().attributes == {"a": text_value("1"), "b": text_value("2")}


def test_a_run_can_be_named() -> None:
    engine = Engine()
    run_id = engine.start(step("S"))
    engine.rpc(run_id=run_id)
    with pytest.raises(FlowMissing):
        engine.rpc(run_id="another run")


def test_abandoning_an_rpc_of_a_flow_that_never_was_is_no_error() -> None:
    engine = started()
    call = engine.ask(lambda core: core.begin_rpc(rpc_request(locks=("a",))))
    other = Engine()
    other.ask(lambda core: core.abandon_rpc(call))
