# twin: shared
"""RunModel asks for one call on committed state and settles every answer, valid or not."""

from datetime import timedelta
from typing import Any

import pytest

from dex_agents.model.interrupts import InterruptKind
from dex_agents.model.messages import FrameworkMessage, MessageRole
from dex_agents.model.options import AgentSessionOptions
from dex_agents.model.state import AgentState, AgentStatus, AgentUsage
from dex_agents.model.tool_calls import ToolCallStatus, ToolEffect, ToolPolicy
from dex_agents.runner.outcomes import DeferredToolCall, ToolCallsRequested, TurnCompleted
from dex_agents.session.call_values import CallFailed, CallReturned, ModelCall, ToolReportedFailure
from dex_agents.session.message_window import append_messages
from dex_agents.session.schema import (
    AGENT_STATE,
    AGENT_TOOL_CALLS,
    AGENT_USAGE,
    FRAMEWORK_RUN_STATE,
    PENDING_INTERRUPTS,
)
from dex_agents.session.stored_messages import WINDOW_LOADS
from tests.shared.session.flows import (
    NOW,
    Flow,
    PlainRunner,
    StoringRunner,
    message,
    running_state,
    session_of,
    tool_call,
)

READ = ToolPolicy(ToolEffect.READ)
IDEMPOTENT = ToolPolicy(ToolEffect.IDEMPOTENT_WRITE)
WRITE = ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE)
USAGE = AgentUsage(input_tokens=10, output_tokens=2, model_calls=1)


def running_flow(
    runner: PlainRunner | None = None, options: AgentSessionOptions | None = None
) -> Flow:
    flow = Flow(session_of(runner, options))
    io = flow.io("test", WINDOW_LOADS)
    state = append_messages(
        session_of(), io, running_state(), "turn-1", [message("Hi", MessageRole.USER)]
    )
    flow.store(io.writes)
    return flow.put(AGENT_STATE, state)


def deferred(call_id: str, policy: Any = READ, **changes: Any) -> DeferredToolCall:
    values = {"tool_call_id": call_id, "tool_name": f"tool_{call_id}", "arguments": "{}"}
    return DeferredToolCall(**{**values, "policy": policy, **changes})


def requested(*calls: DeferredToolCall, **changes: Any) -> CallReturned:
    values: dict[str, Any] = {"framework_run_state": "state", "tool_calls": calls, "usage": USAGE}
    return CallReturned(ToolCallsRequested(**{**values, **changes}))


def test_the_runner_sees_the_committed_turn() -> None:
    flow = running_flow()
    flow.put(FRAMEWORK_RUN_STATE, "state").put_calls(
        tool_call("a", deferral_order=1, status=ToolCallStatus.SUCCEEDED, output="1"),
        tool_call("b", deferral_order=0, status=ToolCallStatus.FAILED, error="no"),
        tool_call("old", turn_id="turn-0", status=ToolCallStatus.FAILED),
    )
    call = flow.prepare("RunModel", attempt=2)
    assert isinstance(call, ModelCall)
    turn = call.turn
    assert (turn.flow_id, turn.turn_id, turn.attempt) == ("s-1", "turn-1", 2)
    assert [stored.text for stored in turn.messages] == ["Hi"]
    assert (turn.framework_run_state, turn.is_resuming) == ("state", True)
    assert list(turn.tool_calls) == ["b", "a"]
    recorded = turn.recorded_tool_call("a")
    assert recorded is not None and recorded.output == "1"
    assert turn.recorded_tool_call("old") is None
    assert turn.resolve_tool_policy("x", ToolEffect.READ) == READ
    assert (call.source.turn_id, call.source.step_execution_id, call.source.attempt) == (
        "turn-1",
        "RunModel-1",
        2,
    )


def test_the_first_call_of_a_turn_does_not_resume() -> None:
    call = running_flow().prepare("RunModel")
    assert isinstance(call, ModelCall) and not call.turn.is_resuming


def test_a_final_answer_completes_the_turn_in_one_commit() -> None:
    flow = running_flow().put(FRAMEWORK_RUN_STATE, "state").put(AGENT_USAGE, USAGE)
    flow.put_calls(tool_call(status=ToolCallStatus.SUCCEEDED, output="1"))
    flow.put(AGENT_STATE, running_state(last_message_sequence=1, last_turn_error="an old one"))
    outcome = TurnCompleted([message("calling"), message("Done")], USAGE)
    ran = flow.run("RunModel", outcome=CallReturned(outcome))
    assert ran.next_steps == [("AwaitUserMessage", None)]
    total = AgentUsage(input_tokens=20, output_tokens=4, model_calls=2)
    assert ran.events == [
        ("usage_recorded", {"recorded": USAGE.to_json(), "session": total.to_json()}),
        ("turn_completed", {"message_count": 2}),
    ]
    assert flow.state == AgentState(turn_number=1, last_message_sequence=3)
    assert flow.read(AGENT_USAGE) == total
    assert flow.read(FRAMEWORK_RUN_STATE) is None
    assert flow.items(AGENT_TOOL_CALLS) == {}
    assert flow.message_texts[1:] == [("assistant", "calling"), ("assistant", "Done")]


