# twin: shared
"""Both packages send an engine the same frames in the same order, and the same result bytes."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import pytest
from dex.dexpb import dex_pb2 as pb
from google.protobuf.message import Message

from dex_agents.errors import StepCallError
from dex_agents.model.options import AgentSessionOptions
from dex_agents.runner.outcomes import ToolExecutionResult
from dex_agents.sdk import step_io
from tests.aio_only.sdk.driver import Blocking
from tests.sdk_support import (
    NOW,
    OPTIONS,
    READ,
    REFUND,
    Action,
    Answer,
    Beat,
    Fail,
    Save,
    Say,
    StoredFlow,
    asks_for,
    channel_result,
    final_answer,
    movements_of,
    reported,
    result_of,
    shown,
)
from tests.sync_only.sdk.driver import Driven, ScriptedRunner

RESULT = Answer(ToolExecutionResult("found it"))


@pytest.fixture(autouse=True)
def _frozen_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_io, "utc_now", lambda: NOW)


class Pair:
    """One session in each package; every request goes to both, and the answers must be equal."""

    def __init__(self, options: AgentSessionOptions) -> None:
        self.flow = StoredFlow()
        self._aio = Blocking(options=options)
        self._sync = Driven(ScriptedRunner(), options)

    def close(self) -> None:
        self._aio.close()

    def execute(
        self,
        movement: pb.StepMovement,
        *script: Action,
        attempt: int = 1,
        checkpoint: str | None = None,
        results: pb.ConditionResults | None = None,
    ) -> list[pb.InvokeExecuteMethodOutput]:
        """Run a movement's `execute` in both, and commit the result."""
        request = self.flow.execute_request(
            movement, attempt=attempt, checkpoint=checkpoint, results=results
        )
        self.play(*script)
        ours, its = self._aio.execute(request), self._sync.execute(request)
        assert [as_bytes(one) for one in ours] == [as_bytes(one) for one in its]
        assert self._aio.driven.runner.checkpoint == self._sync.runner.checkpoint
        self.flow.apply(result_of(ours))
        return ours

    def failure(
        self, movement: pb.StepMovement, *script: Action
    ) -> tuple[list[pb.InvokeExecuteMethodOutput], pb.WorkerErrorResponse]:
        """Run a movement's `execute` that fails in both."""
        request = self.flow.execute_request(movement)
        self.play(*script)
        (ours, error), (its, other) = self._aio.failure(request), self._sync.failure(request)
        assert [as_bytes(one) for one in ours] == [as_bytes(one) for one in its]
        assert reported(error) == reported(other)
        return ours, reported(error)

    def wait_for(self, movement: pb.StepMovement) -> pb.InvokeWaitForMethodResponse:
        """Run a movement's `wait_for` in both."""
        request = self.flow.wait_for_request(movement)
        ours, its = self._aio.wait_for(request), self._sync.wait_for(request)
        assert as_bytes(ours) == as_bytes(its)
        return ours

    def rpc(
        self,
        name: str,
        rpc_input: str | None = None,
        *,
        loads: Sequence[str] = (),
        channels: Sequence[str] = (),
    ) -> pb.InvokeWorkerRPCResponse:
        """Run an RPC in both, and commit the result."""
        request = self.flow.rpc_request(name, rpc_input, loads, channels)
        ours, its = self._aio.rpc(request), self._sync.rpc(request)
        assert as_bytes(ours) == as_bytes(its)
        self.flow.apply(ours)
        return ours

    def rpc_failure(self, name: str, rpc_input: str) -> pb.WorkerErrorResponse:
        """Run an RPC that fails in both."""
        request = self.flow.rpc_request(name, rpc_input, (), ())
        with pytest.raises(StepCallError) as ours:
            self._aio.rpc(request)
        with pytest.raises(StepCallError) as its:
            self._sync.rpc(request)
        assert reported(ours.value) == reported(its.value)
        return reported(ours.value)

    def play(self, *script: Action) -> None:
        """Set what the runners do next."""
        self._aio.play(*script)
        self._sync.play(*script)

    def start(self, text: str) -> pb.StepMovement:
        """Start the session with a message, and return the movement to the model call."""
        start_input = json.dumps({"initial_message": text})
        movement = self._aio.start_movement(start_input)
        assert movement == self._sync.start_movement(start_input)
        outputs = self.execute(movement)
        assert shown(outputs) == ["turn_started"]
        return movements_of(result_of(outputs))["RunModel"]


