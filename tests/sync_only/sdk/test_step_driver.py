# twin: sync-only
"""A call on the SDK's threaded Worker: the pump, its beats, cancellation, and its end."""

import contextvars
import json
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from dex.dexpb import dex_pb2 as pb

from dex_agents.errors import StepInvocationClosed
from dex_agents.model.messages import FrameworkMessage, MessageRole
from dex_agents.model.options import AgentSessionOptions
from dex_agents.sdk.backlog import FrameBacklog
from dex_agents_sync._seam import step_driver
from dex_agents_sync.runner.turn import AgentTurnContext, DeferredToolExecution
from dex_agents_sync.sdk.flow import AgentSessionFlow
from dex_agents_sync.session.agent_session import AgentSession
from tests.sdk_support import (
    FAST_BEATS,
    OPTIONS,
    READ,
    Action,
    Answer,
    Beat,
    Fail,
    Save,
    Say,
    Silence,
    StoredFlow,
    asks_for,
    final_answer,
    message,
    movements_of,
    reported,
    result_of,
    shown,
    shown_frame,
)
from tests.sync_only.sdk.driver import GATE_SECONDS, Driven, ScriptedRunner


class Session:
    """A started session whose next request is a model call or a tool call."""

    def __init__(self, runner: Any = None, options: AgentSessionOptions = OPTIONS) -> None:
        self.driven = Driven(runner or ScriptedRunner(), options)
        self.runner = self.driven.runner
        self.flow = StoredFlow()
        movement = self.driven.start_movement(json.dumps({"initial_message": "hello"}))
        self._move(movement, "RunModel")

    def ask_for_tool(self) -> None:
        self.driven.play(asks_for(("c1", "lookup", READ)))
        self._move(self.movement, "CallTool")
        self.runner.started.clear()
        self.runner.ended.clear()

    def _move(self, movement: pb.StepMovement, following: str) -> None:
        result = result_of(self.driven.execute(self.flow.execute_request(movement)))
        self.flow.apply(result)
        self.movement = movements_of(result)[following]

    @property
    def request(self) -> pb.InvokeExecuteMethodRequest:
        return self.flow.execute_request(self.movement)

    def run(self, *script: Action) -> list[pb.InvokeExecuteMethodOutput]:
        self.driven.play(*script)
        return self.driven.execute(self.request)


def test_a_silent_call_sends_heartbeats_that_repeat_its_checkpoint() -> None:
    session = Session(options=FAST_BEATS)
    session.ask_for_tool()
    session.driven.play(Save("page 1"), Silence(), Answer(None))
    frames: list[str] = []
    for output in session.driven.outputs(session.request):
        frames.append(shown_frame(output))
        if frames.count("heartbeat page 1") == 4:
            session.runner.gate.set()
    assert frames[:3] == ["tool_call_started", "heartbeat", "heartbeat page 1"]
    assert set(frames[2:-2]) == {"heartbeat page 1"}
    assert frames[-2:] == ["tool_call_finished", "result"]


def test_the_tool_starts_only_once_its_heartbeat_was_sent() -> None:
    session = Session()
    session.ask_for_tool()
    session.driven.play(Answer(None))
    outputs = session.driven.outputs(session.request)
    assert shown_frame(next(outputs)) == "tool_call_started"
    assert shown_frame(next(outputs)) == "heartbeat"
    # The SDK is still sending that frame, as far as the pump knows.
    assert not session.runner.started.wait(0.1)
    assert [shown_frame(output) for output in outputs] == ["tool_call_finished", "result"]
    assert session.runner.started.is_set()


def test_a_cancelled_step_ends_within_one_poll_and_tells_its_call() -> None:
    session = Session()
    session.ask_for_tool()
    session.driven.play(Say("a"), Silence(), Beat(), Answer(None))
    active = threading.Event()
    active.set()
    outputs = session.driven.outputs(session.request, active.is_set)
    while shown_frame(next(outputs)) != "text_delta a":
        pass
    active.clear()
    began = time.monotonic()
    with pytest.raises(StepInvocationClosed, match="CallTool-1 was cancelled"):
        next(outputs)
    assert time.monotonic() - began < 5.0
    call = session.runner.calls[-1]
    assert call.is_cancelled()
    session.runner.gate.set()
    assert session.runner.ended.wait(GATE_SECONDS)
    assert isinstance(session.runner.ended_with, StepInvocationClosed)


def test_a_dropped_pump_releases_the_heartbeat_that_waits_for_it() -> None:
    session = Session()
    session.ask_for_tool()
    session.driven.play(Beat(), Answer(None))
    outputs = session.driven.outputs(session.request)
    for expected in ("tool_call_started", "heartbeat", "heartbeat"):
        assert shown_frame(next(outputs)) == expected
    outputs.close()
    assert session.runner.ended.wait(GATE_SECONDS)
    assert isinstance(session.runner.ended_with, StepInvocationClosed)


