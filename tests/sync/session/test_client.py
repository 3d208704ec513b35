# twin: generated from tests/aio/session/test_client.py by tools/twin; do not edit.
"""The client asks its engine exactly what it should, and refuses what cannot work."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from dex_agents.model.requests import AgentMessagesPage, AgentSnapshot
from dex_agents.model.state import AgentState
from dex_agents_sync.session.agent_session import AgentSession
from dex_agents_sync.session.client import AGENT_SESSION_ACTIVE_STEP_SEARCH_MODE, AgentSessionClient
from dex_agents.session.flow_values import ActiveStepSearchMode
from dex_agents.session.ports import MapLoad
from tests.sync.session.calls_support import ScriptedRunner

SESSION = AgentSession(ScriptedRunner(), flow_type="Support")


@dataclass
class RecordingClient:
    """Answer every RPC with the same text."""

    answer: str = "true"
    asked: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])

    def start_flow(
        self, session: AgentSession, flow_id: str, start_input: str, **options: Any
    ) -> str:
        self.asked.append((session, flow_id, start_input, options))
        return "run-1"

    def invoke_rpc(
        self,
        session: AgentSession,
        rpc_name: str,
        flow_id: str,
        rpc_input: str | None = None,
        *,
        lock_wait_seconds: float = 0.0,
        loads: Sequence[MapLoad] = (),
    ) -> str:
        self.asked.append((session, rpc_name, flow_id, rpc_input, lock_wait_seconds))
        return self.answer


def sessions_of(client: Any) -> AgentSessionClient:
    return AgentSessionClient(client, SESSION)


@dataclass
class FlowOfASession:
    session: AgentSession


def test_the_client_knows_its_engine_and_session() -> None:
    client: Any = RecordingClient()
    for session in (SESSION, FlowOfASession(SESSION)):
        sessions = AgentSessionClient(client, session)
        assert sessions.client is client
        assert sessions.session is SESSION


def test_what_is_no_client_or_no_session_is_refused() -> None:
    client: Any = RecordingClient()
    other: Any = object()
    with pytest.raises(TypeError, match="client object has no method 'start_flow'"):
        AgentSessionClient(other, SESSION)
    with pytest.raises(TypeError, match="expected an AgentSession or a Flow of one, not object"):
        AgentSessionClient(client, other)


def test_a_started_session_can_be_found() -> None:
    client = RecordingClient()
    assert sessions_of(client).start_session("s-1", "Hi", request_id="r") == "run-1"
    assert client.asked == [
        (
            SESSION,
            "s-1",
            '{"initial_message":"Hi"}',
            {"request_id": "r", "active_step_search_mode": ActiveStepSearchMode.WITH_WAIT_FOR},
        )
    ]
    assert AGENT_SESSION_ACTIVE_STEP_SEARCH_MODE is ActiveStepSearchMode.WITH_WAIT_FOR


def test_the_search_mode_can_be_chosen() -> None:
    client = RecordingClient()
    mode = ActiveStepSearchMode.DISABLED
    sessions_of(client).start_session("s-1", active_step_search_mode=mode)
    assert client.asked[0][3]["active_step_search_mode"] is mode


def test_a_message_is_sent_and_its_refusal_returned() -> None:
    client = RecordingClient()
    assert sessions_of(client).send_user_message("s-1", "Hi") is True
    assert client.asked == [
        (SESSION, "send_user_message", "s-1", '{"text":"Hi","plan_mode":false}', 0.0)
    ]
    assert sessions_of(RecordingClient("false")).send_user_message("s-1", " ") is False


def test_a_decision_waits_for_the_lock() -> None:
    client = RecordingClient()
    taken = sessions_of(client).resolve_interrupt(
        "s-1", "call-1", approved=False, rejection_message="no"
    )
    assert taken is True
    assert client.asked == [
        (
            SESSION,
            "resolve_interrupt",
            "s-1",
            '{"interrupt_id":"call-1","approved":false,"rejection_message":"no"}',
            5.0,
        )
    ]


def test_snapshot_and_pages_are_read() -> None:
    snapshot = AgentSnapshot(state=AgentState())
    client = RecordingClient(snapshot.to_text())
    assert sessions_of(client).get_agent_snapshot("s-1") == snapshot
    assert client.asked == [(SESSION, "get_agent_snapshot", "s-1", None, 0.0)]
    page = AgentMessagesPage(next_before_sequence=3)
    client = RecordingClient(page.to_text())
    read = sessions_of(client).list_agent_messages("s-1", before_sequence=9, limit=2)
    assert read == page
    assert client.asked[0][3] == '{"before_sequence":9,"limit":2}'


def test_a_session_id_that_cannot_be_stored_is_refused_at_once() -> None:
    client = RecordingClient()
    sessions = sessions_of(client)
    for session_id in ("", "a/b", "$a", "a:b"):
        with pytest.raises(ValueError, match="session_id"):
            sessions.start_session(session_id)
        with pytest.raises(ValueError, match="session_id"):
            sessions.send_user_message(session_id, "Hi")
        with pytest.raises(ValueError, match="session_id"):
            sessions.get_agent_snapshot(session_id)
    assert client.asked == []
