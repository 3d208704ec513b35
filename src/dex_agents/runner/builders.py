# twin: shared
"""What a runner builds without calling anything: stored messages."""

from collections.abc import Sequence
from typing import Protocol, cast

from dex_agents.model.messages import FrameworkMessage
from dex_agents.runner.turn_values import AgentTurn


class UserMessageBuilder(Protocol):
    """Every runner."""

    def build_user_message(self, text: str) -> FrameworkMessage:
        """Return the user message with this text; its role is `MessageRole.USER`."""
        ...


class UnfinishedTurnMessageBuilder(Protocol):
    """A runner that stores messages while their turn still runs; optional."""

    def build_unfinished_turn_messages(self, turn: AgentTurn) -> Sequence[FrameworkMessage]:
        """Return what the stored messages of a turn lack when it ends early.

        That is, the results of its tool calls, so that no stored call is left without its result.
        """
        ...


def unfinished_turn_builder(runner: object) -> UnfinishedTurnMessageBuilder | None:
    """Return the runner as what builds unfinished-turn messages, or `None` when it does not."""
    if callable(getattr(runner, "build_unfinished_turn_messages", None)):
        return cast(UnfinishedTurnMessageBuilder, runner)
    return None
