# twin: shared
"""Tool calls: what a tool does to the world, and the record of each call."""

from dataclasses import dataclass
from enum import StrEnum

from dex_agents.model.wire import WireValue


class ToolEffect(StrEnum):
    """What running a tool does; it decides what happens after a crash or an error.

    A read or an idempotent write may run again, an idempotent write with the same key. Anything
    else runs at most once and ends as `outcome_unknown` when nobody can tell whether it ran.
    """

    READ = "read"
    IDEMPOTENT_WRITE = "idempotent_write"
    NON_IDEMPOTENT_WRITE = "non_idempotent_write"
    UNCLASSIFIED = "unclassified"

    @property
    def may_run_again(self) -> bool:
        """Tell whether a failed or interrupted call may be tried again."""
        return self in (ToolEffect.READ, ToolEffect.IDEMPOTENT_WRITE)


def checked_effect(effect: object) -> ToolEffect:
    """Return the effect of this value or name.

    Raises:
        ValueError: There is no such effect.
    """
    try:
        return ToolEffect(str(effect))
    except ValueError:
        known = ", ".join(ToolEffect)
        raise ValueError(f"{effect!r} is no tool effect; use one of {known}") from None


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """How a session treats a tool.

    Attributes:
        effect: What running the tool does.
        requires_approval: Whether a person must approve each call; `None` leaves it to the
            effect: reads and idempotent writes run without asking.
    """

    effect: ToolEffect
    requires_approval: bool | None = None

    def __post_init__(self) -> None:
        """Refuse values that would be misread later.

        Raises:
            TypeError: `requires_approval` is no truth value.
            ValueError: There is no such effect; a plain text such as `"read"` is taken.
        """
        object.__setattr__(self, "effect", checked_effect(self.effect))
        if self.requires_approval not in (True, False, None):
            raise TypeError("requires_approval must be True, False or None")

    @property
    def is_approval_required(self) -> bool:
        """Tell whether a call of this tool waits for a person first."""
        if self.requires_approval is None:
            return not self.effect.may_run_again
        return self.requires_approval


class ToolCallStatus(StrEnum):
    """Where a tool call stands; the last four are final."""

    AWAITING_APPROVAL = "awaiting_approval"
    APPROVED = "approved"
    AWAITING_ANSWER = "awaiting_answer"
    WAITING_FOR_TIMER = "waiting_for_timer"
    WAITING_FOR_TASK = "waiting_for_task"
    REJECTED = "rejected"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    OUTCOME_UNKNOWN = "outcome_unknown"

    @property
    def is_final(self) -> bool:
        """Tell whether the call is over."""
        return self in _FINAL_STATUSES


_FINAL_STATUSES = frozenset(
    {
        ToolCallStatus.REJECTED,
        ToolCallStatus.SUCCEEDED,
        ToolCallStatus.FAILED,
        ToolCallStatus.OUTCOME_UNKNOWN,
    }
)


class CancellationReason(StrEnum):
    """Why a call was cancelled before it started, or given up after it."""

    STEERED = "steered"
    TURN_CANCELLED = "turn_cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentToolCall(WireValue):
    """The record of one tool call, from the model's request to its end.

    Attributes:
        tool_call_id: Unique within its turn.
        turn_id: The turn that asked for it.
        tool_name: The tool.
        arguments: The arguments as the model wrote them, usually JSON text.
        effect: What running it does, as the policy said when the model asked.
        requires_approval: Whether a person had to approve it.
        status: Where it stands.
        deferral_order: Its place among the calls of the turn, from 0, in the model's order.
        output: What the tool returned, of a call that `succeeded`.
        error: What went wrong, of a call that `failed` or whose outcome is unknown.
        rejection_message: Why a person refused it, or that its deadline passed.
        cancellation_reason: Why it was cancelled, if it was.
        tool_source_reference: What its tool source needs to find the tool again; opaque.
        trace_context: The W3C traceparent that its spans belong to.
    """

    tool_call_id: str
    turn_id: str
    tool_name: str
    arguments: str
    effect: ToolEffect
    requires_approval: bool
    status: ToolCallStatus
    deferral_order: int
    output: str | None = None
    error: str | None = None
    rejection_message: str | None = None
    cancellation_reason: CancellationReason | None = None
    tool_source_reference: str | None = None
    trace_context: str | None = None

    @property
    def is_final(self) -> bool:
        """Tell whether the call is over."""
        return self.status in _FINAL_STATUSES


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallCompleted(WireValue):
    """Tell the waiting turn that one of its calls is over."""

    tool_call_id: str
    turn_id: str
