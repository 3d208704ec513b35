# twin: generated from src/dex_agents/session/client.py by tools/twin; do not edit.
"""The client of sessions: start one, talk to it, decide what it asks, read it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from dex_agents.model.keys import check_durable_name
from dex_agents.model.limits import MAX_LOAD_BYTES
from dex_agents.model.requests import (
    SNAPSHOT_MESSAGES,
    AgentMessagesPage,
    AgentSnapshot,
    ListAgentMessagesRequest,
    ResolveInterruptRequest,
)
from dex_agents.model.state import AgentSessionStartInput, AgentUserMessage
from dex_agents.model.wire import WireValue
from dex_agents_sync.session.client_port import ClientPort
from dex_agents_sync.session.client_ports import as_client_port
from dex_agents.session.definition import SessionDefinition
from dex_agents.session.flow_values import ActiveStepSearchMode
from dex_agents.session.ports import MapLoad
from dex_agents.session.step_names import (
    GET_AGENT_SNAPSHOT,
    LIST_AGENT_MESSAGES,
    READ_MESSAGE_CHUNKS,
    RESOLVE_INTERRUPT,
    SEND_USER_MESSAGE,
)
from dex_agents.session.stored_messages import chunk_load, chunks_within

if TYPE_CHECKING:
    from dex_agents_sync.session.client_ports import AnyClient

AGENT_SESSION_ACTIVE_STEP_SEARCH_MODE: Final = ActiveStepSearchMode.WITH_WAIT_FOR
"""Finds sessions by the Steps they wait in, such as `ActiveStepTypes = "AwaitToolApproval"`."""

# Steps hold the lock of the pending interrupts for moments only.
_LOCK_WAIT_SECONDS: Final = 5.0


class HasAgentSession(Protocol):
    """A Flow of an engine's SDK that is made of a session."""

    @property
    def session(self) -> SessionDefinition:
        """Return that session."""
        ...


