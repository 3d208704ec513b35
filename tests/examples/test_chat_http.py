# twin: shared
"""Both chat pages over HTTP, in processes of their own."""

import re

import httpx
import pytest

from tests.examples.servers import Chat, new_chat
from tests.shared.ui_stream.sse import Frame, text_of, types_of

# -- the page --------------------------------------------------------------------------------------


def test_the_address_leads_to_a_conversation_of_its_own(http: httpx.Client) -> None:
    first, second = http.get("/"), http.get("/")
    assert first.status_code == second.status_code == 302
    assert first.headers["location"] != second.headers["location"]
    page = http.get(first.headers["location"])
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")


def test_the_page_needs_nothing_from_elsewhere(http: httpx.Client) -> None:
    page = http.get("/sessions/chat-1").text
    sources = re.findall(r'(?:src|href)="([^"#]+)"', page)
    assert len(sources) >= 4
    for source in sources:
        assert source.startswith("/")
        assert http.get(source).status_code in (200, 302)


# -- a conversation --------------------------------------------------------------------------------


def test_a_refund_streams_asks_and_ends(chat: Chat) -> None:
    assert chat.say("Please refund order 7").status_code == 202
    asked = chat.frames_until("interrupt_raised")
    assert text_of(asked).startswith("Let me look up order 7 first.")
    assert types_of(asked).index("text_delta") < types_of(asked).index("tool_call_started")
    snapshot = chat.snapshot()
    (interrupt,) = snapshot["pending_interrupts"]
    assert interrupt["arguments"] == '{"order_id":"7","amount_cents":2690}'
    assert chat.decide(interrupt["interrupt_id"], approved=True).status_code == 200
    rest = chat.frames_until("turn_completed", last_event_id=asked[-1].token)
    assert types_of(rest)[0] == "interrupt_resolved"
    said = chat.wait_for_end()
    assert said[0] == "Please refund order 7"
    assert (
        said[-1]
        == text_of(rest)
        == ("Order 7 is refunded: 26.90 EUR are on their way (refund R-7).")
    )


def test_two_reads_of_one_answer_run_at_the_same_time(chat: Chat) -> None:
    chat.say("Where is order 7?")
    types = types_of(chat.frames_until("turn_completed"))
    first_end = types.index("tool_call_finished")
    assert types[:first_end].count("tool_call_started") == 2
    assert "Order 7 is a rucksack" in chat.wait_for_end()[-1]


def test_a_rejection_reaches_the_agent_with_its_reason(chat: Chat) -> None:
    chat.say("Please refund order 7")
    answer = chat.decide(
        chat.wait_for_interrupt(), approved=False, rejection_message="the customer kept it"
    )
    assert answer.status_code == 200
    assert "the customer kept it" in chat.wait_for_end()[-1]


def test_an_order_that_is_not_there_ends_well(chat: Chat) -> None:
    chat.say("Please refund order 100")
    assert "there is no order 100" in chat.wait_for_end()[-1]


def test_a_second_message_waits_and_gets_its_turn(chat: Chat) -> None:
    chat.say("Where is order 7?")
    chat.say("Hello")
    frames = chat.frames_until("turn_completed")
    last = chat.frames_until("turn_completed", last_event_id=frames[-1].token)
    assert {frame.event.turn_id for frame in last} == {"turn-2"}
    assert chat.wait_for_end()[-2] == "Hello"


def test_a_lost_stream_goes_on_where_it_was(chat: Chat) -> None:
    chat.say("Where is order 7?")
    token = chat.view()["resume_token"]
    pieces: list[Frame] = []
    for count in (3, 1, 5):
        last = pieces[-1].token if pieces else ""
        with chat.frames(token, last) as frames:
            pieces += [next(frames) for _ in range(count)]
    pieces += chat.frames_until("turn_completed", token=token, last_event_id=pieces[-1].token)
    assert pieces == chat.frames_until("turn_completed")


def test_the_list_shows_who_waits_for_a_person(http: httpx.Client) -> None:
    waiting, done = new_chat(http), new_chat(http)
    waiting.say("Please refund order 7")
    done.say("Hello")
    waiting.wait_for_interrupt()
    done.wait_for_end()
    everyone = http.get("/sessions").json()["sessions"]
    shown = {one["session_id"]: one["waits_for_approval"] for one in everyone}
    assert shown[waiting.session_id] is True
    assert shown[done.session_id] is False
    found = http.get("/sessions", params={"waiting": "approval"}).json()["sessions"]
    found_ids = {one["session_id"] for one in found}
    assert waiting.session_id in found_ids
    assert done.session_id not in found_ids


# -- what may go wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("messages", {"text": 1}, "'text' must be a text"),
        ("messages", {"text": " "}, "must not be blank"),
        ("messages", {}, "'text' must be a text"),
        ("messages", {"text": "x" * 5000}, "at most 4000 characters"),
        ("messages", ["text"], "must be a JSON object"),
        ("interrupts/i-1", {"approved": "yes"}, "'approved' must be true or false"),
        ("interrupts/i-1", {"approved": False, "rejection_message": 1}, "must be a text"),
    ],
)
def test_a_bad_request_is_told_what_is_wrong(
    http: httpx.Client, path: str, body: object, says: str
) -> None:
    answer = http.post(f"/sessions/nobody/{path}", json=body)
    assert answer.status_code == 400
    assert says in answer.json()["error"]


def test_what_is_no_json_is_told_so(http: httpx.Client) -> None:
    for content_type in ("application/json", "text/plain"):
        answer = http.post(
            "/sessions/nobody/messages", content="text", headers={"Content-Type": content_type}
        )
        assert answer.status_code == 400
        assert "JSON object" in answer.json()["error"]


def test_what_does_not_exist_is_not_found(http: httpx.Client) -> None:
    assert http.get("/sessions/nobody/snapshot").status_code == 404
    answer = http.post("/sessions/nobody/interrupts/i-1", json={"approved": True})
    assert answer.status_code == 404
    assert "no such conversation" in answer.json()["error"]
    nowhere = http.get("/nowhere")
    assert nowhere.status_code == 404
    assert nowhere.json()["error"]


def test_a_session_id_that_cannot_be_one_is_refused(http: httpx.Client) -> None:
    for session_id in ("a:b", "a$b", "x" * 65, "-x", "a%0Ab"):
        answer = http.get(f"/sessions/{session_id}/snapshot")
        assert answer.status_code == 400
        assert "session ID" in answer.json()["error"]


def test_a_decision_counts_once(chat: Chat) -> None:
    chat.say("Please refund order 7")
    interrupt_id = chat.wait_for_interrupt()
    assert chat.decide(interrupt_id, approved=True).status_code == 200
    again = chat.decide(interrupt_id, approved=False)
    assert again.status_code == 409
    assert "does not wait" in again.json()["error"]


def test_a_token_of_another_session_is_refused(http: httpx.Client) -> None:
    one, other = new_chat(http), new_chat(http)
    one.say("Hello")
    token = one.frames_until("turn_completed")[-1].token
    for bad in (token, "garbage"):
        answer = http.get(f"{other.url}/events", params={"resume_token": bad})
        assert answer.status_code == 400
        assert "resume token" in answer.json()["error"]


def test_an_unknown_filter_is_refused(http: httpx.Client) -> None:
    answer = http.get("/sessions", params={"waiting": "godot"})
    assert answer.status_code == 400
    assert "'godot'" in answer.json()["error"]
