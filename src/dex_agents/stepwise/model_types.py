# twin: shared
"""What a model client is asked and what it answers, in no provider's terms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from dex_agents.model.state import AgentUsage
from dex_agents.runner.outcomes import ModelCallMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """How a model should answer; `None` leaves it to the provider.

    Attributes:
        max_output_tokens: The longest answer, reasoning included where the provider counts it.
        temperature: How freely it samples.
        top_p: The part of the likeliest tokens that it samples from, from 0 to 1.
        reasoning_effort: A word of the provider, such as `"low"`.
        parallel_tool_calls: Whether one response may ask for several tool calls.
    """

    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning_effort: str | None = None
    parallel_tool_calls: bool | None = None

    def __post_init__(self) -> None:
        """Refuse settings that no provider takes.

        Raises:
            ValueError: A number is out of its range.
        """
        if self.max_output_tokens is not None and self.max_output_tokens < 1:
            raise ValueError("max_output_tokens must be at least 1")
        if self.temperature is not None and self.temperature < 0:
            raise ValueError("temperature must not be negative")
        if self.top_p is not None and not 0 <= self.top_p <= 1:
            raise ValueError("top_p must be from 0 to 1")


class ModelOutputKind(StrEnum):
    """What one item of a model response is."""

    MESSAGE = "message"
    REASONING = "reasoning"
    TOOL_CALL = "tool_call"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOutputItem:
    """One item of a model response, in the provider's own form and in plain terms.

    Attributes:
        kind: What it is.
        provider: The provider and API whose form `item` has; only there it is replayed as it is.
            Elsewhere a message is replayed as its text, a tool call as its name and arguments,
            and reasoning not at all.
        item: The provider's JSON text, kept byte for byte; empty when there is none to replay.
        text: What a person reads: the message, or the summary of the reasoning.
        tool_call_id: Of a tool call, its ID.
        tool_name: Of a tool call, the tool that it asks for.
        arguments: Of a tool call, the arguments as the model wrote them, usually JSON text.
    """

    kind: ModelOutputKind
    provider: str
    item: str
    text: str = ""
    tool_call_id: str | None = None
    tool_name: str | None = None
    arguments: str | None = None

    def __post_init__(self) -> None:
        """Take the kind as plain text too.

        Raises:
            ValueError: There is no such kind.
        """
        if type(self.kind) is not ModelOutputKind:
            object.__setattr__(self, "kind", ModelOutputKind(self.kind))


@dataclass(frozen=True, slots=True)
class UserTextItem:
    """What the user said, or a note of the session in the user's place."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultItem:
    """The result of one tool call.

    Attributes:
        tool_call_id: The ID of the call that it answers.
        tool_name: That call's tool.
        output: What the model reads.
    """

    tool_call_id: str
    tool_name: str
    output: str


ModelInputItem: TypeAlias = UserTextItem | ModelOutputItem | ToolResultItem


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTool:
    """A tool that is offered to the model.

    Attributes:
        name: What the model calls it.
        description: What it does; may be empty.
        parameters_schema: The JSON Schema of its arguments; not to be changed.
    """

    name: str
    description: str
    parameters_schema: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """The whole input of one model call.

    Attributes:
        instructions: What the agent is told about itself; may be empty.
        input_items: The conversation, oldest first. Directly after the items of a response, each
            of its tool calls has exactly one result, in the order of the calls.
        tools: What the model may call; empty past the turn's limit of model calls.
        settings: How the model should answer.
        flow_id: The session ID.
        turn_id: `turn-<n>`.
        model_call_number: Which model call of the turn this is, from 1; the same on every attempt.
    """

    instructions: str = ""
    input_items: Sequence[ModelInputItem] = ()
    tools: Sequence[ModelTool] = ()
    settings: ModelSettings = field(default_factory=ModelSettings)
    flow_id: str = ""
    turn_id: str = ""
    model_call_number: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    """The answer of one model call.

    Attributes:
        output_items: The response, in the provider's order. Without a tool call the turn ends.
        usage: The tokens of this call; the call itself is counted by the runner.
        metadata: What else is known of the call.
    """

    output_items: Sequence[ModelOutputItem] = ()
    usage: AgentUsage = field(default_factory=AgentUsage)
    metadata: ModelCallMetadata | None = None
