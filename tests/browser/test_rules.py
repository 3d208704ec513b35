# twin: shared
"""The browser's rules, on snapshots and events that no example produces by itself."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.conftest import open_page
from tests.examples.servers import ExampleServer, running_example

FOLLOW = """
async ({snapshot, events, isLate}) => {
    const {Conversation} = await import("/static/conversation.js");
    const conversation = new Conversation();
    conversation.restart(snapshot);
    if (isLate) conversation.replayEnd = 0;
    const expectations = events.map((event) => conversation.apply(event));
    return {
        texts: conversation.entries().map((entry) => entry.text).filter(Boolean),
        statuses: conversation.entries().map((entry) => entry.status).filter(Boolean),
        kinds: conversation.entries().map((entry) => entry.kind),
        expectations: expectations.map((one) => one && {
            isMet: Boolean(one.isMet(conversation.snapshot)), insists: Boolean(one.insists),
        }),
    };
}
"""

CALL: dict[str, Any] = {
    "turn_id": "turn-1",
    "tool_call_id": "c1",
    "tool_name": "look",
    "arguments": "{}",
}


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleServer]:
    """Serve the page; both examples serve the same one."""
    with running_example("flask", tmp_path_factory.mktemp("flask")) as server:
        yield server


@pytest.fixture
def tab(browser: Browser, example: ExampleServer) -> Iterator[Page]:
    """Open a tab."""
    with open_page(browser, example) as page:
        yield page


def message(sequence: int, role: str, text: str, turn: int = 1) -> dict[str, Any]:
    return {"sequence": sequence, "turn_id": f"turn-{turn}", "role": role, "text": text}


def snapshot(*messages: dict[str, Any], active: int | None = None, **fields: Any) -> dict[str, Any]:
    state: dict[str, Any] = {"status": "running_model" if active else "waiting_for_user_message"}
    if active:
        state["active_turn_id"] = f"turn-{active}"
    state |= fields.pop("state", {})
    empty: dict[str, Any] = {"tool_calls": [], "pending_interrupts": [], "queued_messages": []}
    return {"state": state, "messages": list(messages), **empty, **fields}


def event(
    kind: str, step: str = "RunModel-1", attempt: int = 1, turn: int = 1, **payload: Any
) -> Any:
    return {
        "type": kind,
        "turn_id": f"turn-{turn}",
        "step_execution_id": step,
        "attempt": attempt,
        "payload": json.dumps(payload),
    }


def follow(
    page: Page, stored: dict[str, Any], *events: Any, is_late: bool = False
) -> dict[str, Any]:
    page.goto("/")
    seen: dict[str, Any] = page.evaluate(
        FOLLOW, {"snapshot": stored, "events": list(events), "isLate": is_late}
    )
    return seen


def test_only_the_highest_attempt_of_a_step_counts(tab: Page) -> None:
    seen = follow(
        tab,
        snapshot(message(1, "user", "hi"), active=1),
        event("text_delta", text="lost "),
        event("text_delta", attempt=2, text="good"),
        event("text_delta", text="late"),
        event("text_delta", attempt=2, text=" text"),
    )
    assert seen["texts"] == ["hi", "good text"]


def test_each_step_of_a_turn_keeps_its_text(tab: Page) -> None:
    seen = follow(
        tab,
        snapshot(message(1, "user", "hi"), active=1),
        event("text_delta", text="one"),
        event("text_delta", step="RunModel-2", text="two"),
    )
    assert seen["texts"] == ["hi", "one", "two"]


def test_a_replay_never_shows_again_what_the_snapshot_has(tab: Page) -> None:
    stored = snapshot(
        message(1, "user", "hi"),
        message(2, "assistant", "I look."),
        active=1,
        tool_calls=[{**CALL, "status": "succeeded"}],
    )
    replay = [
        event("text_delta", text="I lo"),
        event("text_delta", text="ok."),
        event("tool_call_deferred", **CALL),
        event("text_delta", step="RunModel-2", text="I found"),
    ]
    shown = [follow(tab, stored, *replay[:count])["texts"] for count in range(5)]
    assert shown == [["hi", "I look."]] * 4 + [["hi", "I look.", "I found"]]
    # Where the stream has lost the event of the call, live text comes after a while nevertheless.
    lost = follow(tab, stored, replay[3], is_late=True)
    assert lost["texts"] == ["hi", "I look.", "I found"]


def test_a_status_never_goes_back_in_a_replay(tab: Page) -> None:
    for stored_status, kinds, shown in (
        ("succeeded", ["tool_call_started"], "succeeded"),
        ("awaiting_approval", [], "awaiting_approval"),
        ("approved", ["tool_call_started"], "running"),
        ("approved", ["tool_call_started", "tool_call_finished"], "failed"),
    ):
        stored = snapshot(
            message(1, "user", "hi"), active=1, tool_calls=[{**CALL, "status": stored_status}]
        )
        events = [event(kind, **CALL, status="failed") for kind in kinds]
        assert follow(tab, stored, *events)["statuses"] == [shown]


def test_events_of_a_turn_that_is_over_change_nothing(tab: Page) -> None:
    seen = follow(
        tab,
        snapshot(message(1, "user", "hi"), message(2, "assistant", "hello")),
        event("text_delta", text="hel"),
        event("turn_completed", message_count=1),
    )
    assert seen["texts"] == ["hi", "hello"]
    assert seen["expectations"] == [None, None]


@pytest.mark.parametrize(
    "kind", ["turn_completed", "turn_failed", "turn_steered", "turn_cancelled"]
)
def test_the_end_of_a_turn_is_believed_once_the_turn_is_inactive(tab: Page, kind: str) -> None:
    running = snapshot(message(1, "user", "hi"), active=1)
    assert follow(tab, running, event(kind))["expectations"] == [{"isMet": False, "insists": True}]


def test_what_failed_waits_or_is_noted_is_shown(tab: Page) -> None:
    seen = follow(
        tab,
        snapshot(
            message(1, "user", "hi"),
            message(2, "user", "[Dex] The previous turn failed"),
            state={"last_turn_error": "no credit"},
            queued_messages=[{"message_id": "m1", "text": "next"}],
        ),
    )
    assert seen["kinds"] == ["user", "note", "user", "failure"]
    assert seen["texts"][-2:] == ["next", "no credit"]


def test_a_page_reads_again_until_the_turn_that_ended_is_inactive(tab: Page) -> None:
    """The event of the end may come before its commit can be read."""
    tab.goto("/")
    stored = {"snapshot": snapshot(message(1, "user", "hi"), active=1), "resume_token": "t"}
    over = {
        "snapshot": snapshot(message(1, "user", "hi"), message(2, "assistant", "stored answer")),
        "resume_token": "t",
    }
    reads: list[dict[str, Any]] = []

    def answer_snapshot(route: Route) -> None:
        reads.append(over if len(reads) > 4 else stored)
        route.fulfill(json=reads[-1])

    def answer_events(route: Route) -> None:
        frames = [event("text_delta", text="live "), event("turn_completed", message_count=1)]
        body = "".join(f"id: {n}\ndata: {json.dumps(one)}\n\n" for n, one in enumerate(frames))
        route.fulfill(body=body, content_type="text/event-stream")

    tab.route("**/snapshot", answer_snapshot)
    tab.route("**/events*", answer_events)
    tab.goto("/sessions/anything")
    expect(tab.get_by_role("log")).to_contain_text("stored answer")
    expect(tab.get_by_role("log")).not_to_contain_text("live")
    assert len(reads) > 4


def test_a_failed_turn_is_told_on_the_page(tab: Page) -> None:
    stored = snapshot(message(1, "user", "hi"), state={"last_turn_error": "no credit <b>left</b>"})
    tab.route(
        "**/snapshot", lambda route: route.fulfill(json={"snapshot": stored, "resume_token": ""})
    )
    tab.goto("/sessions/anything")
    failure = tab.locator("article.failure")
    expect(failure).to_contain_text("The turn failed")
    expect(failure).to_contain_text("no credit <b>left</b>")
