# twin: shared
"""Server-Sent Events as text: one frame per event, and the headers they travel under."""

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Final

AGENT_EVENT_STREAM_HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Content-Type": "text/event-stream; charset=utf-8",
        # A proxy that transforms (compresses) collects text first, and so does nginx by default.
        "Cache-Control": "no-cache, no-transform",
        "X-Accel-Buffering": "no",
    }
)
"""The headers of an event response; they keep caches and proxies from holding frames back."""

KEEP_ALIVE_FRAME: Final = ": keep-alive\n\n"
"""A comment that a browser ignores; writing it is how a server notices that the browser is gone."""

DEFAULT_POLL_TIMEOUT: Final = timedelta(seconds=20)
"""The longest silence of an event response."""

# What ends a line for an EventSource; other line separators of Unicode are ordinary characters.
_LINE_ENDS: Final = ("\r\n", "\r", "\n")


def event_frame(resume_token: str, event: str) -> str:
    """Return the frame of one event.

    Args:
        resume_token: The frame's `id`, which the browser sends back as `Last-Event-ID`.
        event: The event's JSON text, the frame's `data`.

    Raises:
        ValueError: The token would break the frame, or a browser would ignore it.
    """
    if any(char in resume_token for char in "\r\n\0"):
        raise ValueError("a resume token must be one line without NUL characters")
    return f"id: {resume_token}\n{_data_lines(event)}\n"


def _data_lines(text: str) -> str:
    # Our JSON is one line. Other JSON may have line ends between its tokens, and a browser joins
    # the data lines of a frame with a line end.
    for line_end in _LINE_ENDS:
        text = text.replace(line_end, "\n")
    return "".join(f"data: {line}\n" for line in text.split("\n"))
