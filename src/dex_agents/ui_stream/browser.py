# twin: shared
"""What a browser gets of a session: the snapshot without what only Steps use, and a token."""

from dataclasses import dataclass
from typing import Final, cast

from dex_agents.errors import StoredValueError
from dex_agents.model.events import AgentEvent, AgentEventType
from dex_agents.model.requests import AgentSnapshot
from dex_agents.model.wire import JsonValue
from dex_agents.session.flow_values import StreamMessage

# Left out by name, so that a field which only a newer release knows is left out as well.
_PRIVATE_MESSAGE_FIELDS: Final = ("framework_item",)
_PRIVATE_TOOL_CALL_FIELDS: Final = (
    "tool_source_reference",
    "trace_context",
    "input_continuation",
    "input_answers",
    "task_answer_pending",
)

_TURN_ENDS: Final = frozenset(
    {
        AgentEventType.TURN_COMPLETED,
        AgentEventType.TURN_FAILED,
        AgentEventType.TURN_STEERED,
        AgentEventType.TURN_CANCELLED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEventStreamSnapshot:
    """A session at one moment, and where its event stream goes on from there.

    Attributes:
        snapshot: The session, complete; for the server's own use.
        resume_token: Opens the event stream so that no event is missing. While a turn runs, the
            stream starts with that turn's first event; `""` starts at the oldest one retained.
    """

    snapshot: AgentSnapshot
    resume_token: str

    def to_json(self) -> dict[str, JsonValue]:
        """Return `{"snapshot": ..., "resume_token": ...}` for a browser.

        Left out is what only the session's Steps use: the framework's replay data of messages,
        which can hold the agent's instructions, and the inner state of tool calls.
        """
        snapshot = self.snapshot.to_json()
        _leave_out(snapshot["messages"], _PRIVATE_MESSAGE_FIELDS)
        _leave_out(snapshot["tool_calls"], _PRIVATE_TOOL_CALL_FIELDS)
        return {"snapshot": snapshot, "resume_token": self.resume_token}


def _leave_out(records: JsonValue, names: tuple[str, ...]) -> None:
    for record in cast("list[dict[str, JsonValue]]", records):
        for name in names:
            record.pop(name, None)


class TurnStartSearch:
    """Find the token that replays a turn, in events that are looked at from the newest back."""

    def __init__(self, turn_id: str) -> None:
        """Look for the start of a turn."""
        self._turn_id = turn_id
        self._has_started = False

    def token_at(self, message: StreamMessage) -> str | None:
        """Look at the next older event; return its token if the turn's events all follow it.

        That is the event just before the turn's first one, or the end of another turn. Any other
        event of another turn proves nothing: a call that was given up may have written it late.
        """
        if self._has_started:
            return message.resume_token
        try:
            event = AgentEvent.from_text(message.value)
        except StoredValueError:
            # Written by something else; it is the browser's to skip.
            return None
        if event.turn_id != self._turn_id:
            return message.resume_token if event.type in _TURN_ENDS else None
        self._has_started = event.type == AgentEventType.TURN_STARTED
        return None
