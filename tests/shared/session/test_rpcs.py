# twin: shared
"""The RPCs take what they should, refuse the rest without a trace, and read what is stored."""

from datetime import timedelta

import pytest

from dex_agents.errors import StoredValueError
from dex_agents.model.interrupts import AgentInterrupt, InterruptKind
from dex_agents.model.messages import MessageRole
from dex_agents.model.requests import (
    AgentMessagesPage,
    AgentSnapshot,
    ListAgentMessagesRequest,
    ResolveInterruptRequest,
)
from dex_agents.model.state import AgentState, AgentUsage, AgentUserMessage
from dex_agents.model.tool_calls import ToolCallStatus
from dex_agents.session.message_window import append_messages
from dex_agents.session.ports import PendingMessage
from dex_agents.session.schema import AGENT_STATE, AGENT_USAGE, PENDING_INTERRUPTS
from dex_agents.session.stored_messages import WINDOW_LOADS
from tests.shared.session.flows import (
    MINUTE,
    NOW,
    Flow,
    message,
    running_state,
    session_of,
    tool_call,
)


def interrupt(
    interrupt_id: str,
    deadline: timedelta | None = None,
    kind: InterruptKind = InterruptKind.APPROVAL,
) -> AgentInterrupt:
    return AgentInterrupt(
        interrupt_id=interrupt_id,
        tool_call_id=interrupt_id,
        turn_id="turn-1",
        tool_name="refund",
        arguments="{}",
        kind=kind,
        created_at=NOW,
        deadline=None if deadline is None else NOW + deadline,
    )


def answer(
    interrupt_id: str, approved: bool, message: str | None = None
) -> ResolveInterruptRequest:
    return ResolveInterruptRequest(
        interrupt_id=interrupt_id, approved=approved, rejection_message=message
    )


def test_a_message_is_queued() -> None:
    taken, ran = Flow().rpc("send_user_message", AgentUserMessage(text="Hi ü"))
    assert taken is True
    assert ran.published == [("QueuedUserMessages", None, {"text": "Hi ü", "plan_mode": False})]
    assert not ran.writes.attributes


@pytest.mark.parametrize(
    "refused", [AgentUserMessage(text=" \n"), AgentUserMessage(text="plan", plan_mode=True)]
)
def test_a_blank_message_and_plan_mode_are_refused(refused: AgentUserMessage) -> None:
    taken, ran = Flow().rpc("send_user_message", refused)
    assert taken is False
    assert ran.writes.is_empty


def test_a_request_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(StoredValueError, match=r"AgentUserMessage\.text: is missing"):
        Flow().rpc("send_user_message")


def test_a_decision_takes_the_interrupt_away_and_publishes_in_one_commit() -> None:
    flow = Flow().put(PENDING_INTERRUPTS, (interrupt("a"), interrupt("b")))
    taken, ran = flow.rpc("resolve_interrupt", answer("a", False, " too much "))
    assert taken is True
    assert [one.interrupt_id for one in flow.read(PENDING_INTERRUPTS)] == ["b"]
    resolution = {
        "interrupt_id": "a",
        "turn_id": "turn-1",
        "approved": False,
        "rejection_message": "too much",
    }
    assert ran.published == [("InterruptResolutions", "a", resolution)]


@pytest.mark.parametrize("text", [None, "", "  "])
def test_a_blank_refusal_has_no_message(text: str | None) -> None:
    flow = Flow().put(PENDING_INTERRUPTS, (interrupt("a"),))
    _, ran = flow.rpc("resolve_interrupt", answer("a", False, text))
    assert "rejection_message" not in ran.published[0][2]


def test_an_approval_drops_the_message() -> None:
    flow = Flow().put(PENDING_INTERRUPTS, (interrupt("a"),))
    _, ran = flow.rpc("resolve_interrupt", answer("a", True, "but only once"))
    assert ran.published[0][2] == {"interrupt_id": "a", "turn_id": "turn-1", "approved": True}


