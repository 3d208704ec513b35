# twin: shared
"""A tool Step runs its own call once, records how it ended, and tells the turn exactly once."""

import pytest

from dex_agents.model.options import AgentSessionOptions
from dex_agents.model.tool_calls import ToolCallStatus, ToolEffect
from dex_agents.runner.outcomes import ToolExecutionResult, ToolResultLeftOut
from dex_agents.session.call_values import (
    CallFailed,
    CallReturned,
    ToolCall,
    ToolReportedFailure,
)
from dex_agents.session.definition import CallOutcome
from dex_agents.session.ports import DEAD_END, MapLoad, RecoveryError, StepPlan
from dex_agents.session.schema import AGENT_STATE
from tests.shared.session.flows import Flow, Ran, running_state, session_of, tool_call

TOOL_STEPS = ["CallTool", "CallSingleAttemptTool"]
RECOVERY_STEPS = ["RecordToolFailure", "RecordToolOutcomeUnknown"]
FINAL = [status for status in ToolCallStatus if status.is_final]
NOT_STARTED = RecoveryError("no Worker took it", "dex_agents.engine.NotStarted")


def flow_with(effect: ToolEffect = ToolEffect.READ, limit: int = 1000) -> Flow:
    options = AgentSessionOptions(max_tool_result_bytes=limit)
    flow = Flow(session_of(options=options)).put(AGENT_STATE, running_state())
    return flow.put_calls(tool_call(effect=effect), tool_call("other"))


def assert_finished_once(ran: Ran, status: str) -> None:
    assert ran.plan.decision == DEAD_END
    assert ran.events == [
        (
            "tool_call_finished",
            {"tool_call_id": "call-1", "tool_name": "lookup", "status": status},
        )
    ]
    assert ran.published == [
        ("ToolCallResults", None, {"tool_call_id": "call-1", "turn_id": "turn-1"})
    ]
    assert list(ran.writes.items) == [("AgentToolCalls", "call-1")]
    assert not ran.writes.attributes


@pytest.mark.parametrize("step", [*TOOL_STEPS, *RECOVERY_STEPS, "AwaitToolApproval"])
def test_a_call_loads_only_its_own_record(step: str) -> None:
    definition = session_of().steps[step]
    assert tuple(definition.execute_loads("call-1")) == (MapLoad("AgentToolCalls", "call-1"),)
    assert not definition.wait_for_loads("call-1")


@pytest.mark.parametrize("step", TOOL_STEPS)
def test_the_call_carries_what_the_tool_needs(step: str) -> None:
    call = flow_with().prepare(step, "call-1", attempt=2, checkpoint="job-9")
    assert isinstance(call, ToolCall)
    assert call.record == tool_call()
    assert call.idempotency_key == "s-1/turn-1/call-1"
    assert (call.flow_id, call.heartbeat_checkpoint) == ("s-1", "job-9")
    assert (call.source.turn_id, call.source.step_execution_id, call.source.attempt) == (
        "turn-1",
        f"{step}-1",
        2,
    )


@pytest.mark.parametrize("status", FINAL)
@pytest.mark.parametrize("step", [*TOOL_STEPS, *RECOVERY_STEPS])
def test_a_call_that_is_over_ends_without_running_or_publishing(
    step: str, status: ToolCallStatus
) -> None:
    flow = flow_with().put_calls(tool_call(status=status))
    ran = flow.run(step, "call-1", recovery=NOT_STARTED)
    assert ran.plan == StepPlan(DEAD_END)
    assert ran.writes.is_empty


@pytest.mark.parametrize("step", [*TOOL_STEPS, *RECOVERY_STEPS])
def test_a_call_that_its_turn_no_longer_has_ends(step: str) -> None:
    ran = flow_with().run(step, "gone")
    assert ran.plan == StepPlan(DEAD_END)
    assert ran.writes.is_empty


def test_a_result_is_recorded_as_it_is() -> None:
    flow = flow_with()
    ran = flow.run("CallTool", "call-1", outcome=CallReturned(ToolExecutionResult("found ü")))
    assert_finished_once(ran, "succeeded")
    assert flow.call().output == "found ü"


def test_a_failure_that_the_tool_reports_is_no_unknown_outcome() -> None:
    flow = flow_with(ToolEffect.NON_IDEMPOTENT_WRITE)
    ran = flow.run("CallSingleAttemptTool", "call-1", outcome=ToolReportedFailure("no such order"))
    assert_finished_once(ran, "failed")
    assert flow.call().error == "no such order"


@pytest.mark.parametrize("effect", list(ToolEffect))
def test_a_permanent_failure_ends_the_call_by_its_effect(effect: ToolEffect) -> None:
    flow = flow_with(effect)
    ran = flow.run("CallTool", "call-1", outcome=CallFailed("403"))
    assert_finished_once(ran, "failed" if effect is ToolEffect.READ else "outcome_unknown")
    assert flow.call().error == "403"