def test_tool_calls_become_records_and_parallel_steps() -> None:
    flow = running_flow()
    ran = flow.run(
        "RunModel",
        outcome=requested(
            deferred("r"), deferred("i", IDEMPOTENT), deferred("w", WRITE),
            deferred("f", ToolPolicy(ToolEffect.UNCLASSIFIED, requires_approval=False)),
        ),
    )  # fmt: skip
    assert ran.next_steps == [
        ("CallTool", "r"),
        ("CallTool", "i"),
        ("AwaitToolApproval", "w"),
        ("CallSingleAttemptTool", "f"),
        ("ResumeTurn", "4"),
    ]
    assert flow.state.status is AgentStatus.RUNNING_TOOLS
    assert flow.read(FRAMEWORK_RUN_STATE) == "state"
    records = flow.items(AGENT_TOOL_CALLS)
    assert {key: (r.deferral_order, r.status.value) for key, r in records.items()} == {
        "r": (0, "approved"),
        "i": (1, "approved"),
        "w": (2, "awaiting_approval"),
        "f": (3, "approved"),
    }
    (interrupt,) = flow.read(PENDING_INTERRUPTS)
    assert (interrupt.interrupt_id, interrupt.tool_call_id, interrupt.turn_id) == (
        "w",
        "w",
        "turn-1",
    )
    assert (interrupt.kind, interrupt.deadline) == (InterruptKind.APPROVAL, None)
    assert [name for name, _ in ran.events] == [
        "usage_recorded",
        *["tool_call_deferred"] * 4,
        "interrupt_raised",
    ]
    assert ran.published == []


def test_case_c13_three_calls_of_one_tool_have_three_interrupts() -> None:
    flow = running_flow()
    calls = [deferred(name, WRITE, tool_name="refund", arguments=name) for name in "abc"]
    flow.run("RunModel", outcome=requested(*calls))
    interrupts = flow.read(PENDING_INTERRUPTS)
    assert [(one.interrupt_id, one.arguments) for one in interrupts] == [
        ("a", "a"),
        ("b", "b"),
        ("c", "c"),
    ]


def test_case_c16_a_mixed_batch_raises_one_interrupt_and_starts_the_read() -> None:
    flow = running_flow()
    ran = flow.run("RunModel", outcome=requested(deferred("r"), deferred("w", WRITE)))
    assert ran.next_steps[:2] == [("CallTool", "r"), ("AwaitToolApproval", "w")]
    assert len(flow.read(PENDING_INTERRUPTS)) == 1


def test_the_deadline_counts_from_the_moment_of_the_answer() -> None:
    flow = running_flow(options=AgentSessionOptions(interrupt_deadline=timedelta(hours=1)))
    flow.run("RunModel", outcome=requested(deferred("w", WRITE)))
    (interrupt,) = flow.read(PENDING_INTERRUPTS)
    assert interrupt.deadline == NOW + timedelta(hours=1)


def test_a_second_batch_continues_the_order_of_the_first() -> None:
    flow = running_flow().put_calls(tool_call("a", status=ToolCallStatus.SUCCEEDED))
    flow.run("RunModel", outcome=requested(deferred("b")))
    assert flow.call("b").deferral_order == 1


def test_messages_of_a_storing_runner_are_stored_with_the_calls() -> None:
    flow = running_flow(StoringRunner())
    flow.run("RunModel", outcome=requested(deferred("a"), new_messages=[message("asking")]))
    assert flow.message_texts[1:] == [("assistant", "asking")]


def test_a_source_reference_reaches_the_record() -> None:
    flow = running_flow()
    flow.run("RunModel", outcome=requested(deferred("a", tool_source_reference="ref")))
    assert flow.call("a").tool_source_reference == "ref"


