# twin: shared
"""What a runner's calls come to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from dex_agents.model.messages import FrameworkMessage
from dex_agents.model.state import AgentUsage
from dex_agents.model.tool_calls import ToolPolicy

if TYPE_CHECKING:
    from typing_extensions import TypeVar
else:
    from typing import TypeVar


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallMetadata:
    """What is known of a model call; it names spans and is never stored."""

    request_model: str | None = None
    response_model: str | None = None
    provider_name: str | None = None
    response_id: str | None = None
    finish_reasons: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class DeferredToolCall:
    """One tool call that the model asked for.

    Attributes:
        tool_call_id: Not empty, without a `/`, and unique within the turn.
        tool_name: The tool.
        arguments: The arguments as the model wrote them, usually JSON text.
        policy: What `resolve_tool_policy` said.
        tool_source_reference: What the tool's source needs to find it again; opaque.
    """

    tool_call_id: str
    tool_name: str
    arguments: str
    policy: ToolPolicy
    tool_source_reference: str | None = None


@dataclass(frozen=True, slots=True)
class TurnCompleted:
    """The model gave its final answer.

    Attributes:
        new_messages: What the session has not stored of this turn yet, in order.
        usage: What this model call used.
        model_call_metadata: What is known of this model call.
    """

    new_messages: Sequence[FrameworkMessage] = ()
    usage: AgentUsage = field(default_factory=AgentUsage)
    model_call_metadata: ModelCallMetadata | None = None


@dataclass(frozen=True, slots=True)
class ToolCallsRequested:
    """The model asked for tools.

    Attributes:
        framework_run_state: What continues the turn after the tools; not empty, opaque.
        tool_calls: At least one, in the model's order.
        usage: What this model call used.
        new_messages: Messages to store at once; only for a runner that implements
            `build_unfinished_turn_messages`.
        model_call_metadata: What is known of this model call.
    """

    framework_run_state: str
    tool_calls: Sequence[DeferredToolCall]
    usage: AgentUsage = field(default_factory=AgentUsage)
    new_messages: Sequence[FrameworkMessage] = ()
    model_call_metadata: ModelCallMetadata | None = None


AgentTurnOutcome: TypeAlias = TurnCompleted | ToolCallsRequested


@dataclass(frozen=True, slots=True)
class ToolExecutionResult:
    """What a tool returned; one over the session's limit is left out."""

    output: str


@dataclass(frozen=True, slots=True)
class ToolResultLeftOut:
    """A tool ran to its end, but its result cannot be kept.

    A read is recorded as `failed` with the reason; a write as `succeeded`, with a text that says
    that it ran and that the result was left out. Neither runs again.

    Attributes:
        reason: A clause that continues "the result was left out: ".
    """

    reason: str


DeferredToolOutcome: TypeAlias = ToolExecutionResult | ToolResultLeftOut

# A bare AgentFrameworkRunner is one whose tools only return results. Type checkers bring
# `typing_extensions` with them; at run time the default is not needed.
if TYPE_CHECKING:
    DeferredOutcomeT = TypeVar("DeferredOutcomeT", covariant=True, default=ToolExecutionResult)
else:
    DeferredOutcomeT = TypeVar("DeferredOutcomeT", covariant=True)
