# twin: shared
"""Frames that wait for a slow engine: a queue that forgets old text rather than grow for ever."""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from dex_agents.model.events import AgentEventType
from dex_agents.model.text import utf8_size
from dex_agents.model.wire import parse_json

FrameT = TypeVar("FrameT")

_TEXT_EVENTS = (AgentEventType.TEXT_DELTA, AgentEventType.REASONING_DELTA)


class FrameBacklog(Generic[FrameT]):
    """A queue of events, which are text, and of other frames, which are never dropped.

    Over a limit it drops the oldest pieces of the model's text, and only when none is left the
    oldest other events. It then makes room for a while, so that it seldom has to look for them.
    It is not safe for threads by itself.
    """

    def __init__(self, *, max_frames: int = 10_000, max_bytes: int = 8 * 1024 * 1024) -> None:
        """Create an empty backlog.

        Args:
            max_frames: How many frames may wait.
            max_bytes: How much all events that wait may take as UTF-8.
        """
        self.dropped = 0
        self._frames: deque[str | FrameT] = deque()
        self._bytes = 0
        self._max_frames = max_frames
        self._max_bytes = max_bytes

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, frame: str | FrameT) -> None:
        """Append a frame."""
        self._frames.append(frame)
        if isinstance(frame, str):
            self._bytes += utf8_size(frame)
        if len(self._frames) > self._max_frames or self._bytes > self._max_bytes:
            self._drop(_is_text)
            self._drop(_is_event)

    def take(self) -> str | FrameT:
        """Remove and return the oldest frame.

        Raises:
            IndexError: There is none.
        """
        frame = self._frames.popleft()
        if isinstance(frame, str):
            self._bytes -= utf8_size(frame)
        return frame

    def _drop(self, may_go: Callable[[str], bool]) -> None:
        """Drop the oldest events of a kind until a quarter of both limits is free."""
        frames, self._frames = self._frames, deque()
        # The newest frame stays: it is what was just added.
        excess_frames = len(frames) - self._max_frames * 3 // 4
        excess_bytes = self._bytes - self._max_bytes * 3 // 4
        for position, frame in enumerate(frames, start=1):
            is_over = excess_frames > 0 or excess_bytes > 0
            if (
                not is_over
                or not isinstance(frame, str)
                or position == len(frames)
                or not may_go(frame)
            ):
                self._frames.append(frame)
                continue
            size = utf8_size(frame)
            excess_frames -= 1
            excess_bytes -= size
            self._bytes -= size
            self.dropped += 1


def _is_text(event: str) -> bool:
    return parse_json(event, "event")["type"] in _TEXT_EVENTS


def _is_event(event: str) -> bool:
    return True
