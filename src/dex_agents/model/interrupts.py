# twin: shared
"""Interrupts: what a turn waits for a person to decide."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dex_agents.model.wire import WireValue


class InterruptKind(StrEnum):
    """What a person is asked."""

    APPROVAL = "approval"
    QUESTION = "question"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInterrupt(WireValue):
    """One decision that a turn waits for.

    Attributes:
        interrupt_id: Names it in an answer; of an approval it is the tool call ID.
        tool_call_id: The call that waits.
        turn_id: The turn that waits.
        tool_name: The call's tool.
        arguments: The call's arguments.
        kind: Whether the call asks for approval or for an answer.
        created_at: When it was raised.
        deadline: When it answers itself with a refusal; `None` waits for ever.
        question: What to ask, of a question.
        choices: The answers to choose from, of a question that offers some.
        allows_free_text: Whether another answer than a choice is taken, of a question.
    """

    interrupt_id: str
    tool_call_id: str
    turn_id: str
    tool_name: str
    arguments: str
    kind: InterruptKind
    created_at: datetime
    deadline: datetime | None = None
    question: str | None = None
    choices: tuple[str, ...] | None = None
    allows_free_text: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInterruptResolution(WireValue):
    """A person's decision on an interrupt.

    `turn_id` is the turn whose interrupt was decided: tool call IDs may repeat in later turns, and
    a decision must never reach a later call of the same ID.
    """

    interrupt_id: str
    turn_id: str
    approved: bool
    rejection_message: str | None = None
