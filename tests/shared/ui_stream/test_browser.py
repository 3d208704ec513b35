# twin: shared
"""What a browser gets, and which token replays a turn."""

from datetime import UTC, datetime

from dex_agents.model.events import AgentEventType, EventSource
from dex_agents.model.messages import AgentMessage, MessageRole
from dex_agents.model.requests import AgentSnapshot
from dex_agents.model.tool_calls import AgentToolCall
from dex_agents.model.wire import JsonValue
from dex_agents.session.flow_values import StreamMessage
from dex_agents.ui_stream.browser import AgentEventStreamSnapshot, TurnStartSearch

NOW = datetime(2026, 1, 2, tzinfo=UTC)

TOOL_CALL: dict[str, JsonValue] = {
    "tool_call_id": "c1",
    "turn_id": "turn-1",
    "tool_name": "pay",
    "arguments": "{}",
    "effect": "read",
    "requires_approval": False,
    "status": "approved",
    "deferral_order": 0,
    "tool_source_reference": "secret",
    "trace_context": "secret",
    # Fields of a newer release.
    "input_continuation": "secret",
    "input_answers": {"a": "secret"},
    "task_answer_pending": True,
    "some_new_field": "shown",
}


def browser_view() -> AgentEventStreamSnapshot:
    message = AgentMessage(
        sequence=1,
        turn_id="turn-1",
        role=MessageRole.USER,
        framework_item="secret",
        text="hello",
        created_at=NOW,
    )
    record = AgentToolCall.from_json(TOOL_CALL)
    snapshot = AgentSnapshot(messages=(message,), tool_calls=(record,))
    return AgentEventStreamSnapshot(snapshot=snapshot, resume_token="t9")


def event(number: int, turn_id: str, event_type: str) -> StreamMessage:
    source = EventSource(turn_id, "RunModel-1", 1)
    return StreamMessage(
        value=source.event(event_type, {}),
        resume_token=f"t{number}",
        created_at=NOW,
        source="#RunModel-1",
    )


def search(turn_id: str, *oldest_first: StreamMessage) -> str | None:
    found = TurnStartSearch(turn_id)
    for message in reversed(oldest_first):
        token = found.token_at(message)
        if token is not None:
            return token
    return None


def test_the_browser_gets_a_snapshot_and_a_token() -> None:
    data = browser_view().to_json()
    assert list(data) == ["snapshot", "resume_token"]
    assert data["resume_token"] == "t9"


def test_the_browser_gets_nothing_that_only_steps_use() -> None:
    data = browser_view().to_json()
    assert "secret" not in str(data)
    snapshot = data["snapshot"]
    assert isinstance(snapshot, dict)
    assert snapshot["messages"] == [
        {
            "sequence": 1,
            "turn_id": "turn-1",
            "role": "user",
            "text": "hello",
            "created_at": "2026-01-02T00:00:00.000000+00:00",
        }
    ]


def test_what_a_newer_release_shows_is_shown() -> None:
    assert "some_new_field" in str(browser_view().to_json())


def test_the_server_still_has_what_the_browser_does_not_get() -> None:
    view = browser_view()
    view.to_json()
    assert view.snapshot.messages[0].framework_item == "secret"
    assert view.snapshot.tool_calls[0].tool_source_reference == "secret"


def test_a_turn_is_replayed_from_the_event_before_its_first_one() -> None:
    started = event(2, "turn-2", AgentEventType.TURN_STARTED)
    text = event(3, "turn-2", AgentEventType.TEXT_DELTA)
    assert search("turn-2", event(1, "turn-1", "turn_completed"), started, text) == "t1"
    assert search("turn-2", event(1, "turn-1", "text_delta"), started, text) == "t1"


def test_without_a_first_event_a_turn_is_replayed_from_the_end_of_the_one_before() -> None:
    ended = event(1, "turn-1", AgentEventType.TURN_FAILED)
    assert search("turn-2", ended, event(2, "turn-2", "text_delta")) == "t1"
    assert search("turn-2", ended) == "t1"


def test_a_late_event_of_an_earlier_turn_does_not_hide_the_start() -> None:
    assert (
        search(
            "turn-2",
            event(1, "turn-1", AgentEventType.TURN_CANCELLED),
            event(2, "turn-2", AgentEventType.TURN_STARTED),
            event(3, "turn-1", AgentEventType.TEXT_DELTA),
            event(4, "turn-2", AgentEventType.TEXT_DELTA),
        )
        == "t1"
    )


def test_a_turn_whose_start_is_not_retained_has_no_token() -> None:
    assert search("turn-2", event(3, "turn-2", "text_delta")) is None
    assert search("turn-2", event(3, "turn-2", "turn_started")) is None


def test_text_that_is_no_event_is_passed_over() -> None:
    foreign = StreamMessage(value="[]", resume_token="t2", created_at=NOW, source="")
    assert search("turn-2", event(1, "turn-1", "turn_completed"), foreign) == "t1"
