# twin: source
"""The definition of an agent, checked when it is made."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from dex_agents._seam.callables import refuse_coloured_function, require_colour, require_plain
from dex_agents.model.options import EVENT_STREAM_CAPACITY_BYTES, AgentSessionOptions
from dex_agents.model.tool_calls import ToolEffect, ToolPolicy
from dex_agents.stepwise.instruction_context import InstructionContext
from dex_agents.stepwise.model_client import ModelClient
from dex_agents.stepwise.model_types import ModelSettings
from dex_agents.tools.function_tool import FunctionTool

InstructionsFunction: TypeAlias = Callable[[InstructionContext], Awaitable[str] | str]

_PACKAGE: Final = __name__.partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """An agent: what it is told, the model that answers, and the tools it may call.

    Attributes:
        name: What the agent is called in logs and traces.
        instructions: A text, or a function that is asked for one in every model call.
        model: What talks to the model.
        model_settings: How the model should answer.
        tools: The function tools, in the order in which the model reads them.
        tool_policies: Policies by tool name; they win over what a tool says of itself.
        default_tool_effect: What a tool is taken for that nothing classifies.
        max_model_calls_per_turn: After so many model calls in one turn, the next one is offered no
            tools, and the turn ends with it.
        interrupt_deadline: When an unanswered interrupt counts as refused; `None` never.
        event_stream_capacity_bytes: How much of the live events is kept for late readers.
    """

    name: str
    instructions: str | InstructionsFunction
    model: ModelClient
    model_settings: ModelSettings = field(default_factory=ModelSettings)
    tools: Sequence[FunctionTool] = ()
    tool_policies: Mapping[str, ToolPolicy] = field(default_factory=dict[str, ToolPolicy])
    default_tool_effect: ToolEffect = ToolEffect.UNCLASSIFIED
    max_model_calls_per_turn: int = 100
    interrupt_deadline: timedelta | None = None
    event_stream_capacity_bytes: int = EVENT_STREAM_CAPACITY_BYTES

    def __post_init__(self) -> None:
        """Check everything now, so that no session meets a mistake later.

        Raises:
            TypeError: A field has the wrong type, or holds something of the other package.
            ValueError: A field is out of its range, or two tools have one name.
        """
        if not isinstance(cast("object", self.name), str) or not self.name.strip():
            raise TypeError("AgentDefinition.name must be a str that is not empty")
        _check_instructions(self.instructions)
        _check_model(self.model, self.model_settings)
        object.__setattr__(self, "tools", _checked_tools(self.tools))
        _check_model_call_limit(self.max_model_calls_per_turn)
        # The options have checks of their own for what is theirs.
        options = AgentSessionOptions(
            tool_policies=self.tool_policies,
            default_tool_effect=self.default_tool_effect,
            interrupt_deadline=self.interrupt_deadline,
            event_stream_capacity_bytes=self.event_stream_capacity_bytes,
        )
        object.__setattr__(self, "tool_policies", options.tool_policies)
        object.__setattr__(self, "default_tool_effect", options.default_tool_effect)

    @property
    def policies_by_tool(self) -> Mapping[str, ToolPolicy]:
        """Return the policy of each tool: the one given here, else what the tool says."""
        policies = {tool.name: tool.policy for tool in self.tools}
        return MappingProxyType({**policies, **self.tool_policies})


def _check_instructions(instructions: object) -> None:
    if isinstance(instructions, str):
        return
    if not callable(instructions):
        raise TypeError(
            "AgentDefinition.instructions must be a str or a function of InstructionContext, "
            f"not {type(instructions).__name__}"
        )
    name = getattr(instructions, "__qualname__", type(instructions).__name__)
    refuse_coloured_function(instructions, f"the instructions function {name}")


def _check_model(model: object, settings: object) -> None:
    if isinstance(model, type):
        raise TypeError(
            f"AgentDefinition.model must be a model client, not the class {model.__name__}; "
            f"write {model.__name__}(...)"
        )
    require_colour(model, ("call_model",), "model client")
    require_plain(model, ("estimate_input_tokens",), "model client")
    if not isinstance(settings, ModelSettings):
        raise TypeError(
            f"AgentDefinition.model_settings must be ModelSettings, not {type(settings).__name__}"
        )


def _checked_tools(tools: object) -> tuple[FunctionTool, ...]:
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        raise TypeError(f"AgentDefinition.tools must be a list, not {type(tools).__name__}")
    checked: dict[str, FunctionTool] = {}
    for index, tool in enumerate(cast("Sequence[object]", tools)):
        if not isinstance(tool, FunctionTool):
            raise TypeError(f"AgentDefinition.tools[{index}]: {_wrong_tool(tool)}")
        function_tool = cast("FunctionTool", tool)
        if function_tool.name in checked:
            raise ValueError(
                f"AgentDefinition.tools has two tools of the name {function_tool.name!r}; "
                "give one of them another with function_tool(name=...)"
            )
        checked[function_tool.name] = function_tool
    return tuple(checked.values())


def _wrong_tool(tool: object) -> str:
    if type(tool).__name__ == FunctionTool.__name__:
        made_by = type(tool).__module__.partition(".")[0]
        return (
            f"{tool!r} is a tool of {made_by}; "
            f"import function_tool from {_PACKAGE}.stepwise instead"
        )
    if callable(tool):
        name = getattr(tool, "__qualname__", type(tool).__name__)
        return (
            f"{name} is no tool yet; decorate it with @function_tool(effect=...), "
            "such as @function_tool(effect=ToolEffect.READ)"
        )
    return f"expected a tool made by @function_tool, found {type(tool).__name__}"


def _check_model_call_limit(limit: object) -> None:
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise TypeError(
            f"AgentDefinition.max_model_calls_per_turn must be an int, not {type(limit).__name__}"
        )
    if limit < 1:
        raise ValueError("AgentDefinition.max_model_calls_per_turn must be at least 1")