def as_bytes(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)


@pytest.fixture
def pair() -> Iterator[Pair]:
    both = Pair(OPTIONS)
    yield both
    both.close()


def test_a_model_call_streams_its_text_and_then_the_events_of_its_commit(pair: Pair) -> None:
    run_model = pair.start("hello")
    outputs = pair.execute(run_model, Say("he"), Say("llo"), Beat(), final_answer("hello"))
    assert shown(outputs) == [
        "text_delta he",
        "text_delta llo",
        "heartbeat",
        "usage_recorded",
        "turn_completed",
    ]
    (follows,) = result_of(outputs).step_decision.next_steps
    assert follows.step_type == "AwaitUserMessage"
    assert follows.step_input.WhichOneof("kind") == "null_value"
    assert pair.flow.stored("AgentState")["status"] == "waiting_for_user_message"
    assert pair.flow.stored("AgentMessages/000000000002")["text"] == "hello"


def test_a_whole_turn_with_tools_is_the_same_in_both_packages(pair: Pair) -> None:
    run_model = pair.start("refund order 7")
    asked = pair.execute(run_model, asks_for(("c1", "lookup", READ), ("c2", "refund", REFUND)))
    assert shown(asked) == [
        "usage_recorded",
        "tool_call_deferred",
        "tool_call_deferred",
        "interrupt_raised",
    ]
    steps = movements_of(result_of(asked))
    assert list(steps) == ["CallTool", "AwaitToolApproval", "ResumeTurn"]
    call_tool = steps["CallTool"].step_options
    assert list(call_tool.execute_load_attribute_map_instances) == ["AgentToolCalls/c1"]
    assert call_tool.execute_failure_proceed_step_type == "RecordToolFailure"
    route = call_tool.execute_failure_proceed_step_options
    assert list(route.execute_load_attribute_map_instances) == ["AgentToolCalls/c1"]

    looked_up = pair.execute(steps["CallTool"], Say("looking"), RESULT)
    assert shown(looked_up) == [
        "tool_call_started",
        "heartbeat",
        "text_delta looking",
        "tool_call_finished",
    ]

    waiting = pair.wait_for(steps["AwaitToolApproval"]).waiting_condition
    assert [one.channel_name for one in waiting.channel_conditions] == ["InterruptResolutions/c2"]
    assert not waiting.timer_conditions
    resolved = pair.rpc("resolve_interrupt", json.dumps({"interrupt_id": "c2", "approved": True}))
    assert resolved.output.string_value == "true"
    decision = pair.flow.channels["InterruptResolutions/c2"][0].value.string_value
    approved = pair.execute(
        steps["AwaitToolApproval"], results=channel_result("InterruptResolutions/c2", decision)
    )
    assert shown(approved) == ["interrupt_resolved"]

    refund = movements_of(result_of(approved))["CallSingleAttemptTool"]
    assert refund.step_options.execute_retry_policy.maximum_attempts == 1
    pair.execute(refund, RESULT)
    results = [one.value.string_value for one in pair.flow.channels["ToolCallResults"]]
    assert len(results) == 2
    assert pair.wait_for(steps["ResumeTurn"]).waiting_condition.channel_conditions[0].at_least == 2
    resumed = pair.execute(steps["ResumeTurn"], results=channel_result("ToolCallResults", *results))
    again = movements_of(result_of(resumed))["RunModel"]
    done = pair.execute(again, final_answer("refunded"))
    assert shown(done)[-1] == "turn_completed"
    assert not [name for name in pair.flow.attributes if name.startswith("AgentToolCalls/")]