class AgentSessionClient:
    """Talk to the sessions of one agent, on any engine; one object serves all threads and tasks."""

    def __init__(
        self,
        client: "AnyClient",
        session: SessionDefinition | HasAgentSession,
    ) -> None:
        """Use an engine's client for the sessions of an agent.

        Args:
            client: `EmbeddedEngine.client`, or a Client of the `dex` SDK.
            session: The `AgentSession`; for a Client of the SDK, its `AgentSessionFlow`.

        Raises:
            TypeError: The client is made for the other package, or `session` is no session.
        """
        self._session = _session_of(session)
        self._client = as_client_port(client, session)

    @property
    def client(self) -> ClientPort:
        """Return the engine's client."""
        return self._client

    @property
    def session(self) -> SessionDefinition:
        """Return the definition of these sessions."""
        return self._session

    def start_session(
        self,
        session_id: str,
        initial_message: str = "",
        *,
        request_id: str | None = None,
        active_step_search_mode: ActiveStepSearchMode = AGENT_SESSION_ACTIVE_STEP_SEARCH_MODE,
    ) -> str:
        """Start a session and return its run ID; a blank message starts no turn yet.

        Args:
            session_id: Names the session for good. Without `/`, `$`, `:`.
            initial_message: What the user says first.
            request_id: Makes a repeated call return the run that the first one started.
            active_step_search_mode: Which of its Steps a search finds.

        Raises:
            ValueError: The session ID cannot be stored.
            dex.FlowAlreadyStartedError: There is a session of this ID already.
        """
        check_durable_name(session_id, "session_id")
        start_input = AgentSessionStartInput(initial_message=initial_message)
        return self._client.start_flow(
            self._session,
            session_id,
            start_input.to_text(),
            request_id=request_id,
            active_step_search_mode=active_step_search_mode,
        )

    def send_user_message(self, session_id: str, text: str) -> bool:
        """Queue a message; it starts a turn once none runs. Return whether it was taken.

        A blank message is refused with `False`.

        Raises:
            dex.FlowNotActiveOrNotFoundError: There is no such session, or it is closed.
        """
        message = AgentUserMessage(text=text)
        return self._ask(session_id, SEND_USER_MESSAGE, message)

    def resolve_interrupt(
        self,
        session_id: str,
        interrupt_id: str,
        *,
        approved: bool,
        rejection_message: str | None = None,
    ) -> bool:
        """Approve or refuse a tool call that waits; return whether this decision counts.

        It does not when the interrupt was decided before, or is past its deadline.

        Args:
            session_id: The session.
            interrupt_id: From the snapshot's `pending_interrupts`.
            approved: The decision.
            rejection_message: What the model reads of a refusal.

        Raises:
            dex.FlowNotActiveOrNotFoundError: There is no such session, or it is closed.
            dex.RpcLockConflictError: A Step decided about interrupts for more than 5 seconds.
        """
        request = ResolveInterruptRequest(
            interrupt_id=interrupt_id, approved=approved, rejection_message=rejection_message
        )
        return self._ask(
            session_id, RESOLVE_INTERRUPT, request, lock_wait_seconds=_LOCK_WAIT_SECONDS
        )

    def get_agent_snapshot(self, session_id: str) -> AgentSnapshot:
        """Return the session as it is, also a closed one.

        Raises:
            dex.FlowNotActiveOrNotFoundError: There is no such session.
        """
        snapshot = AgentSnapshot.from_text(self._invoke(session_id, GET_AGENT_SNAPSHOT))
        if not snapshot.unread_chunks:
            return snapshot
        last = 0 if snapshot.state is None else snapshot.state.last_message_sequence
        page = AgentMessagesPage(messages=snapshot.messages, unread_chunks=snapshot.unread_chunks)
        page = self._completed(session_id, page, last + 1, SNAPSHOT_MESSAGES)
        return replace(snapshot, messages=page.messages, unread_chunks=())

    def list_agent_messages(
        self, session_id: str, *, before_sequence: int | None = None, limit: int = 50
    ) -> AgentMessagesPage:
        """Return stored messages, oldest first: the newest, or those before a sequence.

        Args:
            session_id: The session.
            before_sequence: The `next_before_sequence` of the page after this one.
            limit: How many, from 1 to 200.

        Raises:
            dex.FlowNotActiveOrNotFoundError: There is no such session.
        """
        request = ListAgentMessagesRequest(before_sequence=before_sequence, limit=limit)
        answer = self._invoke(session_id, LIST_AGENT_MESSAGES, request)
        page = AgentMessagesPage.from_text(answer)
        if not page.unread_chunks:
            return page
        # The newest chunk ends where the window begins, and the page may begin before that.
        before = page.unread_chunks[0].last_sequence + 1
        if before_sequence is not None:
            before = min(before, before_sequence)
        return self._completed(session_id, page, before, request.clamped_limit)

    def _completed(
        self, session_id: str, page: AgentMessagesPage, before: int, count: int
    ) -> AgentMessagesPage:
        """Read the rest of a page: exactly the chunks that hold it, as many at once as may be.

        Chunks never change, so the page is one of the moment at which its first part was read;
        only retention may have deleted its oldest messages since.
        """
        while page.unread_chunks:
            if page.messages:
                before = page.messages[0].sequence
            chunks = chunks_within(page.unread_chunks, MAX_LOAD_BYTES)
            request = ListAgentMessagesRequest(
                before_sequence=before, limit=count - len(page.messages)
            )
            answer = self._invoke(
                session_id,
                READ_MESSAGE_CHUNKS,
                request,
                loads=[chunk_load(chunk) for chunk in chunks],
            )
            older = AgentMessagesPage.from_text(answer)
            page = replace(older, messages=(*older.messages, *page.messages))
        return page

    def _ask(
        self,
        session_id: str,
        rpc_name: str,
        request: WireValue,
        *,
        lock_wait_seconds: float = 0.0,
    ) -> bool:
        answer = self._invoke(
            session_id, rpc_name, request, lock_wait_seconds=lock_wait_seconds
        )
        return answer == "true"

    def _invoke(
        self,
        session_id: str,
        rpc_name: str,
        request: WireValue | None = None,
        *,
        lock_wait_seconds: float = 0.0,
        loads: Sequence[MapLoad] = (),
    ) -> str:
        check_durable_name(session_id, "session_id")
        return self._client.invoke_rpc(
            self._session,
            rpc_name,
            session_id,
            None if request is None else request.to_text(),
            lock_wait_seconds=lock_wait_seconds,
            loads=loads,
        )


def _session_of(session: object) -> SessionDefinition:
    found: object = getattr(session, "session", session)
    if not isinstance(found, SessionDefinition):
        raise TypeError(f"expected an AgentSession or a Flow of one, not {type(session).__name__}")
    return found
