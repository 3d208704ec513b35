# twin: source
"""A call reaches the runner with everything it promises, and its failures reach the engine."""

import json
from typing import Any

import pytest

from dex_agents.errors import (
    NonRetryableError,
    StepCallError,
    StepInvocationClosed,
    ToolExecutionError,
)
from dex_agents.model.messages import AgentMessage, MessageRole
from dex_agents.model.state import AgentState, AgentStatus
from dex_agents.model.tool_calls import AgentToolCall, ToolCallStatus, ToolEffect
from dex_agents.runner.outcomes import ToolExecutionResult, TurnCompleted
from dex_agents.session.agent_session import AgentSession
from dex_agents.session.call_values import CallFailed, CallReturned, ToolReportedFailure
from dex_agents.session.definition import CallOutcome, PreparedCall
from tests.aio.session.calls_support import NOW, RecordingEmitter, ScriptedRunner, prepared

STATE = AgentState(
    status=AgentStatus.RUNNING_MODEL,
    active_turn_id="turn-1",
    turn_number=1,
    last_message_sequence=1,
)
MESSAGE = AgentMessage(
    sequence=1,
    turn_id="turn-1",
    role=MessageRole.USER,
    framework_item="Hi",
    text="Hi",
    created_at=NOW,
)
RECORD = AgentToolCall(
    tool_call_id="call-1",
    turn_id="turn-1",
    tool_name="lookup",
    arguments="{}",
    effect=ToolEffect.READ,
    requires_approval=False,
    status=ToolCallStatus.APPROVED,
    deferral_order=0,
)
ATTRIBUTES = {"AgentState": STATE.to_text()}
MAPS = {
    "AgentMessages": {"000000000001": MESSAGE.to_text()},
    "AgentToolCalls": {"call-1": RECORD.to_text()},
}


async def call_model(runner: ScriptedRunner, emitter: RecordingEmitter) -> CallOutcome:
    session = AgentSession(runner, flow_type="Support")
    call = prepared(session, "RunModel", None, ATTRIBUTES, MAPS)
    return await session.perform_call(call, emitter)


async def call_tool(runner: ScriptedRunner, emitter: RecordingEmitter) -> CallOutcome:
    session = AgentSession(runner, flow_type="Support")
    call = prepared(session, "CallTool", "call-1", ATTRIBUTES, MAPS)
    return await session.perform_call(call, emitter)


def events_of(emitter: RecordingEmitter) -> list[tuple[str, dict[str, Any]]]:
    events = [json.loads(text) for kind, text in emitter.said if kind == "event"]
    return [(event["type"], json.loads(event["payload"])) for event in events]


async def test_a_model_call_streams_and_returns() -> None:
    runner, emitter = ScriptedRunner(), RecordingEmitter()
    outcome = await call_model(runner, emitter)
    assert outcome == CallReturned(TurnCompleted())
    assert events_of(emitter) == [
        ("text_delta", {"text": "Hel"}),
        ("reasoning_delta", {"text": "hm"}),
    ]
    assert emitter.said[-1] == ("heartbeat", "")
    (turn,) = runner.turns
    assert (turn.flow_id, turn.turn_id, turn.attempt) == ("s-1", "turn-1", 1)
    assert [message.text for message in turn.messages] == ["Hi"]
    assert not turn.is_cancelled()


async def test_events_after_the_end_of_a_call_are_dropped() -> None:
    runner, emitter = ScriptedRunner(), RecordingEmitter()
    await call_model(runner, emitter)
    count = len(emitter.said)
    events = runner.turns[0].events
    events.write_text_delta("late")
    events.write_reasoning_delta("late")
    events.write_tool_call_started("c", "t")
    events.write_tool_call_finished("c", "t", ToolCallStatus.SUCCEEDED)
    events.write_event("late", {})
    assert len(emitter.said) == count


async def test_a_tool_call_starts_only_after_a_sign_of_life() -> None:
    runner, emitter = ScriptedRunner(ToolExecutionResult("7")), RecordingEmitter()
    outcome = await call_tool(runner, emitter)
    assert outcome == CallReturned(ToolExecutionResult("7"))
    assert [kind for kind, _ in emitter.said] == ["event", "heartbeat", "checkpoint"]
    assert events_of(emitter) == [
        ("tool_call_started", {"tool_call_id": "call-1", "tool_name": "lookup"})
    ]
    (execution,) = runner.executions
    assert execution.tool_call == RECORD
    assert execution.idempotency_key == "s-1/turn-1/call-1"
    assert (execution.attempt, execution.heartbeat_checkpoint) == (1, "job-0")
    assert not execution.is_cancelled()


async def test_a_tool_never_starts_once_its_step_has_ended() -> None:
    runner, emitter = ScriptedRunner(), RecordingEmitter(is_closed=True)
    with pytest.raises(StepInvocationClosed):
        await call_tool(runner, emitter)
    assert runner.executions == []


async def test_a_call_whose_step_has_ended_says_so_and_nothing_else() -> None:
    for call in (call_model, call_tool):
        emitter = RecordingEmitter()
        with pytest.raises(StepInvocationClosed):
            await call(ScriptedRunner(StepInvocationClosed("ended")), emitter)


async def test_a_failure_that_the_tool_reports_is_an_outcome() -> None:
    for error in (
        ToolExecutionError("no such order"),
        ExceptionGroup("group", [ToolExecutionError("no such order")]),
    ):
        outcome = await call_tool(ScriptedRunner(error), RecordingEmitter())
        assert outcome == ToolReportedFailure("no such order")


async def test_a_permanent_failure_is_an_outcome() -> None:
    for call in (call_model, call_tool):
        outcome = await call(ScriptedRunner(NonRetryableError("401")), RecordingEmitter())
        assert outcome == CallFailed("401")


async def test_any_other_failure_is_one_bounded_error_for_the_engine() -> None:
    error = ValueError("\ud800" + "x" * 5_000_000)
    # An exception of a library may carry such an attribute.
    error.retry_after_seconds = 2.5  # type: ignore[attr-defined]
    for call in (call_model, call_tool):
        with pytest.raises(StepCallError) as raised:
            await call(ScriptedRunner(error), RecordingEmitter())
        assert len(raised.value.text.encode()) <= 1000
        assert raised.value.error_type == "ValueError"
        assert raised.value.retry_after_seconds == 2.5
        assert raised.value.__suppress_context__


async def test_what_is_no_ordinary_error_passes_through() -> None:
    for call in (call_model, call_tool):
        with pytest.raises(KeyboardInterrupt):
            await call(ScriptedRunner(KeyboardInterrupt()), RecordingEmitter())


async def test_a_session_performs_only_calls_of_its_steps() -> None:
    session = AgentSession(ScriptedRunner(), flow_type="Support")
    with pytest.raises(TypeError, match="cannot perform a PreparedCall"):
        await session.perform_call(PreparedCall(), RecordingEmitter())