@pytest.mark.parametrize("effect", list(ToolEffect))
@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (ToolExecutionResult("€" * 400), "it has 1200 bytes and the limit is 1000 bytes"),
        (ToolResultLeftOut("no JSON form"), "no JSON form"),
    ],
)
def test_case_c25_a_result_that_cannot_be_kept_ends_the_call_once(
    effect: ToolEffect, outcome: object, reason: str
) -> None:
    flow = flow_with(effect)
    ran = flow.run("CallTool", "call-1", outcome=CallReturned(outcome))
    record = flow.call()
    if effect is ToolEffect.READ:
        assert_finished_once(ran, "failed")
        assert record.error == f"tool lookup: the result was left out: {reason}"
        assert record.output is None
    else:
        assert_finished_once(ran, "succeeded")
        assert record.output == f"Tool lookup ran to its end. Its result was left out: {reason}"
        assert record.error is None


def test_a_result_of_exactly_the_limit_is_kept() -> None:
    flow = flow_with(limit=300)
    flow.run("CallTool", "call-1", outcome=CallReturned(ToolExecutionResult("€" * 100)))
    assert flow.call().output == "€" * 100


# A result without text is what is tested.
@pytest.mark.parametrize("value", [None, "text", ToolExecutionResult({})])  # type: ignore[arg-type]
@pytest.mark.parametrize("effect", [ToolEffect.READ, ToolEffect.UNCLASSIFIED])
def test_an_invalid_result_ends_the_call_by_its_effect(value: object, effect: ToolEffect) -> None:
    flow = flow_with(effect)
    ran = flow.run("CallTool", "call-1", outcome=CallReturned(value))
    assert_finished_once(ran, "failed" if effect is ToolEffect.READ else "outcome_unknown")
    assert "must be a ToolExecutionResult with text" in (flow.call().error or "")


def test_a_result_and_an_error_are_stored_as_valid_text() -> None:
    flow = flow_with()
    flow.run("CallTool", "call-1", outcome=CallReturned(ToolExecutionResult("a\ud800")))
    assert flow.call().output == "a�"
    flow = flow_with()
    flow.run("CallTool", "call-1", outcome=ToolReportedFailure("\ud800" * 10_000))
    assert len((flow.call().error or "").encode()) <= 4096


def test_an_outcome_of_nothing_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="cannot settle"):
        flow_with().run("CallTool", "call-1", outcome=CallOutcome())


@pytest.mark.parametrize("effect", list(ToolEffect))
def test_a_call_that_used_up_its_attempts_ends_by_its_effect(effect: ToolEffect) -> None:
    flow = flow_with(effect)
    ran = flow.run("RecordToolFailure", "call-1", recovery=RecoveryError("timed out", "Timeout"))
    assert_finished_once(ran, "failed" if effect is ToolEffect.READ else "outcome_unknown")
    assert flow.call().error == "timed out"


def test_a_single_attempt_that_did_not_complete_has_an_unknown_outcome() -> None:
    flow = flow_with(ToolEffect.NON_IDEMPOTENT_WRITE)
    ran = flow.run(
        "RecordToolOutcomeUnknown", "call-1", recovery=RecoveryError("process died", "Disconnect")
    )
    assert_finished_once(ran, "outcome_unknown")
    assert flow.call().error == "process died"


@pytest.mark.parametrize("step", RECOVERY_STEPS)
@pytest.mark.parametrize(
    "recovery",
    [NOT_STARTED, RecoveryError("no Worker took it", "Timeout", attempt_progress="NOT_STARTED")],
)
def test_a_tool_that_provably_never_ran_may_be_called_again(
    step: str, recovery: RecoveryError
) -> None:
    flow = flow_with(ToolEffect.NON_IDEMPOTENT_WRITE)
    ran = flow.run(step, "call-1", recovery=recovery)
    assert_finished_once(ran, "failed")
    assert flow.call().error == (
        "the tool did not run, so it is safe to call again: no Worker took it"
    )


@pytest.mark.parametrize(
    "recovery",
    [
        RecoveryError("lost", "Timeout", attempt_progress="NOT_COMPLETED"),
        RecoveryError("lost", "Timeout"),
    ],
)
def test_without_proof_the_tool_may_have_run(recovery: RecoveryError) -> None:
    flow = flow_with(ToolEffect.NON_IDEMPOTENT_WRITE)
    ran = flow.run("RecordToolOutcomeUnknown", "call-1", recovery=recovery)
    assert_finished_once(ran, "outcome_unknown")


@pytest.mark.parametrize(
    ("recovery", "error"),
    [(None, "the call did not complete"), (RecoveryError("", "Heartbeat"), "Heartbeat")],
)
def test_a_recovery_without_words_still_has_an_error(
    recovery: RecoveryError | None, error: str
) -> None:
    flow = flow_with()
    flow.run("RecordToolFailure", "call-1", recovery=recovery)
    assert flow.call().error == error