def test_a_deadline_becomes_a_timer_in_whole_seconds() -> None:
    pair = Pair(
        AgentSessionOptions(
            tool_policies={"refund": REFUND}, interrupt_deadline=timedelta(seconds=90.5)
        )
    )
    asked = pair.execute(pair.start("refund"), asks_for(("c1", "refund", REFUND)))
    approval = movements_of(result_of(asked))["AwaitToolApproval"]
    waiting = pair.wait_for(approval).waiting_condition
    assert [timer.duration_seconds for timer in waiting.timer_conditions] == [91]
    pair.close()


def test_a_later_attempt_reads_the_checkpoint_and_its_heartbeats_repeat_it(pair: Pair) -> None:
    asked = pair.execute(pair.start("look"), asks_for(("c1", "lookup", READ)))
    call_tool = movements_of(result_of(asked))["CallTool"]
    outputs = pair.execute(
        call_tool, Beat(), Save("page 3"), Beat(), RESULT, attempt=2, checkpoint="page 2"
    )
    assert shown(outputs) == [
        "tool_call_started",
        "heartbeat page 2",
        "heartbeat page 2",
        "heartbeat page 3",
        "heartbeat page 3",
        "tool_call_finished",
    ]


def test_a_failed_call_is_reported_as_one_type_with_clean_text(pair: Pair) -> None:
    run_model = pair.start("hello")
    error = ValueError("no \ud800 such " + "é" * 2000)
    outputs, answer = pair.failure(run_model, Say("he"), Fail(error))
    assert shown(outputs) == ["text_delta he"]
    assert answer.error_type == "dex_agents.errors.StepCallError"
    assert answer.detail.startswith("ValueError: no \ufffd such é")
    assert len(answer.detail.encode()) <= 1000
    assert answer.retry_after_seconds == 0


def test_a_time_to_wait_goes_on_in_whole_seconds(pair: Pair) -> None:
    class BusyError(Exception):
        retry_after_seconds = 2.5

    _, answer = pair.failure(pair.start("hello"), Fail(BusyError("busy")))
    assert answer.retry_after_seconds == 3
    assert answer.error_type == "dex_agents.errors.StepCallError"
    assert answer.detail == "BusyError: busy"


def test_a_fault_of_a_decision_is_reported_like_any_failure(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    movement = pair.start("hello")
    pair.flow.attributes["AgentState"] = pb.Value(string_value="{")
    _, answer = pair.failure(movement)
    assert answer.error_type == "dex_agents.errors.StepCallError"
    assert answer.detail.startswith("StoredValueError: AgentState: ")
    assert "RunModel-1 attempt 1 failed" in caplog.text


def test_rpcs_answer_alike(pair: Pair) -> None:
    pair.start("hello")
    sent = pair.rpc("send_user_message", json.dumps({"text": "and then?"}))
    assert sent.output.string_value == "true"
    page = pair.rpc("list_agent_messages", loads=("AgentMessages/",))
    assert len(json.loads(page.output.string_value)["messages"]) == 1
    snapshot = pair.rpc(
        "get_agent_snapshot",
        loads=("AgentMessages/", "AgentToolCalls/"),
        channels=("QueuedUserMessages",),
    )
    answer = json.loads(snapshot.output.string_value)
    assert answer["queued_messages"][0]["message_id"] == "message-1"
    assert answer["messages"][0]["text"] == "hello"
    assert not snapshot.upsert_attributes


def test_an_rpc_that_fails_answers_with_clean_text(pair: Pair) -> None:
    answer = pair.rpc_failure("send_user_message", "[]")
    assert answer.error_type == "dex_agents.errors.StepCallError"
    assert answer.detail.startswith("StoredValueError: ")


def test_a_message_that_came_starts_a_turn_at_the_later_of_both_clocks(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = pair.execute(pair.start("hello"), final_answer("hi"))
    await_message = movements_of(result_of(asked))["AwaitUserMessage"]
    behind = NOW - timedelta(hours=1)
    monkeypatch.setattr(step_io, "utc_now", lambda: behind)
    outputs = pair.execute(
        await_message, results=channel_result("QueuedUserMessages", json.dumps({"text": "more"}))
    )
    assert shown(outputs) == ["turn_started"]
    created = pair.flow.stored("AgentMessages/000000000003")["created_at"]
    assert datetime.fromisoformat(created) == NOW - timedelta(seconds=60)
