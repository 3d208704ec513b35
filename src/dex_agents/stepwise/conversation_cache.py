# twin: shared
"""Remember the model input of finished turns, so that a model call reads only what is new.

Messages never change once they are stored, and a turn's calls and results belong to that turn
alone: the items of finished turns are the same in every later call. What is remembered is checked
against the stored messages each time, so a stale or foreign entry costs time and nothing else.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from dex_agents.model.messages import AgentMessage
from dex_agents.runner.turn_values import AgentTurn
from dex_agents.stepwise.model_input import build_input_items
from dex_agents.stepwise.model_types import ModelInputItem, ToolResultItem

# Sessions whose finished turns are kept, and the longest history that is: some ten megabytes.
_MAX_SESSIONS = 64
_MAX_MESSAGES = 4096


class _Finished(NamedTuple):
    messages: tuple[AgentMessage, ...]
    items: tuple[ModelInputItem, ...]


_NOTHING = _Finished((), ())


class ConversationCache:
    """The finished turns of the sessions that an agent spoke in last."""

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, _Finished] = OrderedDict()

    def input_items(
        self, turn: AgentTurn, unstored_results: Sequence[ToolResultItem]
    ) -> tuple[ModelInputItem, ...]:
        """Return what `build_input_items` returns for the whole conversation.

        Raises:
            NonRetryableError: A stored message cannot be read.
        """
        messages = tuple(turn.messages)
        begin = len(messages)
        while begin and messages[begin - 1].turn_id == turn.turn_id:
            begin -= 1
        finished = self._finished(turn.flow_id, messages[:begin])
        return finished.items + build_input_items(messages[begin:], turn.turn_id, unstored_results)

    def _finished(self, flow_id: str, messages: tuple[AgentMessage, ...]) -> _Finished:
        with self._lock:
            known = self._sessions.get(flow_id, _NOTHING)
        count = len(known.messages)
        # Equal objects are compared by identity first, so this is one pass in C.
        if count > len(messages) or messages[:count] != known.messages:
            known, count = _NOTHING, 0
        if count < len(messages):
            items = known.items + build_input_items(messages[count:], "", ())
            known = _Finished(messages, items)
        if len(messages) <= _MAX_MESSAGES:
            self._remember(flow_id, known)
        return known

    def _remember(self, flow_id: str, finished: _Finished) -> None:
        with self._lock:
            self._sessions[flow_id] = finished
            self._sessions.move_to_end(flow_id)
            if len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)
