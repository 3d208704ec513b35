# twin: source
"""The runner of Stepwise mode: one model call per Step, and one Step per tool call."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final, cast

from dex_agents._seam.callables import call_user_function
from dex_agents.errors import NonRetryableError, StoredValueError, ToolExecutionError
from dex_agents.model.messages import FrameworkMessage
from dex_agents.model.state import AgentUsage
from dex_agents.model.tool_calls import ToolEffect, ToolPolicy
from dex_agents.model.wire import json_text, parse_json
from dex_agents.runner.estimates import ASSUMED_OUTPUT_TOKENS, ModelCallEstimate
from dex_agents.runner.outcomes import (
    AgentTurnOutcome,
    DeferredToolCall,
    DeferredToolOutcome,
    ToolCallsRequested,
    TurnCompleted,
)
from dex_agents.runner.turn import AgentTurnContext, DeferredToolExecution
from dex_agents.runner.turn_values import AgentTurn
from dex_agents.stepwise.conversation_cache import ConversationCache
from dex_agents.stepwise.definition import AgentDefinition
from dex_agents.stepwise.instruction_context import InstructionContext
from dex_agents.stepwise.model_input import results_to_store
from dex_agents.stepwise.model_response import checked_model_response
from dex_agents.stepwise.model_types import (
    ModelOutputItem,
    ModelOutputKind,
    ModelRequest,
    ModelResponse,
    ModelTool,
    ToolResultItem,
)
from dex_agents.stepwise.stored_items import (
    model_output_message,
    tool_result_message,
    user_text_message,
)

_MODEL_CALLS: Final = "model_calls"

# What a call carries that names no tool of the agent that the model was offered. It is stored with
# the call, so a tool of that name in a later deploy cannot run a call that nobody approved.
_UNKNOWN_TOOL_REFERENCE: Final = json_text({"stepwise_unknown_tool": True})
_UNKNOWN_TOOL_POLICY: Final = ToolPolicy(ToolEffect.UNCLASSIFIED, requires_approval=False)


class StepwiseAgentRunner:
    """Run an agent that is defined by an `AgentDefinition`.

    Items are stored as they appear: with the tool calls of a response, the results of the response
    before it and its own items. The run state holds only how many model calls the turn has made.
    """

    def __init__(self, definition: AgentDefinition) -> None:
        """Create the runner of an agent.

        Raises:
            TypeError: It is no `AgentDefinition` of this package.
        """
        if not isinstance(cast("object", definition), AgentDefinition):
            raise TypeError(
                f"{type(definition).__module__}.{type(definition).__name__} is no "
                f"{AgentDefinition.__module__}.{AgentDefinition.__name__}"
            )
        self._definition = definition
        self._conversations = ConversationCache()
        self._longest_instructions = ""
        self._policies = definition.policies_by_tool
        self._tools = {tool.name: tool for tool in definition.tools}
        self._offered_tools = tuple(
            ModelTool(
                name=tool.name,
                description=tool.description,
                parameters_schema=tool.parameters_schema,
            )
            for tool in definition.tools
        )

    @property
    def definition(self) -> AgentDefinition:
        """The agent that runs."""
        return self._definition

    def build_user_message(self, text: str) -> FrameworkMessage:
        """Return the user message with this text."""
        return user_text_message(text)

    def build_unfinished_turn_messages(self, turn: AgentTurn) -> Sequence[FrameworkMessage]:
        """Return the results that the stored tool calls of a turn lack when it ends early."""
        return [tool_result_message(result) for result in results_to_store(turn)]

    async def run_model_step(self, turn: AgentTurnContext) -> AgentTurnOutcome:
        """Make one model call and return its tool calls, or what ends the turn.

        Raises:
            InvalidModelResponseError: The model client returned no valid response.
            NonRetryableError: Something stored cannot be read.
        """
        calls_made = _model_calls_made(turn.framework_run_state)
        is_limit_reached = calls_made >= self._definition.max_model_calls_per_turn
        results = results_to_store(turn)
        request = self._request(turn, await self._instructions_for(turn), results, calls_made)
        model = self._definition.model
        answer: object = await model.call_model(request, _TurnOutput(turn))
        response = checked_model_response(answer, model)
        messages = [*map(tool_result_message, results)]
        messages += map(model_output_message, response.output_items)
        calls = [item for item in response.output_items if item.kind is ModelOutputKind.TOOL_CALL]
        if calls and not is_limit_reached:
            return self._request_tool_calls(turn, response, calls, messages, calls_made + 1)
        messages += (tool_result_message(self._not_run(call)) for call in calls)
        return TurnCompleted(
            new_messages=messages,
            usage=replace(response.usage, model_calls=1),
            model_call_metadata=response.metadata,
        )

    async def execute_deferred_tool_call(self, call: DeferredToolExecution) -> DeferredToolOutcome:
        """Run the function of one tool call.

        Raises:
            ToolExecutionError: The agent has no such tool, or the tool reports its failure.
            NonRetryableError: The tool has gone between two attempts of the call.
        """
        name = call.tool_call.tool_name
        if call.tool_call.tool_source_reference == _UNKNOWN_TOOL_REFERENCE:
            raise ToolExecutionError(f"unknown tool {name}")
        tool = self._tools.get(name)
        if tool is not None:
            return await tool.execute(call)
        if call.attempt > 1:
            raise NonRetryableError(
                f"unknown tool {name}: it no longer exists, and an earlier attempt of this call "
                "may have run"
            )
        raise ToolExecutionError(
            f"unknown tool {name}: it no longer exists, and this call never ran"
        )

    def estimate_model_call(self, turn: AgentTurn) -> ModelCallEstimate:
        """Return about what the turn's next model call will use.

        Instructions that a function returns count with the longest that it has returned so far.

        Raises:
            NonRetryableError: Something stored cannot be read.
        """
        definition = self._definition
        given = definition.instructions
        request = self._request(
            turn,
            given if isinstance(given, str) else self._longest_instructions,
            results_to_store(turn),
            _model_calls_made(turn.framework_run_state),
        )
        model: object = getattr(definition.model, "model", None)
        usage = AgentUsage(
            input_tokens=definition.model.estimate_input_tokens(request),
            output_tokens=definition.model_settings.max_output_tokens or ASSUMED_OUTPUT_TOKENS,
            model_calls=1,
        )
        return ModelCallEstimate(usage=usage, model=model if isinstance(model, str) else None)

    def _request(
        self,
        turn: AgentTurn,
        instructions: str,
        results: Sequence[ToolResultItem],
        calls_made: int,
    ) -> ModelRequest:
        is_limit_reached = calls_made >= self._definition.max_model_calls_per_turn
        return ModelRequest(
            instructions=instructions,
            input_items=self._conversations.input_items(turn, results),
            tools=() if is_limit_reached else self._offered_tools,
            settings=self._definition.model_settings,
            flow_id=turn.flow_id,
            turn_id=turn.turn_id,
            model_call_number=calls_made + 1,
        )

    async def _instructions_for(self, turn: AgentTurnContext) -> str:
        instructions = self._definition.instructions
        if isinstance(instructions, str):
            return instructions
        context = InstructionContext(
            flow_id=turn.flow_id,
            turn_id=turn.turn_id,
            attempt=turn.attempt,
            messages=turn.messages,
        )
        text = await call_user_function(partial(instructions, context))
        if not isinstance(text, str):
            raise TypeError(
                f"the instructions function of agent {self._definition.name!r} must return a str, "
                f"not {type(text).__name__}"
            )
        if len(text) > len(self._longest_instructions):
            self._longest_instructions = text
        return text

    def _request_tool_calls(
        self,
        turn: AgentTurnContext,
        response: ModelResponse,
        calls: Sequence[ModelOutputItem],
        messages: Sequence[FrameworkMessage],
        calls_made: int,
    ) -> ToolCallsRequested:
        return ToolCallsRequested(
            framework_run_state=json_text({_MODEL_CALLS: calls_made}),
            tool_calls=[self._deferred(turn, call) for call in calls],
            usage=replace(response.usage, model_calls=1),
            new_messages=messages,
            model_call_metadata=response.metadata,
        )

    def _deferred(self, turn: AgentTurnContext, call: ModelOutputItem) -> DeferredToolCall:
        name = call.tool_name or ""
        is_known = name in self._tools
        # A session may have options of its own; they win over the definition and the tool.
        policy = turn.options.tool_policies.get(name) or self._policies.get(name)
        return DeferredToolCall(
            tool_call_id=call.tool_call_id or "",
            tool_name=name,
            arguments=call.arguments or "",
            policy=policy if is_known and policy is not None else _UNKNOWN_TOOL_POLICY,
            tool_source_reference=None if is_known else _UNKNOWN_TOOL_REFERENCE,
        )

    def _not_run(self, call: ModelOutputItem) -> ToolResultItem:
        limit = self._definition.max_model_calls_per_turn
        return ToolResultItem(
            tool_call_id=call.tool_call_id or "",
            tool_name=call.tool_name or "",
            output=(
                f"The tool call was not run: this turn reached its limit of {limit} model calls."
            ),
        )


class _TurnOutput:
    """What a model client sees of a turn."""

    __slots__ = ("_turn", "write_reasoning_delta", "write_text_delta")

    def __init__(self, turn: AgentTurnContext) -> None:
        self._turn = turn
        self.write_text_delta = turn.events.write_text_delta
        self.write_reasoning_delta = turn.events.write_reasoning_delta

    def is_cancelled(self) -> bool:
        return self._turn.is_cancelled()


def _model_calls_made(run_state: str | None) -> int:
    """Return how many model calls the turn has made.

    Raises:
        NonRetryableError: The stored run state is none of this runner.
    """
    if run_state is None:
        return 0
    try:
        state: object = parse_json(run_state, "FrameworkRunState")
    except StoredValueError as error:
        raise NonRetryableError(str(error)) from error
    count = cast("dict[str, object]", state).get(_MODEL_CALLS) if isinstance(state, dict) else None
    if type(count) is not int:
        raise NonRetryableError(f"FrameworkRunState: {_MODEL_CALLS} is missing")
    return count
