# twin: shared
"""The backlog forgets old text first, and never a frame that someone waits for."""

import pytest

from dex_agents.model.events import EventSource
from dex_agents.model.text import utf8_size
from dex_agents.sdk.backlog import FrameBacklog

SOURCE = EventSource("turn-1", "RunModel-1", 1)
STARTED = SOURCE.tool_call_started("c1", "lookup")


def text(number: int) -> str:
    return SOURCE.text_delta(str(number))


def taken(backlog: FrameBacklog[object]) -> list[object]:
    return [backlog.take() for _ in range(len(backlog))]


def test_frames_leave_in_the_order_in_which_they_came() -> None:
    backlog: FrameBacklog[object] = FrameBacklog()
    beat = object()
    for frame in (text(1), beat, STARTED):
        backlog.add(frame)
    assert taken(backlog) == [text(1), beat, STARTED]
    assert backlog.dropped == 0
    with pytest.raises(IndexError):
        backlog.take()


def test_over_the_limit_the_oldest_text_goes_and_makes_room_for_a_while() -> None:
    backlog: FrameBacklog[object] = FrameBacklog(max_frames=8)
    backlog.add(STARTED)
    for number in range(8):
        backlog.add(text(number))
    assert taken(backlog) == [STARTED, *(text(number) for number in range(3, 8))]
    assert backlog.dropped == 3


def test_without_text_the_oldest_events_go_but_never_another_frame() -> None:
    backlog: FrameBacklog[object] = FrameBacklog(max_frames=4)
    beats = [object() for _ in range(3)]
    backlog.add(STARTED)
    for beat in beats:
        backlog.add(beat)
    newest = SOURCE.turn_completed(1)
    backlog.add(newest)
    assert taken(backlog) == [*beats, newest]
    assert backlog.dropped == 1


def test_bytes_count_as_they_are_sent() -> None:
    wide = SOURCE.text_delta("é" * 100)
    size = utf8_size(wide)
    assert size > len(wide)
    backlog: FrameBacklog[object] = FrameBacklog(max_bytes=4 * size)
    for _ in range(4):
        backlog.add(wide)
    assert backlog.dropped == 0
    backlog.add(wide)
    assert backlog.dropped == 2
    assert len(taken(backlog)) == 3
    backlog.add(wide)
    assert backlog.dropped == 2


def test_one_event_that_is_too_large_by_itself_still_goes_out() -> None:
    backlog: FrameBacklog[object] = FrameBacklog(max_bytes=10)
    backlog.add(text(1))
    backlog.add(text(2))
    assert taken(backlog) == [text(2)]
    assert backlog.dropped == 1
