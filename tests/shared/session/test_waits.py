# twin: shared
"""An approval is decided once, by the person or by its deadline; a turn waits for all its calls."""

from datetime import timedelta

import pytest

from dex_agents.model.interrupts import AgentInterrupt, AgentInterruptResolution, InterruptKind
from dex_agents.model.state import AgentState, AgentStatus
from dex_agents.model.tool_calls import ToolCallCompleted, ToolCallStatus, ToolEffect
from dex_agents.session.ports import DEAD_END, ChannelWait, StepPlan, TimerWait, Wait
from dex_agents.session.schema import AGENT_STATE, PENDING_INTERRUPTS
from tests.shared.session.flows import MINUTE, NOW, Flow, running_state, tool_call

RESOLUTIONS = ("InterruptResolutions", "call-1")
RESULTS = ("ToolCallResults", None)


def interrupt(call_id: str = "call-1", deadline: timedelta | None = None) -> AgentInterrupt:
    return AgentInterrupt(
        interrupt_id=call_id,
        tool_call_id=call_id,
        turn_id="turn-1",
        tool_name="lookup",
        arguments="{}",
        kind=InterruptKind.APPROVAL,
        created_at=NOW,
        deadline=None if deadline is None else NOW + deadline,
    )


def resolution(
    approved: bool, turn_id: str = "turn-1", rejection_message: str | None = None
) -> AgentInterruptResolution:
    return AgentInterruptResolution(
        interrupt_id="call-1",
        turn_id=turn_id,
        approved=approved,
        rejection_message=rejection_message,
    )


def waiting_flow(
    *pending: AgentInterrupt, effect: ToolEffect = ToolEffect.NON_IDEMPOTENT_WRITE
) -> Flow:
    flow = Flow().put(AGENT_STATE, running_state(status=AgentStatus.RUNNING_TOOLS))
    flow.put(PENDING_INTERRUPTS, pending)
    return flow.put_calls(
        tool_call(effect=effect, requires_approval=True, status=ToolCallStatus.AWAITING_APPROVAL)
    )


def test_an_approval_without_deadline_waits_for_its_own_answer_only() -> None:
    wait = waiting_flow(interrupt(), interrupt("b", MINUTE)).wait("AwaitToolApproval", "call-1")
    assert wait == Wait((ChannelWait("InterruptResolutions", "call-1"),))


@pytest.mark.parametrize(
    ("left", "seconds"),
    [
        (timedelta(seconds=60), 60),
        (timedelta(seconds=60.001), 61),
        (timedelta(microseconds=1), 1),
        (timedelta(0), 0),
        (timedelta(days=-1), 0),
    ],
)
def test_the_deadline_timer_is_rounded_up_to_whole_seconds(left: timedelta, seconds: int) -> None:
    wait = waiting_flow(interrupt(deadline=left)).wait("AwaitToolApproval", "call-1")
    assert wait.any_of[1:] == (TimerWait(seconds),)


def test_a_decided_interrupt_waits_without_a_timer() -> None:
    wait = waiting_flow().wait("AwaitToolApproval", "call-1")
    assert wait == Wait((ChannelWait("InterruptResolutions", "call-1"),))


@pytest.mark.parametrize(
    ("effect", "step"),
    [
        (ToolEffect.IDEMPOTENT_WRITE, "CallTool"),
        (ToolEffect.NON_IDEMPOTENT_WRITE, "CallSingleAttemptTool"),
    ],
)
def test_an_approved_call_goes_to_its_tool_step(effect: ToolEffect, step: str) -> None:
    flow = waiting_flow(effect=effect)
    ran = flow.run("AwaitToolApproval", "call-1", results={RESOLUTIONS: [resolution(True)]})
    assert ran.next_steps == [(step, "call-1")]
    assert flow.call().status is ToolCallStatus.APPROVED
    assert ran.published == []
    assert [(name, payload["approved"]) for name, payload in ran.events] == [
        ("interrupt_resolved", True)
    ]


def test_a_refused_call_is_rejected_and_reported_once() -> None:
    flow = waiting_flow()
    answer = resolution(False, rejection_message="too much")
    ran = flow.run("AwaitToolApproval", "call-1", results={RESOLUTIONS: [answer]})
    assert ran.plan.decision == DEAD_END
    assert flow.call().status is ToolCallStatus.REJECTED
    assert flow.call().rejection_message == "too much"
    assert [name for name, _ in ran.events] == ["interrupt_resolved", "tool_call_finished"]
    assert ran.events[0][1]["rejection_message"] == "too much"
    assert ran.published == [
        ("ToolCallResults", None, {"tool_call_id": "call-1", "turn_id": "turn-1"})
    ]


def test_a_passed_deadline_rejects_and_takes_the_interrupt_away() -> None:
    other = interrupt("b")
    flow = waiting_flow(interrupt(deadline=MINUTE), other)
    flow.now += MINUTE
    ran = flow.run("AwaitToolApproval", "call-1", timers=[0])
    assert ran.plan.decision == DEAD_END
    assert flow.call().rejection_message == "approval deadline passed"
    assert flow.read(PENDING_INTERRUPTS) == (other,)
    assert ran.published[0][0] == "ToolCallResults"
    assert ran.events[0][1]["approved"] is False


