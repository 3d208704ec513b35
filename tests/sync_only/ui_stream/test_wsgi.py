# twin: sync-only
"""The WSGI application for snapshots and event streams keeps to WSGI and to its promises."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest

from dex_agents_sync import AgentSessionClient, EmbeddedEngine
from dex_agents_sync.stepwise import (
    AgentDefinition,
    ModelRequest,
    ScriptedModelClient,
    ScriptedModelReply,
    stepwise_agent_session,
)
from dex_agents_sync.testing import wait_for_agent_snapshot
from dex_agents_sync.ui_stream.wsgi import AgentEventStreamApp
from tests.shared.ui_stream.sse import frames_of, text_of

Get = Callable[..., tuple[str, dict[str, str], Iterable[bytes]]]


def respond(request: ModelRequest) -> ScriptedModelReply:
    return ScriptedModelReply(text="h\u00e9llo there")


@pytest.fixture
def sessions() -> Iterator[AgentSessionClient]:
    """Serve an agent that has had one turn with each of two people."""
    definition = AgentDefinition(name="a", instructions="", model=ScriptedModelClient(respond))
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(stepwise_agent_session(definition, flow_type="Wsgi"))
        for session_id in ("s-1", "s-2"):
            sessions.start_session(session_id, "hi")
            wait_for_agent_snapshot(
                sessions,
                session_id,
                lambda snapshot: len(snapshot.messages) == 2,
                description="an answer",
            )
        yield sessions


@pytest.fixture
def get(sessions: AgentSessionClient) -> Get:
    """Call the application as a strict server does."""
    app = validator(
        AgentEventStreamApp(
            sessions.client,
            sessions.session,
            may_read=lambda environ, session_id: session_id != "s-3",
            poll_timeout=0.05,
        )
    )

    def get(path: str, **environ: str) -> tuple[str, dict[str, str], Iterable[bytes]]:
        started: list[tuple[str, dict[str, str]]] = []

        def start_response(status: str, headers: list[tuple[str, str]], info: Any = None) -> Any:
            started.append((status, dict(headers)))
            return lambda body: None

        request: dict[str, Any] = {
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": "",
            **environ,
        }
        setup_testing_defaults(request)
        body = app(request, start_response)
        return (*started[0], body)

    return get


def read_json(body: Iterable[bytes]) -> dict[str, Any]:
    text = b"".join(body)
    close_body(body)
    data: dict[str, Any] = json.loads(text)
    return data


def close_body(body: Iterable[bytes]) -> None:
    close: Callable[[], None] = getattr(body, "close")  # noqa: B009 -- a part of WSGI only
    close()


def test_the_snapshot_is_json(get: Get) -> None:
    status, headers, body = get("/s-1/snapshot")
    assert (status, headers["Content-Type"]) == ("200 OK", "application/json")
    data = read_json(body)
    assert [message["text"] for message in data["snapshot"]["messages"]] == [
        "hi",
        "h\u00e9llo there",
    ]
    assert "framework_item" not in str(data)


def test_the_events_are_bytes_and_end_when_the_server_closes_them(get: Get) -> None:
    status, headers, body = get("/s-1/events")
    assert (status, headers["Content-Type"]) == ("200 OK", "text/event-stream; charset=utf-8")
    pieces: list[bytes] = []
    iterator = iter(body)
    for piece in iterator:
        pieces.append(piece)
        if b"turn_completed" in piece:
            break
    assert next(iterator).startswith(b":")
    close_body(body)
    assert text_of(frames_of(piece.decode() for piece in pieces)) == "h\u00e9llo there"


def test_the_header_wins_over_the_query(get: Get) -> None:
    _, _, body = get("/s-1/events")
    (first,) = frames_of([next(iter(body)).decode()])
    close_body(body)
    _, _, body = get(
        "/s-1/events", QUERY_STRING="resume_token=garbage", HTTP_LAST_EVENT_ID=first.token
    )
    (second,) = frames_of([next(iter(body)).decode()])
    close_body(body)
    assert second.event.type == "text_delta"


@pytest.mark.parametrize(
    ("path", "environ", "expected"),
    [
        ("/s-2/events", {"QUERY_STRING": "resume_token=garbage"}, "400 Bad Request"),
        ("/a:b/snapshot", {}, "400 Bad Request"),
        ("/a:b/events", {}, "400 Bad Request"),
        ("/s-3/snapshot", {}, "403 Forbidden"),
        ("/s-3/events", {}, "403 Forbidden"),
        ("/s-4/snapshot", {}, "404 Not Found"),
        ("/", {}, "404 Not Found"),
        ("/s-1", {}, "404 Not Found"),
        ("/s-1/other", {}, "404 Not Found"),
        ("/s-1/snapshot", {"REQUEST_METHOD": "POST"}, "405 Method Not Allowed"),
    ],
)
def test_what_cannot_be_served_is_told(
    get: Get, path: str, environ: dict[str, str], expected: str
) -> None:
    status, headers, body = get(path, **environ)
    assert status == expected
    assert headers["Content-Type"] == "application/json"
    assert read_json(body)["error"]
