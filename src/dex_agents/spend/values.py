# twin: shared
"""What a session asks a spend limit, what it is told, and what it reports."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Self

from dex_agents.model.state import AgentUsage


class ModelCallKind(StrEnum):
    """What a model call is for."""

    TURN = "turn"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpendRequest:
    """Ask whether one attempt of a model call may be made.

    Attributes:
        key: Names this attempt, once and for all: `<flow>/<run>/<Step execution>/<attempt>`. The
            report carries the same one.
        kind: What the call is for.
        flow_id: The session ID.
        turn_id: `turn-<n>`.
        attempt: The attempt of this Step, from 1; each one is a call of its own to the provider.
        flow_type: The agent.
        requested_at: The engine's time, aware, in UTC.
        estimate: About what the call will use, erring high: its whole input, and the longest
            answer that is asked for.
        model: What the runner calls the model, if it says so.
    """

    key: str
    kind: ModelCallKind
    flow_id: str
    turn_id: str
    attempt: int
    flow_type: str
    requested_at: datetime
    estimate: AgentUsage
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpendDecision:
    """Allow a model call, or refuse it.

    Attributes:
        refusal: Why the call is refused; it ends the turn and a person reads it. `None` allows.
    """

    refusal: str | None = None

    @classmethod
    def allow(cls) -> Self:
        """Return the decision that the call is made."""
        return cls()

    @classmethod
    def refuse(cls, reason: str) -> Self:
        """Return the decision that the call is not made and its turn ends.

        Raises:
            ValueError: The reason says nothing.
        """
        if not reason.strip():
            raise ValueError("a refusal needs a reason that a person can read")
        return cls(refusal=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpendReport:
    """Say how one attempt that was allowed ended.

    Attributes:
        request: What was asked before the call; `request.key` makes the report idempotent.
        usage: What the call used, as the provider counted it; `None` when it failed.
        model: The model that answered, if it is known, else what the request says.
    """

    request: ModelSpendRequest
    usage: AgentUsage | None
    model: str | None = None

    @property
    def has_failed(self) -> bool:
        """Tell whether the call came to nothing."""
        return self.usage is None
