# twin: generated from src/dex_agents/stepwise/scripted.py by tools/twin; do not edit.
"""A model client whose answers come from a function."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from dex_agents_sync._seam.callables import call_user_function, refuse_coloured_function
from dex_agents_sync._seam.concurrency import Lock
from dex_agents_sync.stepwise.model_client import ModelOutputWriter
from dex_agents.stepwise.model_types import (
    ModelRequest,
    ModelResponse,
    ToolResultItem,
    UserTextItem,
)
from dex_agents.stepwise.scripted_reply import ScriptedModelReply, response_of, text_deltas
from dex_agents.stepwise.token_estimate import estimate_input_tokens

RespondFunction: TypeAlias = Callable[
    [ModelRequest], ScriptedModelReply | ScriptedModelReply
]


class ScriptedModelClient:
    """Answer every model call from a function of its request: a demo, a lesson or a test.

    A crashed or failed model call is made again, so the function must say the same again.
    """

    def __init__(self, respond: RespondFunction, *, max_recorded_requests: int = 100) -> None:
        """Create the client.

        Args:
            respond: Returns the reply to a request.
            max_recorded_requests: How many of the latest requests `requests` keeps.

        Raises:
            TypeError: `respond` is no function, or one of the other package.
            ValueError: `max_recorded_requests` is negative.
        """
        if not callable(respond):
            raise TypeError(f"respond must be a function, not {type(respond).__name__}")
        if max_recorded_requests < 0:
            raise ValueError("max_recorded_requests must not be negative")
        refuse_coloured_function(respond, "the respond function of ScriptedModelClient")
        self._respond = respond
        # Calls of many sessions run in parallel; the lock also lets a test read meanwhile.
        self._lock = Lock()
        self._requests: deque[ModelRequest] = deque(maxlen=max_recorded_requests)

    @property
    def requests(self) -> Sequence[ModelRequest]:
        """The latest requests, oldest first, as they were when asked for."""
        with self._lock:
            return tuple(self._requests)

    def call_model(
        self, request: ModelRequest, output: ModelOutputWriter, /
    ) -> ModelResponse:
        """Ask the function, stream its reply word by word, and return it.

        Raises:
            TypeError: The function returned something else than a `ScriptedModelReply`.
        """
        with self._lock:
            self._requests.append(request)
        reply = call_user_function(partial(self._respond, request))
        if not isinstance(reply, ScriptedModelReply):
            raise TypeError(
                "the respond function of ScriptedModelClient must return a ScriptedModelReply, "
                f"not {type(reply).__name__}"
            )
        for delta in text_deltas(reply.reasoning):
            output.write_reasoning_delta(delta)
        for delta in text_deltas(reply.text):
            output.write_text_delta(delta)
        return response_of(reply, request)

    def estimate_input_tokens(self, request: ModelRequest, /) -> int:
        """Return about how many tokens the input of a request has."""
        return estimate_input_tokens(request)

    @staticmethod
    def user_texts(request: ModelRequest) -> Sequence[str]:
        """Return every user text of a request, oldest first; the last one is this turn's."""
        return [item.text for item in request.input_items if isinstance(item, UserTextItem)]

    @staticmethod
    def tool_results(request: ModelRequest) -> Sequence[ToolResultItem]:
        """Return the tool results since the last user text, oldest first: those of this turn."""
        results: list[ToolResultItem] = []
        for item in reversed(request.input_items):
            if isinstance(item, UserTextItem):
                break
            if isinstance(item, ToolResultItem):
                results.append(item)
        return results[::-1]
