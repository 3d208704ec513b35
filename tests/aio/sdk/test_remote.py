# twin: source
"""A Flow for processes that only talk to sessions: it has clients and runs nothing."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dex_agents._seam.sdk import new_registry
from dex_agents.engine.embedded.runtime import EmbeddedEngine
from dex_agents.errors import StepCallError
from dex_agents.model.options import AgentSessionOptions
from dex_agents.sdk import AgentSessionFlow, WorkerStop, serve
from dex_agents.session.client import AgentSessionClient
from dex_agents.testing.worker_process import WorkerSurroundings
from tests.aio.support import build_session, echo, run_turn, texts

pytestmark = pytest.mark.usefixtures("real_sdk")

REFUSAL = r"AgentSessionFlow.remote\('TestAgent'\) only talks to sessions"


def test_it_shows_a_client_what_the_real_one_does() -> None:
    real = AgentSessionFlow.of(build_session(echo))
    remote = AgentSessionFlow.remote("TestAgent")
    assert (real.is_remote, remote.is_remote) == (False, True)
    assert remote.get_flow_type() == real.get_flow_type()
    assert remote.events == real.events
    assert remote.session.rpcs == real.session.rpcs
    start, real_start = remote.session.start_step, real.session.start_step
    assert start == real_start
    assert remote.session.steps[start].options == real.session.steps[start].options
    new_registry([remote])


def test_its_stream_has_the_capacity_that_is_given() -> None:
    options = AgentSessionOptions(event_stream_capacity_bytes=12_345)
    flow = AgentSessionFlow.remote("TestAgent", options=options)
    assert flow.events.stream_capacity_bytes == 12_345


def test_a_name_that_cannot_be_stored_is_refused() -> None:
    with pytest.raises(ValueError, match="flow_type"):
        AgentSessionFlow.remote("a/b")


async def test_serving_it_is_refused(real_sdk: None) -> None:
    with pytest.raises(ValueError, match=REFUSAL):
        await serve([AgentSessionFlow.remote("TestAgent")])


async def test_the_embedded_engine_refuses_it_and_its_clients_take_it(
    real_sdk: None, tmp_path: Path
) -> None:
    remote = AgentSessionFlow.remote("TestAgent")
    async with EmbeddedEngine(tmp_path / "agents.db") as engine:
        with pytest.raises(TypeError, match="serve needs an AgentSession"):
            engine.serve(remote)
        engine.serve(build_session(echo))
        sessions = AgentSessionClient(engine.client, remote)
        await sessions.start_session("s-1")
        assert texts(await run_turn(sessions, "s-1", "hello")) == ["hello", "echo hello"]


def test_a_worker_that_serves_it_by_mistake_is_told() -> None:
    remote = AgentSessionFlow.remote("TestAgent")
    context: Any = SimpleNamespace(flow_id="s-1", step_execution_id="", attempt=1)
    with pytest.raises(StepCallError, match=REFUSAL):
        remote.rpc_method("get_agent_snapshot")(context, None)
    registered = new_registry([remote])._flow_by_type("TestAgent").start_step
    assert registered is not None
    with pytest.raises(RuntimeError, match=REFUSAL):
        registered.step.execute(context, "{}")


def test_an_unknown_rpc_is_refused() -> None:
    with pytest.raises(LookupError, match="no RPC 'fly'"):
        AgentSessionFlow.remote("TestAgent").rpc_method("fly")


async def test_serve_needs_a_flow(real_sdk: None) -> None:
    with pytest.raises(ValueError, match="at least one Flow"):
        await serve([])


async def test_serve_does_not_start_what_was_stopped_before(real_sdk: None) -> None:
    stop = WorkerStop()
    stop.request()
    flow = AgentSessionFlow.of(build_session(echo))
    await serve([flow], server_address="127.0.0.1:1", stop=stop)


async def test_an_engine_that_is_not_there_is_named(real_sdk: None) -> None:
    flow = AgentSessionFlow.of(build_session(echo))
    with pytest.raises(RuntimeError) as caught:
        await serve([flow], server_address="127.0.0.1:1", handles_signals=False)
    (note,) = caught.value.__notes__
    assert "This Worker serves TestAgent for the engine at 127.0.0.1:1" in note
    assert "dex-agents engine --db agents.db --address 127.0.0.1:1" in note


def test_a_worker_child_needs_its_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEX_AGENTS_WORKER_SERVER_ADDRESS", raising=False)
    with pytest.raises(RuntimeError, match=r"use dex_agents.sdk.serve"):
        WorkerSurroundings()
