# twin: async-only
"""A call on the SDK's asyncio Worker: beats, cancellation, threads, and its end."""

import asyncio
import json
import threading
from typing import Any

import anyio
import pytest
from dex.dexpb import dex_pb2 as pb

from dex_agents.errors import StepInvocationClosed
from dex_agents.model.messages import FrameworkMessage, MessageRole
from dex_agents.runner.turn import AgentTurnContext, DeferredToolExecution
from dex_agents.sdk.flow import AgentSessionFlow
from dex_agents.session.agent_session import AgentSession
from tests.aio_only.sdk.driver import Driven, ScriptedRunner
from tests.sdk_support import (
    FAST_BEATS,
    READ,
    Answer,
    Fail,
    Save,
    Say,
    Silence,
    StoredFlow,
    asks_for,
    final_answer,
    message,
    movements_of,
    result_of,
    shown,
    shown_frame,
)

pytestmark = pytest.mark.usefixtures("real_sdk")


async def run_model(driven: Driven, flow: StoredFlow, text: str = "hello") -> pb.StepMovement:
    """Start a session and return the movement to its model call."""
    movement = driven.start_movement(json.dumps({"initial_message": text}))
    started = result_of(await driven.execute(flow.execute_request(movement)))
    flow.apply(started)
    return movements_of(started)["RunModel"]


async def call_tool(driven: Driven, flow: StoredFlow) -> pb.StepMovement:
    """Start a session, let its model ask for a tool, and return the movement to that call."""
    movement = await run_model(driven, flow)
    driven.runner.script = (asks_for(("c1", "lookup", READ)),)
    asked = result_of(await driven.execute(flow.execute_request(movement)))
    flow.apply(asked)
    driven.runner.started = asyncio.Event()
    return movements_of(asked)["CallTool"]


async def test_a_silent_call_sends_heartbeats_that_repeat_its_checkpoint(
    real_sdk: None,
) -> None:
    driven, flow = Driven(ScriptedRunner(), FAST_BEATS), StoredFlow()
    movement = await call_tool(driven, flow)
    driven.runner.script = (Save("page 1"), Silence(), Answer(None))
    frames: list[str] = []
    with anyio.fail_after(20):
        async for output in driven.outputs(flow.execute_request(movement)):
            frames.append(shown_frame(output))
            if frames.count("heartbeat page 1") == 4:
                driven.runner.gate.set()
    assert frames[:3] == ["tool_call_started", "heartbeat", "heartbeat page 1"]
    assert set(frames[2:-2]) == {"heartbeat page 1"}
    assert frames[-2:] == ["tool_call_finished", "result"]


async def test_a_call_that_speaks_needs_no_heartbeat(real_sdk: None) -> None:
    driven, flow = Driven(ScriptedRunner()), StoredFlow()
    movement = await run_model(driven, flow)
    driven.runner.script = (Say("a"), final_answer("a"))
    outputs = await driven.execute(flow.execute_request(movement))
    assert "heartbeat" not in shown(outputs)


async def test_cancellation_reaches_the_call_and_is_not_reported_as_its_failure(
    real_sdk: None,
) -> None:
    driven, flow = Driven(ScriptedRunner()), StoredFlow()
    movement = await run_model(driven, flow)
    driven.runner.script = (Silence(), final_answer("never"))
    running = asyncio.create_task(driven.execute(flow.execute_request(movement)))
    with anyio.fail_after(20):
        await driven.runner.started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert isinstance(driven.runner.ended_with, asyncio.CancelledError)
    (call,) = driven.runner.calls
    assert call.is_cancelled()


async def test_a_call_that_is_over_writes_nothing_and_refuses_heartbeats(real_sdk: None) -> None:
    driven, flow = Driven(ScriptedRunner()), StoredFlow()
    movement = await call_tool(driven, flow)
    driven.runner.script = (Fail(ConnectionError("lost")),)
    with pytest.raises(Exception, match="ConnectionError: lost"):
        await driven.execute(flow.execute_request(movement))
    call = driven.runner.calls[-1]
    call.events.write_text_delta("late")
    with pytest.raises(StepInvocationClosed):
        await call.heartbeat()
    with pytest.raises(StepInvocationClosed):
        await call.save_heartbeat_checkpoint("late")


class ThreadedRunner:
    """Writes from four threads at once."""

    def build_user_message(self, text: str) -> FrameworkMessage:
        return message(text, MessageRole.USER)

    async def run_model_step(self, turn: AgentTurnContext) -> Any:
        def write(name: str) -> None:
            for number in range(50):
                turn.events.write_text_delta(f"{name}{number}")

        threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)
        return final_answer("done").value

    async def execute_deferred_tool_call(self, call: DeferredToolExecution) -> Any:
        raise AssertionError


async def test_events_of_four_threads_all_arrive_each_thread_in_order(real_sdk: None) -> None:
    driven, flow = Driven(ThreadedRunner()), StoredFlow()
    movement = await run_model(driven, flow)
    outputs = await driven.execute(flow.execute_request(movement))
    texts = [frame.split()[1] for frame in shown(outputs) if frame.startswith("text_delta")]
    for name in "abcd":
        assert [one for one in texts if one[0] == name] == [f"{name}{n}" for n in range(50)]


async def test_a_stopped_listener_ends_the_call(real_sdk: None) -> None:
    driven, flow = Driven(ScriptedRunner()), StoredFlow()
    movement = await run_model(driven, flow)
    driven.runner.script = (Say("a"), Silence(), final_answer("never"))
    outputs = driven.outputs(flow.execute_request(movement))
    with anyio.fail_after(20):
        assert shown_frame(await anext(outputs)) == "text_delta a"
        await outputs.aclose()
    assert isinstance(driven.runner.ended_with, asyncio.CancelledError)


def test_a_flow_takes_a_session_of_its_own_package_only() -> None:
    from dex_agents_sync.session.agent_session import AgentSession as OtherSession
    from tests.sync_only.sdk.driver import ScriptedRunner as OtherRunner

    session = AgentSession(ThreadedRunner(), flow_type="Threads")
    flow = AgentSessionFlow.of(session)
    assert flow.session is session
    assert flow.get_flow_type() == "Threads"
    other = OtherSession(OtherRunner(), flow_type="Other")
    with pytest.raises(TypeError, match=r"an AgentSession of dex_agents, not dex_agents_sync"):
        AgentSessionFlow.of(other)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(TypeError, match="dex_agents_sync"):
        AgentSessionFlow(OtherRunner(), flow_type="Other")  # type: ignore[arg-type]  # the mistake
