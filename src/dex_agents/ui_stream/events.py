# twin: source
"""A session's events as Server-Sent Event frames, from a resume token on."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import TYPE_CHECKING

from dex_agents.errors import EngineStoppedError
from dex_agents.model.keys import check_durable_name
from dex_agents.session.client import AgentSessionClient, HasAgentSession
from dex_agents.session.definition import SessionDefinition
from dex_agents.session.flow_values import StreamMessage
from dex_agents.ui_stream.frames import DEFAULT_POLL_TIMEOUT, KEEP_ALIVE_FRAME, event_frame

if TYPE_CHECKING:
    from dex_agents.session.client_ports import AnyClient


async def stream_agent_event_frames(
    client: "AnyClient",
    flow: SessionDefinition | HasAgentSession,
    session_id: str,
    *,
    resume_token: str = "",
    poll_timeout: timedelta | float = DEFAULT_POLL_TIMEOUT,
) -> AsyncGenerator[str, None]:
    """Check a resume token now, and return a generator of the frames that follow it.

    Each frame's `id` is the event's resume token and its `data` the event's JSON. Whenever no
    event came for `poll_timeout`, and at the start when none is there yet, the generator yields
    `KEEP_ALIVE_FRAME`. It ends only when the engine of this process is closed; a browser then
    connects again.

    Args:
        client: The engine's client, such as `EmbeddedEngine.client` or one of the `dex` SDK.
        flow: The `AgentSession`, or the Flow that is made of it; the SDK needs the Flow.
        session_id: The session; the caller has checked that the reader may see it.
        resume_token: The browser's `Last-Event-ID`, or the snapshot's token; `""` starts at the
            oldest event retained.
        poll_timeout: The longest silence, as a time or in seconds. A server in threads notices
            within it that the browser is gone.

    Raises:
        InvalidAgentEventResumeTokenError: The token is not one of this session. Answer 400, and
            let the browser load the snapshot again.
        ValueError: The session ID cannot be one, or `poll_timeout` is not longer than zero.
    """
    # No `yield` in this function: one would put the check off until the response has started.
    poll_seconds = _checked_seconds(poll_timeout)
    sessions = AgentSessionClient(client, flow)
    check_durable_name(session_id, "session_id")
    first = await sessions.client.read_stream(
        sessions.session, session_id, resume_token=resume_token
    )
    return _frames(sessions, session_id, resume_token, first, poll_seconds)


async def _frames(
    sessions: AgentSessionClient,
    session_id: str,
    resume_token: str,
    message: StreamMessage | None,
    poll_seconds: float,
) -> AsyncGenerator[str, None]:
    while True:
        if message is None:
            yield KEEP_ALIVE_FRAME
        else:
            resume_token = message.resume_token
            yield event_frame(resume_token, message.value)
        try:
            message = await sessions.client.read_stream(
                sessions.session,
                session_id,
                resume_token=resume_token,
                wait_seconds=poll_seconds,
            )
        except EngineStoppedError:
            return


def _checked_seconds(poll_timeout: timedelta | float) -> float:
    seconds = poll_timeout.total_seconds() if isinstance(poll_timeout, timedelta) else poll_timeout
    if not seconds > 0:
        raise ValueError(f"poll_timeout must be longer than zero, got {poll_timeout!r}")
    return seconds
