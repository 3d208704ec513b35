# twin: sync-only
"""What is written for the other package is refused where it is handed in, with the cure."""

import functools
from typing import Any, cast

import pytest

from dex_agents.model.tool_calls import ToolEffect
from dex_agents.stepwise import ModelRequest, ModelResponse, ScriptedModelReply
from dex_agents.stepwise import function_tool as async_function_tool
from dex_agents.stepwise.definition import AgentDefinition as AsyncAgentDefinition
from dex_agents.stepwise.scripted import ScriptedModelClient as AsyncScriptedModelClient
from dex_agents.tools.function_tool import ToolCallContext as AsyncToolCallContext
from dex_agents_sync.stepwise import (
    AgentDefinition,
    ModelOutputWriter,
    ScriptedModelClient,
    StepwiseAgentRunner,
    function_tool,
)

MODEL = ScriptedModelClient(lambda request: ScriptedModelReply(text="hi"))
CURE = "dex_agents_sync calls plain functions. Make it 'def', or import from dex_agents instead"


async def look(q: str = "") -> str:
    """Look something up."""
    return q


class CallableObject:
    async def __call__(self, request: object) -> ScriptedModelReply:
        return ScriptedModelReply(text="hi")


def test_an_async_function_cannot_be_a_tool() -> None:
    with pytest.raises(TypeError) as raised:
        function_tool(effect=ToolEffect.READ)(look)
    assert str(raised.value) == f"the function of tool 'look' is a coroutine function; {CURE}"


def test_an_async_generator_function_cannot_be_a_tool() -> None:
    async def stream() -> Any:
        yield "a"

    with pytest.raises(TypeError, match="the function of tool 'stream' is a coroutine function"):
        function_tool(effect=ToolEffect.READ)(stream)


def test_a_tool_of_the_other_package_is_refused() -> None:
    other = async_function_tool(effect=ToolEffect.READ)(look)
    with pytest.raises(
        TypeError,
        match=r"FunctionTool\('look', read\) is a tool of dex_agents; "
        r"import function_tool from dex_agents_sync\.stepwise instead",
    ):
        AgentDefinition(name="a", instructions="", model=MODEL, tools=[cast(Any, other)])


def test_a_tool_of_this_package_is_refused_by_the_other() -> None:
    @function_tool(effect=ToolEffect.READ)
    def find() -> str:
        return ""

    model = AsyncScriptedModelClient(lambda request: ScriptedModelReply(text="hi"))
    with pytest.raises(
        TypeError,
        match=r"is a tool of dex_agents_sync; import function_tool from dex_agents\.stepwise",
    ):
        AsyncAgentDefinition(name="a", instructions="", model=model, tools=[cast(Any, find)])


def test_the_context_of_the_other_package_names_the_import() -> None:
    def find(context: AsyncToolCallContext) -> str:
        return ""

    with pytest.raises(TypeError, match=r"import ToolCallContext from dex_agents_sync\.stepwise$"):
        function_tool(effect=ToolEffect.READ)(find)


def test_an_async_model_client_is_refused() -> None:
    class Client:
        async def call_model(
            self, request: ModelRequest, output: ModelOutputWriter
        ) -> ModelResponse:
            return ModelResponse()

        def estimate_input_tokens(self, request: ModelRequest) -> int:
            return 0

    with pytest.raises(
        TypeError,
        match=r"model client Client\.call_model is a coroutine function; .* "
        r"import from dex_agents instead",
    ):
        AgentDefinition(name="a", instructions="", model=cast(Any, Client()))


@pytest.mark.parametrize("instructions", [look, functools.partial(look, q="x"), CallableObject()])
def test_an_async_instructions_function_is_refused(instructions: Any) -> None:
    with pytest.raises(TypeError, match=r"^the instructions function .* is a coroutine function; "):
        AgentDefinition(name="a", instructions=instructions, model=MODEL)


@pytest.mark.parametrize("respond", [look, CallableObject()])
def test_an_async_script_is_refused(respond: Any) -> None:
    with pytest.raises(TypeError, match=r"^the respond function of ScriptedModelClient is a corou"):
        ScriptedModelClient(respond)


def test_a_definition_of_the_other_package_is_refused() -> None:
    model = AsyncScriptedModelClient(lambda request: ScriptedModelReply(text="hi"))
    definition: Any = AsyncAgentDefinition(name="a", instructions="", model=model)
    with pytest.raises(
        TypeError,
        match=r"^dex_agents\.stepwise\.definition\.AgentDefinition is no "
        r"dex_agents_sync\.stepwise\.definition\.AgentDefinition$",
    ):
        StepwiseAgentRunner(definition)
