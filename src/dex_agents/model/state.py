# twin: shared
"""What a session is doing, what it used, and what a user says to it."""

from dataclasses import dataclass, field
from enum import StrEnum

from dex_agents.model.wire import JsonObject, WireValue


class AgentStatus(StrEnum):
    """What a session is doing."""

    WAITING_FOR_USER_MESSAGE = "waiting_for_user_message"
    RUNNING_MODEL = "running_model"
    RUNNING_TOOLS = "running_tools"
    COMPACTING_CONTEXT = "compacting_context"


class InteractionMode(StrEnum):
    """What kind of turn runs, or ran last."""

    CHAT = "chat"
    PLANNING = "planning"
    EXECUTING = "executing"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentState(WireValue):
    """Where a session stands.

    Attributes:
        status: What it is doing.
        interaction_mode: What kind of turn runs, or ran last.
        active_turn_id: The running turn, `None` between turns.
        turn_number: The number of the turn that started last; 0 before the first.
        last_message_sequence: The newest stored message; 0 before the first.
        last_turn_error: Why the last turn failed; gone once a later turn completes.
        window_bytes: How large the messages of the window are; it follows from them.
        accepts_turn_control: Whether the running turn can be steered and cancelled.
    """

    status: AgentStatus = AgentStatus.WAITING_FOR_USER_MESSAGE
    interaction_mode: InteractionMode = InteractionMode.CHAT
    active_turn_id: str | None = None
    turn_number: int = 0
    last_message_sequence: int = 0
    last_turn_error: str | None = None
    accepts_turn_control: bool = False
    # Counted by whoever stores messages, so two states that differ only here are one state.
    window_bytes: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentUsage(WireValue):
    """Tokens and model calls; cached and reasoning tokens are parts of input and output."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0
    model_calls: int = 0

    def __add__(self, other: "AgentUsage") -> "AgentUsage":
        """Return the sum of both."""
        return AgentUsage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            model_calls=self.model_calls + other.model_calls,
            _extra={**(other._extra or {}), **(self._extra or {})} or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentUserMessage(WireValue):
    """What a user says; with `plan_mode` the turn only makes a plan."""

    text: str
    plan_mode: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSessionStartInput(WireValue):
    """What a session starts with; a blank message starts no turn."""

    initial_message: str = ""
    session_settings: JsonObject | None = None
    trace_context: str | None = None
