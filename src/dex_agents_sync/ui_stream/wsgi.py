# twin: sync-only
"""The two endpoints of a browser stream as a WSGI application, for servers without a framework.

    GET /<session ID>/snapshot
    GET /<session ID>/events?resume_token=...

Mount it below a path of your own. Each open event stream holds a thread of the server.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from datetime import timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from dex_agents.errors import InvalidAgentEventResumeTokenError
from dex_agents.model.keys import check_durable_name
from dex_agents.model.wire import json_text
from dex_agents.session.definition import SessionDefinition
from dex_agents.ui_stream.frames import AGENT_EVENT_STREAM_HEADERS, DEFAULT_POLL_TIMEOUT
from dex_agents_sync.session.client import AgentSessionClient, HasAgentSession
from dex_agents_sync.ui_stream.events import stream_agent_event_frames
from dex_agents_sync.ui_stream.snapshot import read_agent_event_stream_snapshot

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

    from dex_agents_sync.session.client_ports import AnyClient

_JSON_HEADERS: Final = (("Content-Type", "application/json"), ("Cache-Control", "no-store"))


class AgentEventStreamApp:
    """Serve the snapshots and event streams of one agent's sessions."""

    def __init__(
        self,
        client: "AnyClient",
        flow: SessionDefinition | HasAgentSession,
        *,
        may_read: "Callable[[WSGIEnvironment, str], bool]",
        poll_timeout: timedelta | float = DEFAULT_POLL_TIMEOUT,
    ) -> None:
        """Create the application.

        Args:
            client: The engine's client, such as `EmbeddedEngine.client`.
            flow: The `AgentSession`, or the Flow that is made of it.
            may_read: Tells from a request whether its sender may read a session; the session ID
                is the browser's word.
            poll_timeout: The longest silence of a stream, as a time or in seconds, and how soon
                it notices that its browser is gone.

        Raises:
            TypeError: The client is made for the other package, or `flow` has no session.
        """
        self._sessions = AgentSessionClient(client, flow)
        self._may_read = may_read
        self._poll_timeout = poll_timeout

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer one request."""
        session_id, _, endpoint = _path(environ).partition("/")
        if not session_id or endpoint not in ("snapshot", "events"):
            return _problem(start_response, HTTPStatus.NOT_FOUND, "there is no such path")
        if environ["REQUEST_METHOD"] != "GET":
            return _problem(start_response, HTTPStatus.METHOD_NOT_ALLOWED, "only GET is allowed")
        try:
            check_durable_name(session_id, "the session ID")
        except ValueError as error:
            return _problem(start_response, HTTPStatus.BAD_REQUEST, str(error))
        if not self._may_read(environ, session_id):
            return _problem(start_response, HTTPStatus.FORBIDDEN, "not your session")
        if endpoint == "snapshot":
            return self._answer_snapshot(session_id, start_response)
        return self._answer_events(session_id, environ, start_response)

    def _answer_snapshot(self, session_id: str, start_response: "StartResponse") -> list[bytes]:
        sessions = self._sessions
        try:
            stored = read_agent_event_stream_snapshot(sessions.client, sessions.session, session_id)
        except Exception as error:
            # The SDK takes time to load, and only what it raises needs it.
            from dex import FlowNotActiveOrNotFoundError

            if not isinstance(error, FlowNotActiveOrNotFoundError):
                raise
            return _problem(start_response, HTTPStatus.NOT_FOUND, "there is no such session")
        return _answer(start_response, HTTPStatus.OK, stored.to_json())

    def _answer_events(
        self, session_id: str, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        query = parse_qs(environ.get("QUERY_STRING", ""))
        token = environ.get("HTTP_LAST_EVENT_ID") or query.get("resume_token", [""])[0]
        try:
            frames = stream_agent_event_frames(
                self._sessions.client,
                self._sessions.session,
                session_id,
                resume_token=token,
                poll_timeout=self._poll_timeout,
            )
        except InvalidAgentEventResumeTokenError as error:
            return _problem(start_response, HTTPStatus.BAD_REQUEST, str(error))
        start_response("200 OK", list(AGENT_EVENT_STREAM_HEADERS.items()))
        return _FrameBytes(frames)


class _FrameBytes:
    """Frames as the bytes that WSGI wants; closing it ends the stream."""

    def __init__(self, frames: Generator[str, None, None]) -> None:
        self._frames = frames

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._frames).encode()

    def close(self) -> None:
        self._frames.close()


def _path(environ: "WSGIEnvironment") -> str:
    # WSGI hands the bytes of a path over as if they were Latin-1.
    raw: str = environ.get("PATH_INFO", "")
    return raw.encode("latin-1").decode("utf-8", "replace").removeprefix("/")


def _answer(start_response: "StartResponse", status: HTTPStatus, value: object) -> list[bytes]:
    body = json_text(value).encode()
    headers = [*_JSON_HEADERS, ("Content-Length", str(len(body)))]
    start_response(f"{status.value} {status.phrase}", headers)
    return [body]


def _problem(start_response: "StartResponse", status: HTTPStatus, text: str) -> list[bytes]:
    return _answer(start_response, status, {"error": text})
