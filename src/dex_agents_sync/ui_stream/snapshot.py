# twin: generated from src/dex_agents/ui_stream/snapshot.py by tools/twin; do not edit.
"""The snapshot of a browser, with the token that its event stream goes on from."""

from typing import TYPE_CHECKING, Final

from dex_agents_sync.session.client import AgentSessionClient, HasAgentSession
from dex_agents.session.definition import SessionDefinition
from dex_agents.session.flow_values import StreamMessagesPage
from dex_agents.ui_stream.browser import AgentEventStreamSnapshot, TurnStartSearch

if TYPE_CHECKING:
    from dex_agents_sync.session.client_ports import AnyClient

_PAGE_EVENTS: Final = 500


def read_agent_event_stream_snapshot(
    client: "AnyClient", flow: SessionDefinition | HasAgentSession, session_id: str
) -> AgentEventStreamSnapshot:
    """Return a session's snapshot and the token to open its event stream with.

    The stream may repeat events that the snapshot already shows; it never leaves one out.

    Args:
        client: The engine's client, such as `EmbeddedEngine.client` or one of the `dex` SDK.
        flow: The `AgentSession`, or the Flow that is made of it; the SDK needs the Flow.
        session_id: The session; the caller has checked that the reader may see it.

    Raises:
        ValueError: The session ID cannot be one.
        dex.FlowNotActiveOrNotFoundError: There is no such session.
    """
    sessions = AgentSessionClient(client, flow)
    # The newest event is read before the snapshot: what is written between the two comes again in
    # the stream. The other way round it would be in neither.
    newest = sessions.client.list_stream_messages(sessions.session, session_id, page_size=1)
    snapshot = sessions.get_agent_snapshot(session_id)
    active_turn_id = None if snapshot.state is None else snapshot.state.active_turn_id
    if active_turn_id is not None:
        token = _token_of_turn(sessions, session_id, active_turn_id, newest)
    else:
        token = newest.messages[0].resume_token if newest.messages else ""
    return AgentEventStreamSnapshot(snapshot=snapshot, resume_token=token)


def _token_of_turn(
    sessions: AgentSessionClient, session_id: str, turn_id: str, page: StreamMessagesPage
) -> str:
    search = TurnStartSearch(turn_id)
    while True:
        for message in page.messages:
            token = search.token_at(message)
            if token is not None:
                return token
        if not page.next_page_token:
            # The turn's first event is the Stream's first one, or is no longer retained.
            return ""
        page = sessions.client.list_stream_messages(
            sessions.session,
            session_id,
            page_size=_PAGE_EVENTS,
            before_page_token=page.next_page_token,
        )
