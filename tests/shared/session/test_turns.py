# twin: shared
"""Turns begin with a message that says something, and a failed one ends cleanly."""

import logging
from collections.abc import Sequence

import pytest

from dex_agents.model.interrupts import AgentInterrupt, InterruptKind
from dex_agents.model.messages import FrameworkMessage, MessageRole, TurnReplySequence
from dex_agents.model.state import (
    AgentSessionStartInput,
    AgentState,
    AgentStatus,
    AgentUsage,
    AgentUserMessage,
)
from dex_agents.model.tool_calls import ToolCallStatus, ToolEffect
from dex_agents.runner.turn_values import AgentTurn
from dex_agents.session.message_window import append_messages
from dex_agents.session.ports import ChannelWait, RecoveryError, Wait
from dex_agents.session.schema import (
    AGENT_STATE,
    AGENT_TOOL_CALLS,
    AGENT_USAGE,
    FRAMEWORK_RUN_STATE,
    PENDING_INTERRUPTS,
    TURN_REPLY_SEQUENCE,
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

QUEUED = ("QueuedUserMessages", None)


def started(initial_message: str = "") -> Flow:
    flow = Flow()
    start = AgentSessionStartInput(initial_message=initial_message)
    flow.run("StartAgentSession", start.to_text())
    return flow


def test_a_session_starts_with_everything_initialized() -> None:
    flow = Flow()
    ran = flow.run("StartAgentSession", AgentSessionStartInput().to_text())
    assert ran.next_steps == [("AwaitUserMessage", None)]
    assert ran.events == []
    assert flow.state == AgentState()
    assert flow.read(AGENT_USAGE) == AgentUsage()
    assert flow.read(PENDING_INTERRUPTS) == ()


@pytest.mark.parametrize("blank", ["", "  ", "\n\t"])
def test_a_blank_first_message_starts_no_turn(blank: str) -> None:
    flow = started(blank)
    assert flow.state.turn_number == 0
    assert flow.message_texts == []


def test_a_first_message_starts_the_first_turn() -> None:
    flow = Flow()
    ran = flow.run("StartAgentSession", AgentSessionStartInput(initial_message="Hi").to_text())
    assert ran.next_steps == [("RunModel", None)]
    assert ran.events == [("turn_started", {"sequence": 1})]
    assert flow.state == AgentState(
        status=AgentStatus.RUNNING_MODEL,
        active_turn_id="turn-1",
        turn_number=1,
        last_message_sequence=1,
    )
    assert flow.message_texts == [("user", "Hi")]
    assert flow.read(TURN_REPLY_SEQUENCE) == TurnReplySequence(turn_id="turn-1", sequence=2)


def test_waiting_for_a_message_reads_the_window_only_and_takes_one() -> None:
    flow = Flow()
    assert flow.wait("AwaitUserMessage") == Wait((ChannelWait("QueuedUserMessages"),))
    definition = flow.session.steps["AwaitUserMessage"]
    assert not definition.wait_for_loads(None)
    assert definition.execute_loads(None) == WINDOW_LOADS


def test_a_queued_message_starts_the_next_turn() -> None:
    flow = started("Hi")
    flow.put(AGENT_STATE, AgentState(turn_number=1, last_message_sequence=1, last_turn_error="x"))
    ran = flow.run("AwaitUserMessage", results={QUEUED: [AgentUserMessage(text="again")]})
    assert ran.next_steps == [("RunModel", None)]
    assert ran.events == [("turn_started", {"sequence": 2})]
    assert (flow.state.active_turn_id, flow.state.last_turn_error) == ("turn-2", "x")
    assert flow.message_texts == [("user", "Hi"), ("user", "again")]


@pytest.mark.parametrize("results", [{}, {QUEUED: [AgentUserMessage(text=" ")]}])
def test_nothing_to_say_waits_again(
    results: dict[tuple[str, None], list[AgentUserMessage]],
) -> None:
    ran = started().run("AwaitUserMessage", results=results)
    assert ran.next_steps == [("AwaitUserMessage", None)]
    assert ran.writes.is_empty


def test_storing_a_message_writes_that_message_only() -> None:
    flow = started("Hi")
    ran = flow.run("AwaitUserMessage", results={QUEUED: [AgentUserMessage(text="again")]})
    assert list(ran.writes.items) == [("AgentMessages", "000000000002")]


class WrongRoleRunner(PlainRunner):
    def build_user_message(self, text: str) -> FrameworkMessage:
        return message(text, MessageRole.ASSISTANT)


class RaisingRunner(PlainRunner):
    def build_user_message(self, text: str) -> FrameworkMessage:
        raise KeyError("template")


@pytest.mark.parametrize(
    ("runner", "error"),
    [
        (WrongRoleRunner(), "build_user_message returned a message with role"),
        (RaisingRunner(), "build_user_message raised KeyError: 'template'"),
    ],
)
def test_a_runner_that_builds_no_user_message_ends_the_turn_at_once(
    runner: PlainRunner, error: str
) -> None:
    flow = Flow(session_of(runner))
    ran = flow.run("StartAgentSession", AgentSessionStartInput(initial_message="Hi").to_text())
    assert ran.next_steps == [("RecordTurnFailure", None)]
    ended = flow.run("RecordTurnFailure")
    assert ended.next_steps == [("AwaitUserMessage", None)]
    assert error in (flow.state.last_turn_error or "")
    assert flow.state.status is AgentStatus.WAITING_FOR_USER_MESSAGE


def failed_turn(runner: PlainRunner | None = None) -> Flow:
    flow = Flow(session_of(runner))
    flow.put(AGENT_STATE, running_state())
    flow.put(FRAMEWORK_RUN_STATE, "state")
    io = flow.io("test", WINDOW_LOADS)
    state = append_messages(
        session_of(), io, running_state(), "turn-1", [message("Hi", MessageRole.USER)]
    )
    flow.store(io.writes)
    return flow.put(AGENT_STATE, state)


RECOVERY = RecoveryError("RuntimeError: no network", "RuntimeError")


def test_a_failed_turn_without_tool_calls_leaves_no_note() -> None:
    flow = failed_turn()
    ran = flow.run("RecordTurnFailure", recovery=RECOVERY)
    assert ran.next_steps == [("AwaitUserMessage", None)]
    assert ran.events == [("turn_failed", {"error": "RuntimeError: no network"})]
    assert flow.state == AgentState(
        turn_number=1, last_message_sequence=1, last_turn_error="RuntimeError: no network"
    )
    assert flow.read(FRAMEWORK_RUN_STATE) is None
    assert flow.message_texts == [("user", "Hi")]


def test_a_failed_turn_that_ran_tools_leaves_a_note_in_the_models_order() -> None:
    flow = failed_turn().put_calls(
        tool_call("b", deferral_order=0, status=ToolCallStatus.SUCCEEDED, output="7 found"),
        tool_call(
            "a",
            deferral_order=1,
            tool_name="refund",
            effect=ToolEffect.NON_IDEMPOTENT_WRITE,
            status=ToolCallStatus.OUTCOME_UNKNOWN,
            error="the process died",
        ),
    )
    flow.run("RecordTurnFailure", recovery=RECOVERY)
    assert flow.items(AGENT_TOOL_CALLS) == {}
    role, note = flow.message_texts[-1]
    assert role == "user"
    assert note.splitlines() == [
        "[Dex] The previous turn failed after these tool calls ran:",
        '- lookup {"id":7} -> succeeded: 7 found',
        '- refund {"id":7} -> outcome_unknown: It is unknown whether the tool took effect; '
        "it was not run again: the process died",
        "Do not repeat these tool calls unless the user asks again.",
    ]


def test_a_failed_turn_of_a_storing_runner_gets_its_results_before_the_note() -> None:
    flow = failed_turn(StoringRunner())
    flow.put_calls(tool_call(status=ToolCallStatus.SUCCEEDED, output="7"))
    flow.run("RecordTurnFailure", recovery=RECOVERY)
    texts = flow.message_texts
    assert texts[:2] == [("user", "Hi"), ("tool", "result of call-1")]
    assert texts[2][1].startswith("[Dex] The previous turn failed")


class UselessRunner(PlainRunner):
    def __init__(self, answer: object) -> None:
        self.answer = answer

    def build_unfinished_turn_messages(self, turn: AgentTurn) -> Sequence[FrameworkMessage]:
        if isinstance(self.answer, Exception):
            raise self.answer
        # A faulty runner, on purpose.
        return self.answer  # type: ignore[return-value]


@pytest.mark.parametrize("answer", [None, ["text"], "text", RuntimeError("broken")])
def test_useless_unfinished_turn_messages_are_left_out_with_a_warning(
    answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    flow = failed_turn(UselessRunner(answer))
    with caplog.at_level(logging.WARNING, "dex_agents.session"):
        flow.run("RecordTurnFailure", recovery=RECOVERY)
    assert "no unfinished-turn messages" in caplog.text
    assert flow.message_texts == [("user", "Hi")]


def test_a_failed_turn_leaves_no_interrupt_behind() -> None:
    interrupt = AgentInterrupt(
        interrupt_id="call-1",
        tool_call_id="call-1",
        turn_id="turn-1",
        tool_name="refund",
        arguments="{}",
        kind=InterruptKind.APPROVAL,
        created_at=NOW,
    )
    flow = failed_turn().put(PENDING_INTERRUPTS, (interrupt,))
    flow.run("RecordTurnFailure", recovery=RECOVERY)
    assert flow.read(PENDING_INTERRUPTS) == ()


def test_a_failed_turn_ends_even_when_a_record_is_damaged(caplog: pytest.LogCaptureFixture) -> None:
    flow = failed_turn()
    flow.put_calls(tool_call("good", status=ToolCallStatus.SUCCEEDED, output="7"))
    flow.maps["AgentToolCalls"]["bad"] = "{}"
    flow.run("RecordTurnFailure", recovery=RECOVERY)
    assert flow.items(AGENT_TOOL_CALLS) == {}
    assert "lookup" in flow.message_texts[-1][1]
    assert "AgentToolCalls/bad: AgentToolCall.tool_call_id: is missing" in caplog.text


def test_the_error_of_a_turn_keeps_its_limit() -> None:
    flow = failed_turn()
    flow.run("RecordTurnFailure", recovery=RecoveryError("x" * 10_000, "RuntimeError"))
    assert len((flow.state.last_turn_error or "").encode()) == 4096


@pytest.mark.parametrize(
    ("recovery", "error"),
    [
        (RecoveryError("", "StartToClose"), "StartToClose"),
        (None, "the turn failed for an unknown reason"),
    ],
)
def test_a_failure_without_words_still_has_an_error(
    recovery: RecoveryError | None, error: str
) -> None:
    flow = failed_turn()
    flow.run("RecordTurnFailure", recovery=recovery)
    assert flow.state.last_turn_error == error


def test_a_failed_turn_ends_even_when_its_note_cannot_be_built(
    caplog: pytest.LogCaptureFixture,
) -> None:
    flow = failed_turn(RaisingRunner()).put_calls(tool_call(status=ToolCallStatus.SUCCEEDED))
    ran = flow.run("RecordTurnFailure", recovery=RECOVERY)
    assert ran.next_steps == [("AwaitUserMessage", None)]
    assert flow.message_texts == [("user", "Hi")]
    assert "the note on a failed turn could not be stored" in caplog.text
