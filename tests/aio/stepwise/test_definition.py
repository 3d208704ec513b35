# twin: source
"""Prove that a mistake in an agent's definition is told when it is defined, with the cure."""

from datetime import timedelta
from typing import Any, cast

import pytest

from dex_agents.model.options import AgentSessionOptions
from dex_agents.model.tool_calls import ToolEffect, ToolPolicy
from dex_agents.session.agent_session import AgentSession
from dex_agents.stepwise.definition import AgentDefinition
from dex_agents.stepwise.model_client import ModelOutputWriter
from dex_agents.stepwise.model_types import ModelRequest, ModelResponse
from dex_agents.stepwise.runner import StepwiseAgentRunner
from dex_agents.stepwise.scripted import ScriptedModelClient
from dex_agents.stepwise.session import (
    stepwise_agent_session,
    stepwise_agent_session_flow,
    stepwise_agent_session_options,
)
from dex_agents.tools.function_tool import FunctionTool, function_tool
from tests.aio.stepwise.contexts import agent
from tests.colour import async_only

PACKAGE = AgentDefinition.__module__.partition(".")[0]


@function_tool(effect=ToolEffect.READ)
def look(q: str = "") -> str:
    """Look something up."""
    return q


@function_tool(effect=ToolEffect.IDEMPOTENT_WRITE, requires_approval=True)
def save(value: str) -> str:
    """Save a value."""
    return value


def plain(q: str) -> str:
    return q


def test_a_definition_keeps_what_it_was_given_and_no_later_change() -> None:
    tools: list[FunctionTool] = [look]
    policies = {"look": ToolPolicy(ToolEffect.READ, requires_approval=True)}
    definition = agent(tools=tools, tool_policies=policies, default_tool_effect="read")
    tools.append(save)
    policies.clear()
    assert definition.tools == (look,)
    assert definition.tool_policies["look"].requires_approval is True
    assert definition.default_tool_effect is ToolEffect.READ
    assert definition.max_model_calls_per_turn == 100


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({"name": " "}, TypeError, "AgentDefinition.name must be a str that is not empty"),
        (
            {"instructions": 7},
            TypeError,
            "AgentDefinition.instructions must be a str or a function of InstructionContext, "
            "not int",
        ),
        ({"model": "gpt"}, TypeError, "model client str has no method 'call_model'"),
        (
            {"model": ScriptedModelClient},
            TypeError,
            "must be a model client, not the class ScriptedModelClient",
        ),
        ({"model_settings": {}}, TypeError, "model_settings must be ModelSettings, not dict"),
        ({"tools": look}, TypeError, "AgentDefinition.tools must be a list, not FunctionTool"),
        (
            {"tools": [look, plain]},
            TypeError,
            r"tools\[1\]: plain is no tool yet; decorate it with @function_tool\(effect=\.\.\.\)",
        ),
        (
            {"tools": [{"name": "look"}]},
            TypeError,
            r"tools\[0\]: expected a tool made by @function_tool, found dict",
        ),
        (
            {"tools": [look, save, look]},
            ValueError,
            "two tools of the name 'look'; give one of them another",
        ),
        ({"tool_policies": {"look": "read"}}, TypeError, r"tool_policies\['look'\] must be a"),
        ({"default_tool_effect": "reed"}, ValueError, "'reed' is no tool effect"),
        ({"max_model_calls_per_turn": 0}, ValueError, "must be at least 1"),
        ({"max_model_calls_per_turn": True}, TypeError, "must be an int, not bool"),
        ({"interrupt_deadline": 5}, TypeError, "interrupt_deadline must be a timedelta"),
        ({"event_stream_capacity_bytes": 0}, ValueError, "event_stream_capacity_bytes must be"),
    ],
)
def test_a_mistake_is_told_with_the_cure(
    fields: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        agent(**fields)


def test_a_tool_of_another_package_names_the_import() -> None:
    other: Any = type("FunctionTool", (), {"__module__": "other_package.tools"})()
    with pytest.raises(
        TypeError,
        match=rf"is a tool of other_package; import function_tool from {PACKAGE}\.stepwise",
    ):
        agent(tools=[other])


class OtherColour:
    """A model client whose method is the wrong way round in either package."""

    def estimate_input_tokens(self, request: ModelRequest) -> int:
        return 0


@async_only("what is the wrong colour there is in tests/sync_only")
def test_a_model_client_of_plain_functions_is_refused() -> None:
    class PlainClient(OtherColour):
        def call_model(self, request: ModelRequest, output: ModelOutputWriter) -> ModelResponse:
            return ModelResponse()

    with pytest.raises(
        TypeError,
        match=r"model client PlainClient\.call_model is a plain function; .* dex_agents_sync inst",
    ):
        agent(PlainClient())


@async_only("what is the wrong colour there is in tests/sync_only")
def test_instructions_that_are_yielded_are_refused() -> None:
    async def write(context: object) -> Any:
        yield "text"

    with pytest.raises(TypeError, match=r"the instructions function .*write must return a value"):
        agent(instructions=write)


def test_a_model_client_must_be_able_to_estimate() -> None:
    class Silent:
        async def call_model(
            self, request: ModelRequest, output: ModelOutputWriter
        ) -> ModelResponse:
            return ModelResponse()

    with pytest.raises(TypeError, match="Silent has no method 'estimate_input_tokens'"):
        agent(Silent())


def test_the_session_options_follow_from_the_definition() -> None:
    definition = agent(
        tools=[look, save],
        tool_policies={"look": ToolPolicy(ToolEffect.READ, requires_approval=True)},
        default_tool_effect=ToolEffect.READ,
        interrupt_deadline=timedelta(hours=1),
        event_stream_capacity_bytes=1000,
    )
    assert stepwise_agent_session_options(definition) == AgentSessionOptions(
        tool_policies={
            "look": ToolPolicy(ToolEffect.READ, requires_approval=True),
            "save": ToolPolicy(ToolEffect.IDEMPOTENT_WRITE, requires_approval=True),
        },
        default_tool_effect=ToolEffect.READ,
        interrupt_deadline=timedelta(hours=1),
        event_stream_capacity_bytes=1000,
    )


def test_a_session_takes_the_definitions_options_or_others() -> None:
    definition = agent(tools=[save], interrupt_deadline=timedelta(hours=1))
    session = stepwise_agent_session(definition, flow_type="Agent")
    assert isinstance(session, AgentSession)
    assert isinstance(session.runner, StepwiseAgentRunner)
    assert session.runner.definition is definition
    assert session.options == stepwise_agent_session_options(definition)
    other = AgentSessionOptions(max_error_bytes=1000)
    assert stepwise_agent_session(definition, flow_type="Agent", options=other).options == other


def test_a_flow_is_made_of_the_same_session() -> None:
    flow = stepwise_agent_session_flow(agent(tools=[save]), flow_type="Agent")
    assert flow.get_flow_type() == "Agent"
    assert "save" in flow.session.options.tool_policies


def test_only_a_definition_can_be_run() -> None:
    with pytest.raises(TypeError, match=rf"str is no {PACKAGE}\.stepwise\.definition\.Agent"):
        StepwiseAgentRunner(cast(Any, "agent"))
