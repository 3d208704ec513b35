# twin: generated from tests/aio/testing/test_kit.py by tools/twin; do not edit.
"""The shipped testing kit, used as an application's tests would."""

from pathlib import Path

import pytest

from dex_agents_sync._seam.concurrency import gather
from dex_agents_sync.engine.embedded.runtime import EmbeddedEngine
from dex_agents.errors import StepInvocationClosed
from dex_agents.model.messages import MessageRole
from dex_agents.model.state import AgentSessionStartInput, AgentStatus
from dex_agents.model.tool_calls import ToolCallStatus, ToolEffect
from dex_agents.session.ports import ChannelWait
from dex_agents.session.schema import AGENT_MESSAGES, AGENT_STATE, AGENT_TOOL_CALLS
from dex_agents_sync.testing import (
    EXECUTE_COMPLETED_EVENT,
    FileGate,
    InvocationLog,
    StepRecorder,
    read_step_history,
    wait_until,
)
from dex_agents_sync.testing.recorder import RecordingEmitter
from tests.sync.support import (
    ToolBench,
    build_session,
    calls_then_text,
    echo,
    tool_call,
    wait_for_turn_end,
)


def test_a_gate_holds_one_side_until_the_other_releases_it(tmp_path: Path) -> None:
    gate = FileGate(tmp_path, "door")
    order: list[str] = []

    def passer() -> None:
        gate.wait_for_release()
        order.append("passed")

    def opener() -> None:
        gate.wait_until_reached()
        order.append("reached")
        gate.release()

    gather(passer, opener)
    assert order == ["reached", "passed"]


def test_waits_end_with_an_error_that_names_what_was_missing(tmp_path: Path) -> None:
    gate = FileGate(tmp_path, "door")
    with pytest.raises(TimeoutError, match="'door' was not released"):
        gate.wait_for_release(0.02)
    with pytest.raises(TimeoutError, match="'other' was not reached"):
        FileGate(tmp_path, "other").wait_until_reached(0.02)

    def never() -> bool:
        return False

    with pytest.raises(TimeoutError, match="for a miracle"):
        wait_until("a miracle", never, timeout_seconds=0.02)


def test_a_ledger_counts_across_objects(tmp_path: Path) -> None:
    InvocationLog(tmp_path / "log").record("pay", key="k")
    InvocationLog(tmp_path / "log").record("look")
    assert InvocationLog(tmp_path / "log").count() == 2
    assert InvocationLog(tmp_path / "log").entries("pay") == [{"name": "pay", "key": "k"}]


def test_the_step_history_lists_what_completed() -> None:
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(echo))
        sessions.start_session("s-1", "hello")
        wait_for_turn_end(sessions, "s-1")
        history = read_step_history(engine.client, "s-1")
        executed = [e.step_execution_id for e in history if e.event_type == EXECUTE_COMPLETED_EVENT]
        assert executed == ["StartAgentSession-1", "RunModel-1"]
        assert {entry.final_attempt for entry in history} == {1}


def test_the_recorder_runs_one_step_and_shows_what_it_wrote() -> None:
    recorder = StepRecorder(build_session(echo))
    start = AgentSessionStartInput(initial_message="hello").to_text()
    started = recorder.run_step("StartAgentSession", start)
    assert [movement.step for movement in started.plan.decision.movements] == ["RunModel"]
    recorder.apply(started.writes)
    state = AGENT_STATE.get(recorder.io())
    assert state is not None
    assert state.status is AgentStatus.RUNNING_MODEL
    model = recorder.run_step("RunModel")
    recorder.apply(model.writes)
    loads = (AGENT_MESSAGES.load_all(),)
    texts = [message.text for _, message in AGENT_MESSAGES.items(recorder.io(loads=loads))]
    assert texts == ["hello", "echo hello"]
    assert any('"text_delta"' in event for event in model.emitted)
    assert [movement.step for movement in model.plan.decision.movements] == ["AwaitUserMessage"]
    wait = recorder.wait_for("AwaitUserMessage")
    assert ChannelWait("QueuedUserMessages") in wait.any_of
    answer, writes = recorder.run_rpc("get_agent_snapshot")
    assert '"echo hello"' in answer.output
    assert writes.is_empty


def test_the_recorder_runs_a_tool_with_its_events(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    tools = [bench.tool("look", ToolEffect.READ)]
    recorder = StepRecorder(build_session(calls_then_text(tool_call("look", value="7")), tools))
    start = AgentSessionStartInput(initial_message="go").to_text()
    recorder.apply((recorder.run_step("StartAgentSession", start)).writes)
    model = recorder.run_step("RunModel")
    assert [m.step for m in model.plan.decision.movements] == ["CallTool", "ResumeTurn"]
    recorder.apply(model.writes)
    tool = recorder.run_step("CallTool", "look")
    assert '"tool_call_started"' in tool.emitted[0]
    recorder.apply(tool.writes)
    record = AGENT_TOOL_CALLS.get(recorder.io(loads=(AGENT_TOOL_CALLS.load_one("look"),)), "look")
    assert record is not None
    assert record.status is ToolCallStatus.SUCCEEDED
    assert record.output == "look 7"
    with pytest.raises(LookupError, match="does not wait"):
        recorder.wait_for("CallTool", "look")


def test_a_closed_recording_emitter_drops_and_refuses() -> None:
    emitter = RecordingEmitter()
    emitter.save_checkpoint("half")
    emitter.close()
    emitter.write("late")
    assert emitter.events == []
    assert emitter.checkpoints == ["half"]
    assert emitter.is_cancelled()
    with pytest.raises(StepInvocationClosed):
        emitter.heartbeat()


def test_roles_are_plain_words_on_the_wire() -> None:
    assert [role.value for role in MessageRole] == ["user", "assistant", "tool"]
