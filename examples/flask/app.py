"""The routes of the chat page; the page itself is plain HTML and JavaScript in examples/chat_page.

Creating the app starts nothing: `__main__` starts the engine and hands its session client over.
"""

import re
import secrets
from pathlib import Path
from typing import Any, NamedTuple

from dex import FlowAlreadyStartedError, FlowNotActiveOrNotFoundError
from werkzeug.exceptions import HTTPException

from dex_agents_sync import AgentSessionClient, InvalidAgentEventResumeTokenError
from dex_agents_sync.ui_stream import (
    AGENT_EVENT_STREAM_HEADERS,
    read_agent_event_stream_snapshot,
    stream_agent_event_frames,
)
from flask import (
    Blueprint,
    Flask,
    Response,
    abort,
    current_app,
    redirect,
    render_template,
    request,
    url_for,
)
from flask.typing import ResponseReturnValue

PAGE = Path(__file__).resolve().parents[1] / "chat_page"
SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
LONGEST_MESSAGE = 4000
LISTED_SESSIONS = 50

chat = Blueprint("chat", __name__)


class Chat(NamedTuple):
    """What the routes work with."""

    sessions: AgentSessionClient
    poll_timeout: float


def create_app(sessions: AgentSessionClient, *, poll_timeout: float = 5.0) -> Flask:
    """Return the chat page for the sessions of one agent.

    Args:
        sessions: The session client, as `EmbeddedEngine.serve` returns it.
        poll_timeout: After so many seconds a stream notices that its browser is gone.
    """
    app = Flask(
        __name__, template_folder=str(PAGE / "templates"), static_folder=str(PAGE / "static")
    )
    app.config["MAX_CONTENT_LENGTH"] = 64 * 1024
    app.extensions["chat"] = Chat(sessions, poll_timeout)
    app.register_blueprint(chat)
    app.register_error_handler(HTTPException, tell_problem)
    app.register_error_handler(FlowNotActiveOrNotFoundError, tell_unknown_session)
    return app


def current_chat() -> Chat:
    """Return what `create_app` was given."""
    found: Chat = current_app.extensions["chat"]
    return found


# -- the page --------------------------------------------------------------------------------------


@chat.get("/")
def open_new_session() -> ResponseReturnValue:
    """Send the browser to a conversation of its own; it is stored with its first message."""
    session_id = f"chat-{secrets.token_hex(4)}"
    return redirect(url_for("chat.show_page", session_id=session_id, new=1))


@chat.get("/sessions/<session_id>")
def show_page(session_id: str) -> ResponseReturnValue:
    """Show one conversation."""
    return render_template("chat.html", session_id=session_id)


@chat.get("/sessions")
def list_sessions() -> ResponseReturnValue:
    """List the newest conversations; `?waiting=approval` lists those that wait for a person."""
    sessions, _ = current_chat()
    of_this_agent = f'FlowType = "{sessions.session.flow_type}"'
    waiting_page = sessions.client.search_flows(
        f'{of_this_agent} AND ActiveStepTypes = "AwaitToolApproval"', LISTED_SESSIONS
    )
    found = waiting_page
    match request.args.get("waiting"):
        case None:
            found = sessions.client.search_flows(of_this_agent, LISTED_SESSIONS)
        case "approval":
            pass
        case other:
            abort(400, f"waiting must be 'approval', not {other!r}")
    waiting = {flow.flow_id for flow in waiting_page.flows}
    return {
        "sessions": [
            {
                "session_id": flow.flow_id,
                "status": flow.status.value,
                "started_at": flow.started_at.isoformat(),
                "waits_for_approval": flow.flow_id in waiting,
            }
            for flow in found.flows
        ]
    }


# -- one conversation ------------------------------------------------------------------------------


@chat.get("/sessions/<session_id>/snapshot")
def get_snapshot(session_id: str) -> ResponseReturnValue:
    """Return the conversation as it is, and the token to open its event stream with."""
    sessions, _ = current_chat()
    stored = read_agent_event_stream_snapshot(sessions.client, sessions.session, session_id)
    return stored.to_json()


@chat.get("/sessions/<session_id>/events")
def get_events(session_id: str) -> ResponseReturnValue:
    """Stream the conversation's events; a browser that connects again continues where it was."""
    sessions, poll_timeout = current_chat()
    token = request.headers.get("Last-Event-ID") or request.args.get("resume_token", "")
    try:
        frames = stream_agent_event_frames(
            sessions.client,
            sessions.session,
            session_id,
            resume_token=token,
            poll_timeout=poll_timeout,
        )
    except InvalidAgentEventResumeTokenError as error:
        # The browser gives up on this stream; the page then loads the snapshot again.
        abort(400, str(error))
    return Response(frames, headers=dict(AGENT_EVENT_STREAM_HEADERS))


@chat.post("/sessions/<session_id>/messages")
def post_message(session_id: str) -> ResponseReturnValue:
    """Say something; the first message starts the session."""
    sessions, _ = current_chat()
    text = text_of(read_object(), "text")
    if not text:
        abort(400, "'text' must not be blank")
    try:
        sessions.start_session(session_id, text)
    except FlowAlreadyStartedError:
        sessions.send_user_message(session_id, text)
    return {"accepted": True}, 202


@chat.post("/sessions/<session_id>/interrupts/<interrupt_id>")
def post_decision(session_id: str, interrupt_id: str) -> ResponseReturnValue:
    """Approve or reject a tool call that waits."""
    sessions, _ = current_chat()
    body = read_object()
    approved = body.get("approved")
    if not isinstance(approved, bool):
        abort(400, "'approved' must be true or false")
    reason = text_of(body, "rejection_message") if "rejection_message" in body else None
    counts = sessions.resolve_interrupt(
        session_id, interrupt_id, approved=approved, rejection_message=reason
    )
    if not counts:
        abort(409, "This call does not wait for a decision any more.")
    return {"accepted": True}


# -- what may go wrong -----------------------------------------------------------------------------


@chat.before_request
def check_session() -> None:
    """Check the session that the browser names.

    The demo has no users. Where there are some, check here that this one may see the session.
    """
    session_id = (request.view_args or {}).get("session_id")
    if session_id is not None and not SESSION_ID.fullmatch(session_id):
        abort(400, "a session ID has 1 to 64 letters, digits, '-' and '_'")


@chat.after_request
def restrict_page(response: Response) -> Response:
    """Let the page load and run only what comes from here, whatever a model writes."""
    response.headers["Content-Security-Policy"] = "default-src 'self'"
    return response


def read_object() -> dict[str, Any]:
    """Return the request's JSON object, or answer 400; a form of another site cannot send one."""
    body = request.get_json(silent=True)
    if not isinstance(body, dict):
        abort(400, "the body must be a JSON object, sent as application/json")
    return body


def text_of(body: dict[str, Any], name: str) -> str:
    """Return a text field without the blanks around it, or answer 400."""
    text = body.get(name)
    if not isinstance(text, str):
        abort(400, f"'{name}' must be a text")
    if len(text) > LONGEST_MESSAGE:
        abort(400, f"'{name}' must have at most {LONGEST_MESSAGE} characters")
    return text.strip()


def tell_problem(error: HTTPException) -> ResponseReturnValue:
    """Answer with the problem as JSON, also where a route does not exist."""
    return {"error": error.description or error.name}, error.code or 500


def tell_unknown_session(error: FlowNotActiveOrNotFoundError) -> ResponseReturnValue:
    """Answer that a session is not there."""
    return {"error": "there is no such conversation, or it is closed"}, 404