INVALID: list[tuple[object, str]] = [
    (None, "must return TurnCompleted or ToolCallsRequested, not NoneType"),
    ("text", "not str"),
    # Ignored types below: what a faulty runner returns is what is tested.
    (TurnCompleted(["text"]), "expected FrameworkMessage, found str"),  # type: ignore[list-item]
    (TurnCompleted(5), "expected FrameworkMessage values"),  # type: ignore[arg-type]
    (TurnCompleted([], None), "usage must be an AgentUsage"),  # type: ignore[arg-type]
    (TurnCompleted([], AgentUsage(input_tokens=-1)), "usage.input_tokens must be a whole number"),
    (
        TurnCompleted([FrameworkMessage(role="robot", framework_item="", text="")]),  # type: ignore[arg-type]
        "'robot' is no MessageRole",
    ),
    (
        TurnCompleted(
            [FrameworkMessage(role=MessageRole.USER, framework_item={}, text="")]  # type: ignore[arg-type]
        ),
        "FrameworkMessage.framework_item must be of type str, not dict",
    ),
    (requested().value, "at least one call"),
    (requested(deferred("a"), framework_run_state="").value, "framework_run_state must be a str"),
    (requested(deferred("")).value, "tool call ID ''"),
    (requested(deferred("a/b")).value, "tool call ID 'a/b'"),
    (requested(deferred("\ud800")).value, "valid text"),
    (requested(deferred("a"), deferred("a")).value, "'a' is used twice in one turn"),
    (requested(deferred("used")).value, "'used' is used twice in one turn"),
    (requested(deferred("a", arguments=None)).value, "DeferredToolCall.arguments must be of type"),
    (requested(deferred("a", policy="read")).value, "DeferredToolCall.policy must be of type"),
    (requested(deferred("a", tool_source_reference=5)).value, "str | None, not int"),
    (requested("a").value, "expected DeferredToolCall, found str"),  # type: ignore[arg-type]
    (requested(deferred("a"), new_messages=[message("x")]).value, "build_unfinished_turn_messages"),
]


@pytest.mark.parametrize(("value", "error"), INVALID)
def test_an_invalid_answer_ends_the_turn_at_once(value: object, error: str) -> None:
    flow = running_flow().put_calls(tool_call("used", status=ToolCallStatus.SUCCEEDED))
    ran = flow.run("RunModel", outcome=CallReturned(value))
    assert ran.next_steps == [("RecordTurnFailure", None)]
    assert "the agent runner is at fault: " in (flow.state.last_turn_error or "")
    assert error in (flow.state.last_turn_error or "")
    assert list(ran.writes.attributes) == ["AgentState"]
    assert not ran.writes.items
    ended = flow.run("RecordTurnFailure")
    assert ended.events == [("turn_failed", {"error": flow.state.last_turn_error})]


def test_a_permanent_failure_ends_the_turn_at_once() -> None:
    flow = running_flow()
    ran = flow.run("RunModel", outcome=CallFailed("401: the key was refused"))
    assert ran.next_steps == [("RecordTurnFailure", None)]
    assert flow.state.last_turn_error == "401: the key was refused"


def test_damaged_messages_end_the_turn_with_their_key() -> None:
    flow = running_flow()
    flow.maps["AgentMessages"]["000000000001"] = "{}"
    ran = flow.run("RunModel")
    assert ran.next_steps == [("RecordTurnFailure", None)]
    assert flow.state.last_turn_error == (
        "AgentMessages/000000000001: AgentMessage.sequence: is missing"
    )
    del flow.maps["AgentMessages"]["000000000001"]
    flow.run("RunModel")
    assert flow.state.last_turn_error == "AgentMessages/000000000001: is missing"


def test_a_retry_on_the_same_snapshot_decides_the_same() -> None:
    flow = running_flow()
    first, second = flow.prepare("RunModel", attempt=1), flow.prepare("RunModel", attempt=2)
    assert isinstance(first, ModelCall) and isinstance(second, ModelCall)
    assert first.turn.messages == second.turn.messages


def test_without_a_turn_there_is_nothing_to_call() -> None:
    flow = Flow().put(AGENT_STATE, AgentState())
    assert flow.run("RunModel").next_steps == [("AwaitUserMessage", None)]


def test_lone_surrogates_are_stored_as_replacement_characters() -> None:
    flow = running_flow(StoringRunner())
    outcome = requested(
        deferred("a", arguments="\ud800"),
        framework_run_state="x\ud800",
        new_messages=[message("y\ud800")],
    )
    flow.run("RunModel", outcome=outcome)
    assert flow.read(FRAMEWORK_RUN_STATE) == "x�"
    assert flow.call("a").arguments == "�"
    assert flow.message_texts[-1] == ("assistant", "y�")


def test_an_outcome_of_another_call_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="cannot settle with a ToolReportedFailure"):
        running_flow().run("RunModel", outcome=ToolReportedFailure("x"))
