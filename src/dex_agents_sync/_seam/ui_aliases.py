# twin: seam
"""This package's browser streams, under the names that they have in the other package."""

from collections.abc import Generator
from datetime import timedelta
from typing import TYPE_CHECKING

from dex_agents.session.definition import SessionDefinition
from dex_agents.ui_stream.browser import AgentEventStreamSnapshot
from dex_agents.ui_stream.frames import DEFAULT_POLL_TIMEOUT
from dex_agents_sync.session.client import HasAgentSession
from dex_agents_sync.ui_stream.events import stream_agent_event_frames
from dex_agents_sync.ui_stream.snapshot import read_agent_event_stream_snapshot

if TYPE_CHECKING:
    from dex_agents_sync.session.client_ports import AnyClient


def read_agent_event_stream_snapshot_sync(
    client: "AnyClient", flow: SessionDefinition | HasAgentSession, session_id: str
) -> AgentEventStreamSnapshot:
    """Return a session's snapshot and the token to open its event stream with."""
    return read_agent_event_stream_snapshot(client, flow, session_id)


def stream_agent_event_frames_sync(
    client: "AnyClient",
    flow: SessionDefinition | HasAgentSession,
    session_id: str,
    *,
    resume_token: str = "",
    poll_timeout: timedelta | float = DEFAULT_POLL_TIMEOUT,
) -> Generator[str, None, None]:
    """Check a resume token now, and return a generator of the frames that follow it."""
    return stream_agent_event_frames(
        client, flow, session_id, resume_token=resume_token, poll_timeout=poll_timeout
    )