def test_a_call_that_is_over_writes_nothing_and_refuses_heartbeats() -> None:
    session = Session()
    session.ask_for_tool()
    with pytest.raises(Exception, match="ConnectionError: lost"):
        session.run(Fail(ConnectionError("lost")))
    call = session.runner.calls[-1]
    call.events.write_text_delta("late")
    with pytest.raises(StepInvocationClosed):
        call.heartbeat()
    with pytest.raises(StepInvocationClosed):
        call.save_heartbeat_checkpoint("late")


def test_a_tool_that_exits_fails_its_attempt_and_nothing_else() -> None:
    session = Session()
    session.ask_for_tool()
    with pytest.raises(Exception) as caught:
        session.run(Fail(SystemExit("enough")))
    assert reported(caught.value).detail == "SystemExit: enough"


class PlainRunner:
    """Its model call is the test's."""

    def __init__(self, model_step: Any) -> None:
        self._model_step = model_step

    def build_user_message(self, text: str) -> FrameworkMessage:
        return message(text, MessageRole.USER)

    def run_model_step(self, turn: AgentTurnContext) -> Any:
        self._model_step(turn)
        return final_answer("done").value

    def execute_deferred_tool_call(self, call: DeferredToolExecution) -> Any:
        raise AssertionError


def texts_of(outputs: list[pb.InvokeExecuteMethodOutput]) -> list[str]:
    return [frame.split()[1] for frame in shown(outputs) if frame.startswith("text_delta")]


def test_events_of_four_threads_all_arrive_each_thread_in_order() -> None:
    def model_step(turn: AgentTurnContext) -> None:
        def write(name: str) -> None:
            for number in range(50):
                turn.events.write_text_delta(f"{name}{number}")

        threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    session = Session(PlainRunner(model_step))
    texts = texts_of(session.driven.execute(session.request))
    for name in "abcd":
        assert [one for one in texts if one[0] == name] == [f"{name}{n}" for n in range(50)]


def test_a_slow_engine_costs_old_text_and_the_log_says_how_much(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    all_written = threading.Event()

    def model_step(turn: AgentTurnContext) -> None:
        for number in range(100):
            turn.events.write_text_delta(str(number))
        all_written.set()

    monkeypatch.setattr(step_driver, "FrameBacklog", lambda: FrameBacklog(max_frames=8))
    session = Session(PlainRunner(model_step))
    outputs = session.driven.outputs(session.request)
    taken = [next(outputs)]
    # While the engine takes this one frame, the call writes all the others.
    assert all_written.wait(GATE_SECONDS)
    taken += outputs
    texts = texts_of(taken)
    assert texts[-1] == "99"
    assert len(texts) <= 10
    assert f"{100 - len(texts)} live events were dropped" in caplog.text
    assert "RunModel session-1" in caplog.text


def test_the_call_runs_in_a_copy_of_the_workers_context_in_a_thread_named_after_it() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="none")
    seen: list[tuple[str, str]] = []

    def model_step(turn: AgentTurnContext) -> None:
        seen.append((variable.get(), threading.current_thread().name))
        variable.set("changed by the call")

    session = Session(PlainRunner(model_step))
    variable.set("of the worker")
    session.driven.execute(session.request)
    assert seen == [("of the worker", "RunModel session-1")]
    assert variable.get() == "of the worker"


@pytest.fixture
def _switches_often() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("_switches_often")
def test_heartbeats_of_many_threads_all_return() -> None:
    def model_step(turn: AgentTurnContext) -> None:
        def beat() -> None:
            for _ in range(20):
                turn.heartbeat()
                turn.events.write_text_delta("x")

        threads = [threading.Thread(target=beat) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    session = Session(PlainRunner(model_step))
    frames = shown(session.driven.execute(session.request))
    assert frames.count("heartbeat") == 160
    assert frames.count("text_delta x") == 160


def test_a_flow_takes_a_session_of_its_own_package_only() -> None:
    from dex_agents.session.agent_session import AgentSession as OtherSession
    from tests.aio_only.sdk.test_step_driver import ThreadedRunner as OtherRunner

    session = AgentSession(PlainRunner(None), flow_type="Plain")
    assert AgentSessionFlow.of(session).session is session
    other = OtherSession(OtherRunner(), flow_type="Other")
    with pytest.raises(TypeError, match=r"of dex_agents_sync, not dex_agents\.session"):
        AgentSessionFlow.of(other)  # type: ignore[arg-type]  # the mistake
