# twin: shared
"""Read Server-Sent Events as a browser does."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dex_agents.model.events import AgentEvent
from dex_agents.model.wire import parse_json


@dataclass(frozen=True, slots=True)
class Frame:
    """One event with the token that a browser would send back."""

    token: str
    data: str

    @property
    def event(self) -> AgentEvent:
        """Return the data as an event."""
        return AgentEvent.from_text(self.data)

    @property
    def text(self) -> str:
        """Return the text of a `text_delta`, and nothing of other events."""
        if self.event.type != "text_delta":
            return ""
        text: str = parse_json(self.event.payload, "payload")["text"]
        return text


def read_frames(lines: Iterable[str]) -> Iterator[Frame]:
    """Yield the events of an event stream's lines; comments and unknown fields are skipped."""
    token, data = "", list[str]()
    for line in lines:
        if not line:
            if data:
                yield Frame(token, "\n".join(data))
            data = []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "id":
            token = value
        elif field == "data":
            data.append(value)


def frames_of(texts: Iterable[str]) -> list[Frame]:
    """Return the events in pieces of an event stream; each piece is a whole frame or comment."""
    return list(read_frames("".join(texts).split("\n")))


def text_of(frames: Iterable[Frame]) -> str:
    """Return the text that streamed."""
    return "".join(frame.text for frame in frames)


def types_of(frames: Iterable[Frame]) -> list[str]:
    """Return the event types."""
    return [frame.event.type for frame in frames]
