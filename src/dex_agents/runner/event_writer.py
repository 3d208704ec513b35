# twin: shared
"""The event writer that a running call gets."""

from collections.abc import Callable, Mapping

from dex_agents.model.events import EventSource
from dex_agents.model.tool_calls import ToolCallStatus
from dex_agents.model.wire import JsonValue


class AgentEventWriter:
    """Write live events of one call; from any thread, never waiting, dropped after its end."""

    __slots__ = ("_is_open", "_source", "_write")

    def __init__(self, source: EventSource, write: Callable[[str], None]) -> None:
        """Write events of `source` as JSON text through `write`."""
        self._source = source
        self._write = write
        self._is_open = True

    def write_text_delta(self, text: str) -> None:
        """Write a piece of the model's text; batch very small ones."""
        if text and self._is_open:
            self._write(self._source.text_delta(text))

    def write_reasoning_delta(self, text: str) -> None:
        """Write a piece of the model's reasoning."""
        if text and self._is_open:
            self._write(self._source.reasoning_delta(text))

    def write_tool_call_started(self, tool_call_id: str, tool_name: str) -> None:
        """Write that a tool starts that the framework runs itself; deferred calls do it alone."""
        if self._is_open:
            self._write(self._source.tool_call_started(tool_call_id, tool_name))

    def write_tool_call_finished(
        self, tool_call_id: str, tool_name: str, status: ToolCallStatus
    ) -> None:
        """Write that a tool ended that the framework ran itself; deferred calls do it alone."""
        if self._is_open:
            self._write(self._source.tool_call_finished(tool_call_id, tool_name, status))

    def write_event(self, event_type: str, payload: Mapping[str, JsonValue]) -> None:
        """Write an event of any type; its payload must be a JSON object.

        Raises:
            TypeError: The payload holds something that JSON has no form for.
            ValueError: It holds a number that JSON has no form for.
        """
        if self._is_open:
            self._write(self._source.event(event_type, payload))

    def close(self) -> None:
        """Drop everything that is written from now on."""
        self._is_open = False
