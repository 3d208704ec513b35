# twin: shared
"""The process of an example dies, or is stopped, and the conversation goes on."""

import pytest

from tests.examples.servers import Chat, ExampleServer
from tests.shared.ui_stream.sse import types_of


def test_a_read_that_a_kill_interrupted_runs_again(
    own_server: ExampleServer, own_chat: Chat
) -> None:
    own_chat.say("Where is order 7?")
    before = own_chat.frames_until("tool_call_started")
    own_server.kill()
    own_server.start()
    after = own_chat.frames_until("turn_completed", last_event_id=before[-1].token)
    assert "tool_call_started" in types_of(after)
    assert "Order 7 is a rucksack" in own_chat.wait_for_end()[-1]


def test_an_approval_waits_through_a_kill(own_server: ExampleServer, own_chat: Chat) -> None:
    own_chat.say("Please refund order 7")
    interrupt_id = own_chat.wait_for_interrupt()
    token = own_chat.view()["resume_token"]
    own_server.kill()
    own_server.start()
    assert own_chat.wait_for_interrupt() == interrupt_id
    assert own_chat.decide(interrupt_id, approved=True).status_code == 200
    frames = own_chat.frames_until("turn_completed", token=token)
    assert types_of(frames)[0] == "turn_started"
    assert "Order 7 is refunded" in own_chat.wait_for_end()[-1]


def test_a_refund_that_a_kill_interrupted_is_not_repeated(
    own_server: ExampleServer, own_chat: Chat
) -> None:
    own_chat.say("Please refund order 7")
    own_chat.decide(own_chat.wait_for_interrupt(), approved=True)
    started = own_chat.frames_until("interrupt_resolved")
    own_chat.frames_until("tool_call_started", last_event_id=started[-1].token)
    own_server.kill()
    own_server.start()
    frames = own_chat.frames_until("turn_completed", last_event_id=started[-1].token)
    assert types_of(frames).count("tool_call_started") <= 1
    assert "unknown" in own_chat.wait_for_end()[-1]


def test_a_polite_stop_ends_with_open_streams(own_server: ExampleServer, own_chat: Chat) -> None:
    own_chat.say("Hello")
    with own_chat.frames() as frames:
        next(frames)
        assert own_server.stop() == 0


def test_a_second_process_on_the_same_file_says_why_it_cannot(
    own_server: ExampleServer, own_chat: Chat
) -> None:
    other = ExampleServer(own_server.example, own_server.db.parent)
    other.log = own_server.db.parent / "other.log"
    with pytest.raises(AssertionError):
        other.start()
    other.stop_if_running()
    assert "the demo cannot start" in other.log.read_text()
    assert "Traceback" not in other.log.read_text()
    assert own_chat.http.get("/sessions").status_code == 200