def test_a_timer_before_the_deadline_waits_again() -> None:
    flow = waiting_flow(interrupt(deadline=MINUTE))
    ran = flow.run("AwaitToolApproval", "call-1", timers=[0])
    assert ran.next_steps == [("AwaitToolApproval", "call-1")]
    assert ran.writes.is_empty


def test_a_decision_just_before_the_timer_wins() -> None:
    # resolve_interrupt took the interrupt away; its answer waits in the Channel.
    flow = waiting_flow()
    flow.now += MINUTE
    ran = flow.run("AwaitToolApproval", "call-1", timers=[0])
    assert ran.next_steps == [("AwaitToolApproval", "call-1")]
    ran = flow.run("AwaitToolApproval", "call-1", results={RESOLUTIONS: [resolution(True)]})
    assert ran.next_steps == [("CallSingleAttemptTool", "call-1")]


def test_a_decision_on_an_earlier_turns_call_of_the_same_id_is_ignored() -> None:
    flow = waiting_flow(interrupt())
    stale = resolution(True, turn_id="turn-0")
    ran = flow.run("AwaitToolApproval", "call-1", results={RESOLUTIONS: [stale]})
    assert ran.next_steps == [("AwaitToolApproval", "call-1")]
    assert ran.writes.is_empty


@pytest.mark.parametrize("call_id", ["call-1", "gone"])
def test_an_approval_of_a_call_that_is_over_ends(call_id: str) -> None:
    flow = waiting_flow().put_calls(tool_call(status=ToolCallStatus.REJECTED))
    ran = flow.run(
        "AwaitToolApproval",
        call_id,
        results={("InterruptResolutions", call_id): [resolution(True)]},
    )
    assert ran.plan == StepPlan(DEAD_END)
    assert ran.writes.is_empty


def test_the_approval_the_resume_and_the_failure_hold_the_interrupt_lock() -> None:
    steps = Flow().session.steps
    holders = {
        name for name, step in steps.items() if "PendingInterrupts" in step.options.execute_locks
    }
    assert holders == {"AwaitToolApproval", "ResumeTurn", "RecordTurnFailure"}
    assert Flow().session.rpcs["resolve_interrupt"].locks == ("PendingInterrupts",)


def test_a_turn_waits_for_as_many_results_as_it_has_calls() -> None:
    assert Flow().wait("ResumeTurn", "3") == Wait(
        (ChannelWait("ToolCallResults", at_least=3, at_most=3),)
    )


def completed(call_id: str) -> ToolCallCompleted:
    return ToolCallCompleted(tool_call_id=call_id, turn_id="turn-1")


def test_a_turn_goes_on_once_every_call_is_final() -> None:
    flow = Flow().put(AGENT_STATE, running_state(status=AgentStatus.RUNNING_TOOLS))
    flow.put_calls(
        tool_call("a", status=ToolCallStatus.SUCCEEDED),
        tool_call("b", status=ToolCallStatus.FAILED),
    )
    ran = flow.run("ResumeTurn", "2", results={RESULTS: [completed("a"), completed("b")]})
    assert ran.next_steps == [("RunModel", None)]
    assert flow.state.status is AgentStatus.RUNNING_MODEL
    assert not ran.writes.items


def test_a_turn_with_an_open_call_goes_back_to_waiting_for_the_rest() -> None:
    flow = Flow().put(AGENT_STATE, running_state(status=AgentStatus.RUNNING_TOOLS))
    flow.put_calls(
        tool_call("a", status=ToolCallStatus.SUCCEEDED),
        tool_call("b"),
        tool_call("c", status=ToolCallStatus.AWAITING_APPROVAL),
        tool_call("old", turn_id="turn-0"),
    )
    ran = flow.run("ResumeTurn", "3", results={RESULTS: [completed("x"), completed("a")]})
    assert ran.next_steps == [("ResumeTurn", "2")]
    assert ran.writes.is_empty


def test_a_turn_that_has_ended_is_not_resumed() -> None:
    flow = Flow().put(AGENT_STATE, AgentState())
    assert flow.run("ResumeTurn", "1").plan == StepPlan(DEAD_END)


@pytest.mark.parametrize(
    "step", ["AwaitToolApproval", "CallTool", "CallSingleAttemptTool", "RecordToolFailure"]
)
def test_case_c26_a_record_that_cannot_be_read_ends_the_turn_with_its_key(step: str) -> None:
    flow = waiting_flow(interrupt("bad"))
    flow.put_calls(tool_call(status=ToolCallStatus.SUCCEEDED, output="7"))
    flow.maps["AgentToolCalls"]["bad"] = '{"tool_call_id":"bad"}'
    ran = flow.run(step, "bad")
    assert ran.plan == StepPlan(DEAD_END)
    assert [result["tool_call_id"] for _, _, result in ran.published] == ["bad"]
    resumed = flow.run(
        "ResumeTurn", "2", results={RESULTS: [completed("call-1"), completed("bad")]}
    )
    assert resumed.next_steps == [("RecordTurnFailure", None)]
    assert flow.run("RecordTurnFailure").next_steps == [("AwaitUserMessage", None)]
    assert flow.state.last_turn_error == "AgentToolCalls/bad: AgentToolCall.turn_id: is missing"
    assert flow.read(PENDING_INTERRUPTS) == ()
