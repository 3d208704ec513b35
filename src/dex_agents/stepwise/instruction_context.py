# twin: shared
"""What a function that writes an agent's instructions is given."""

from collections.abc import Sequence
from dataclasses import dataclass

from dex_agents.model.messages import AgentMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionContext:
    """The model call that the instructions are for.

    A crashed or failed call is made again, and asks for its instructions again.

    Attributes:
        flow_id: The session ID.
        turn_id: `turn-<n>`.
        attempt: The attempt of this model call, from 1.
        messages: Every stored message, oldest first; the last user message is this turn's.
    """

    flow_id: str
    turn_id: str
    attempt: int
    messages: Sequence[AgentMessage]
