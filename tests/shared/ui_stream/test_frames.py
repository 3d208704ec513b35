# twin: shared
"""Frames are what an EventSource reads, and nothing in an event can break one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex_agents.model.events import AgentEvent, EventSource
from dex_agents.ui_stream.frames import (
    AGENT_EVENT_STREAM_HEADERS,
    KEEP_ALIVE_FRAME,
    event_frame,
)
from tests.shared.ui_stream.sse import Frame, frames_of

TOKENS = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1).filter(
    lambda token: not token.startswith(" ")
)


def test_a_frame_is_an_id_line_a_data_line_and_a_blank_line() -> None:
    assert event_frame("t1", '{"type":"x"}') == 'id: t1\ndata: {"type":"x"}\n\n'


def test_a_keep_alive_is_a_comment_that_ends_like_a_frame() -> None:
    assert KEEP_ALIVE_FRAME.startswith(":")
    assert KEEP_ALIVE_FRAME.endswith("\n\n")
    assert frames_of([KEEP_ALIVE_FRAME, event_frame("t1", "{}")]) == [Frame("t1", "{}")]


@given(token=TOKENS, text=st.text())
def test_any_text_of_a_model_comes_through_as_it_was(token: str, text: str) -> None:
    event = EventSource("turn-1", "RunModel-1", 1).text_delta(text)
    assert event_frame(token, event).count("data:") == 1
    (frame,) = frames_of([event_frame(token, event)])
    assert frame == Frame(token, event)
    assert frame.event == AgentEvent.from_text(event)


@pytest.mark.parametrize("line_end", ["\n", "\r", "\r\n"])
def test_json_of_several_lines_stays_one_event(line_end: str) -> None:
    text = line_end.join(["{", '"a":', "1}"])
    (frame,) = frames_of([event_frame("t1", text)])
    assert json.loads(frame.data) == {"a": 1}


@pytest.mark.parametrize("token", ["a\nb", "a\rb", "a\0b"])
def test_a_token_that_would_break_the_frame_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="one line"):
        event_frame(token, "{}")


def test_the_headers_keep_caches_and_proxies_from_holding_frames_back() -> None:
    assert AGENT_EVENT_STREAM_HEADERS["Content-Type"] == "text/event-stream; charset=utf-8"
    assert "no-cache" in AGENT_EVENT_STREAM_HEADERS["Cache-Control"]
    assert "no-transform" in AGENT_EVENT_STREAM_HEADERS["Cache-Control"]
    assert AGENT_EVENT_STREAM_HEADERS["X-Accel-Buffering"] == "no"