@pytest.mark.parametrize(
    ("pending", "interrupt_id", "later"),
    [
        ((), "a", timedelta(0)),
        ((interrupt("a"),), "b", timedelta(0)),
        ((interrupt("a", MINUTE),), "a", MINUTE),
        ((interrupt("a", kind=InterruptKind.QUESTION),), "a", timedelta(0)),
    ],
)
def test_a_decision_that_cannot_count_changes_nothing(
    pending: tuple[AgentInterrupt, ...], interrupt_id: str, later: timedelta
) -> None:
    flow = Flow(now=NOW + later).put(PENDING_INTERRUPTS, pending)
    taken, ran = flow.rpc("resolve_interrupt", answer(interrupt_id, True))
    assert taken is False
    assert ran.writes.is_empty


def test_a_second_decision_does_not_count() -> None:
    flow = Flow().put(PENDING_INTERRUPTS, (interrupt("a", MINUTE),))
    answers = [
        flow.rpc("resolve_interrupt", answer("a", approved))[0] for approved in (True, False)
    ]
    assert answers == [True, False]


def stored(count: int) -> Flow:
    flow = Flow()
    io = flow.io("test", WINDOW_LOADS)
    texts = [message(str(number), MessageRole.USER) for number in range(1, count + 1)]
    state = append_messages(session_of(), io, running_state(), "turn-1", texts)
    flow.store(io.writes)
    return flow.put(AGENT_STATE, state)


def test_a_session_that_has_not_initialized_has_no_state() -> None:
    flow = Flow()
    flow.pending["QueuedUserMessages", None] = [
        PendingMessage("m-1", AgentUserMessage(text="early").to_text())
    ]
    output, _ = flow.rpc("get_agent_snapshot")
    snapshot = AgentSnapshot.from_json(output)
    assert (snapshot.state, snapshot.messages, snapshot.usage) == (None, (), AgentUsage())
    assert snapshot.queued_message_count == 1
    assert snapshot.queued_messages[0].message_id == "m-1"
    assert snapshot.queued_messages[0].text == "early"


def test_a_snapshot_shows_everything_of_the_running_turn() -> None:
    flow = stored(250).put(AGENT_USAGE, AgentUsage(model_calls=3))
    flow.put(PENDING_INTERRUPTS, (interrupt("b"),)).put_calls(
        tool_call("a", deferral_order=1),
        tool_call("b", deferral_order=0, status=ToolCallStatus.AWAITING_APPROVAL),
        tool_call("old", turn_id="turn-0"),
    )
    output, ran = flow.rpc("get_agent_snapshot")
    snapshot = AgentSnapshot.from_json(output)
    assert snapshot.state == flow.state
    assert [one.sequence for one in snapshot.messages] == list(range(51, 251))
    assert [record.tool_call_id for record in snapshot.tool_calls] == ["b", "a"]
    assert [one.interrupt_id for one in snapshot.pending_interrupts] == ["b"]
    assert snapshot.usage == AgentUsage(model_calls=3)
    assert ran.writes.is_empty


def test_between_turns_a_snapshot_shows_no_tool_calls() -> None:
    flow = stored(1).put(AGENT_STATE, AgentState(last_message_sequence=1)).put_calls(tool_call())
    output, _ = flow.rpc("get_agent_snapshot")
    assert AgentSnapshot.from_json(output).tool_calls == ()


def page(flow: Flow, before: int | None, limit: int) -> tuple[list[int], int | None]:
    request = ListAgentMessagesRequest(before_sequence=before, limit=limit)
    output, ran = flow.rpc("list_agent_messages", request)
    assert ran.writes.is_empty
    read = AgentMessagesPage.from_json(output)
    assert read.deleted_before_sequence is None
    return [one.sequence for one in read.messages], read.next_before_sequence


def test_pages_go_back_to_the_first_message() -> None:
    flow = stored(5)
    assert page(flow, None, 2) == ([4, 5], 4)
    assert page(flow, 4, 2) == ([2, 3], 2)
    assert page(flow, 2, 2) == ([1], None)
    assert page(flow, 1, 2) == ([], None)
    assert page(flow, None, 5) == ([1, 2, 3, 4, 5], None)
    assert page(flow, 99, 2) == ([4, 5], 4)
    assert page(Flow(), None, 5) == ([], None)


@pytest.mark.parametrize(("limit", "count"), [(-5, 1), (0, 1), (1, 1), (200, 200), (1000, 200)])
def test_a_page_holds_one_to_two_hundred_messages(limit: int, count: int) -> None:
    assert len(page(stored(250), None, limit)[0]) == count
