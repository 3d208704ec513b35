# twin: shared
"""The durable names of state, Steps and RPCs never change; every Step has the promised options."""

from datetime import timedelta

import pytest

from dex_agents.errors import StoredValueError
from dex_agents.model.options import AgentSessionOptions, CallLimit
from dex_agents.session.ports import UNLIMITED_RETRY_SECONDS, MapLoad
from dex_agents.session.schema import (
    AGENT_EVENTS,
    AGENT_STATE,
    ATTRIBUTE_MAPS,
    ATTRIBUTES,
    CHANNEL_MAPS,
    CHANNELS,
    PENDING_INTERRUPTS,
    QUEUED_USER_MESSAGES,
)
from tests.shared.session.flows import Flow, StoringRunner, session_of

CALL_STEPS = {
    "RunModel": (3, 1800.0, "RecordTurnFailure"),
    "CallTool": (3, 3600.0, "RecordToolFailure"),
    "CallSingleAttemptTool": (1, 3600.0, "RecordToolOutcomeUnknown"),
}


def test_the_persistence_names_are_durable() -> None:
    assert {attribute.name for attribute in ATTRIBUTES} == {
        "AgentState",
        "AgentMessageIndex",
        "TurnReplySequence",
        "FrameworkRunState",
        "PendingInterrupts",
        "AgentUsage",
        "TurnCancellationRequest",
        "AgentTraceContext",
        "AgentPlan",
        "PendingPlanExecution",
        "ContextSummary",
        "SessionSettings",
        "TurnSessionSettings",
    }
    assert {one.name for one in ATTRIBUTE_MAPS} == {
        "AgentMessages",
        "AgentMessageChunks",
        "AgentToolCalls",
    }
    assert {one.name for one in CHANNELS} == {
        "QueuedUserMessages",
        "ToolCallResults",
        "SteeredUserMessages",
        "TurnControlRequests",
    }
    assert {one.name for one in CHANNEL_MAPS} == {
        "InterruptResolutions",
        "ToolCallCancellations",
        "PlanExecutions",
    }
    assert AGENT_EVENTS.name == "AgentEvents"


def test_the_step_and_rpc_names_are_durable() -> None:
    session = session_of()
    assert set(session.steps) == {
        "StartAgentSession",
        "AwaitUserMessage",
        "RunModel",
        "AwaitToolApproval",
        "CallTool",
        "CallSingleAttemptTool",
        "ResumeTurn",
        "RecordTurnFailure",
        "RecordToolFailure",
        "RecordToolOutcomeUnknown",
    }
    assert all(name == step.name for name, step in session.steps.items())
    assert set(session.rpcs) == {
        "send_user_message",
        "resolve_interrupt",
        "get_agent_snapshot",
        "list_agent_messages",
        "read_message_chunks",
    }
    assert session.start_step == "StartAgentSession"


@pytest.mark.parametrize("name", sorted(session_of().steps))
def test_every_step_has_its_attempts_timeouts_and_failure_route(name: str) -> None:
    step = session_of().steps[name]
    options, retry = step.options, step.options.execute_retry
    assert (step.settle is not None) == (name in CALL_STEPS)
    if name in CALL_STEPS:
        attempts, budget, failure_step = CALL_STEPS[name]
        assert (retry.maximum_attempts, retry.total_duration_seconds) == (attempts, budget)
        assert (options.execute_timeout_seconds, options.heartbeat_timeout_seconds) == (900, 120)
        assert options.failure_step == failure_step
    else:
        assert (retry.maximum_attempts, retry.total_duration_seconds) == (
            0,
            UNLIMITED_RETRY_SECONDS,
        )
        assert options.execute_timeout_seconds == 60
        assert options.failure_step is None


def test_only_waiting_steps_wait() -> None:
    waiting = {name for name, step in session_of().steps.items() if step.wait_for is not None}
    assert waiting == {"AwaitUserMessage", "AwaitToolApproval", "ResumeTurn"}


def test_the_limits_of_calls_are_options() -> None:
    second = timedelta(seconds=1)
    limit = CallLimit(
        timeout=second, heartbeat_timeout=2 * second, maximum_attempts=5, total_duration=9 * second
    )
    options = AgentSessionOptions(run_model_limit=limit, tool_call_limit=limit)
    steps = session_of(options=options).steps
    for name, attempts in (("RunModel", 5), ("CallTool", 5), ("CallSingleAttemptTool", 1)):
        step = steps[name].options
        assert (step.execute_timeout_seconds, step.heartbeat_timeout_seconds) == (1.0, 2.0)
        assert step.execute_retry.maximum_attempts == attempts
        assert step.execute_retry.total_duration_seconds == 9.0


def test_a_failure_step_is_a_step_of_the_table() -> None:
    steps = session_of().steps
    routes = {step.options.failure_step for step in steps.values()} - {None}
    assert routes <= set(steps)


def test_only_what_stores_messages_loads_the_window() -> None:
    steps = session_of(StoringRunner()).steps
    window, chunks = MapLoad("AgentMessages"), MapLoad("AgentMessageChunks")
    assert {name for name, step in steps.items() if window in step.execute_loads("x")} == {
        "StartAgentSession",
        "AwaitUserMessage",
        "RunModel",
        "RecordTurnFailure",
    }
    assert {name for name, step in steps.items() if chunks in step.execute_loads("x")} == {
        "RunModel"
    }


def test_only_the_rpcs_that_write_are_transactional() -> None:
    rpcs = session_of().rpcs
    assert {name for name, rpc in rpcs.items() if rpc.is_transactional} == {
        "send_user_message",
        "resolve_interrupt",
    }


def test_damaged_state_names_its_record() -> None:
    flow = Flow(attributes={"AgentState": "{", "PendingInterrupts": "{}"})
    io = flow.io("test", ())
    with pytest.raises(StoredValueError, match="AgentState: AgentState: not valid JSON"):
        AGENT_STATE.get(io)
    with pytest.raises(StoredValueError, match="PendingInterrupts: list of AgentInterrupt: exp"):
        PENDING_INTERRUPTS.get(io)


def test_typed_channels_count_and_typed_attributes_delete() -> None:
    io = Flow(attributes={"AgentState": "{}"}).io("test", ())
    assert QUEUED_USER_MESSAGES.size(io) == 0
    AGENT_STATE.delete(io)
    assert io.writes.attributes == {"AgentState": None}
