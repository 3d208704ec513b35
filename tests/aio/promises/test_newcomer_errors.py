# twin: source
"""The mistakes of a first hour each get an error that names them and says what to do."""

import pytest

from dex_agents.engine.embedded.runtime import EmbeddedEngine
from dex_agents.model.tool_calls import ToolEffect
from dex_agents.stepwise import (
    AgentDefinition,
    FunctionTool,
    ScriptedModelClient,
    function_tool,
    stepwise_agent_session,
)
from tests.aio.support import build_session, echo, run_turn, texts


def a_tool(name: str) -> FunctionTool:
    @function_tool(effect=ToolEffect.READ, name=name)
    async def run(value: str) -> str:
        """Return the value."""
        return value

    return run


def define(*tools: object) -> AgentDefinition:
    return AgentDefinition(
        name="a",
        instructions="x",
        model=ScriptedModelClient(echo),
        tools=list(tools),  # type: ignore[arg-type]  # the mistakes under test
    )


def test_a_tool_without_an_effect_is_told_the_effects() -> None:
    def lookup(order: str) -> str:
        """Look up."""
        return order

    with pytest.raises(TypeError, match=r"effect=.*READ"):
        function_tool(lookup)  # type: ignore[arg-type]  # the mistake under test


def test_a_plain_function_in_tools_is_told_about_the_decorator() -> None:
    def lookup(order: str) -> str:
        """Look up."""
        return order

    with pytest.raises(TypeError, match="@function_tool"):
        define(lookup)


def test_two_tools_of_one_name_are_named() -> None:
    with pytest.raises(ValueError, match="lookup"):
        define(a_tool("lookup"), a_tool("lookup"))


def test_a_parameter_without_a_schema_is_named() -> None:
    with pytest.raises(TypeError, match="value"):

        @function_tool(effect=ToolEffect.READ)
        async def run(value: complex) -> str:
            """Return the value."""
            return str(value)


def test_a_bad_hand_written_schema_is_refused_at_definition() -> None:
    with pytest.raises(ValueError, match="run"):

        @function_tool(effect=ToolEffect.READ, parameters_schema={"type": "text"})
        async def run(value: str) -> str:
            """Return the value."""
            return value


def test_a_flow_type_that_cannot_be_stored_is_refused() -> None:
    with pytest.raises(ValueError, match="flow_type"):
        stepwise_agent_session(define(), flow_type="a/b")


async def test_a_blank_message_is_refused_and_changes_nothing() -> None:
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(echo))
        await sessions.start_session("s-1")
        assert not await sessions.send_user_message("s-1", "  \n ")
        snapshot = await run_turn(sessions, "s-1", "hello")
        assert texts(snapshot) == ["hello", "echo hello"]


async def test_a_session_id_that_cannot_be_stored_is_refused() -> None:
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(echo))
        for session_id in ("", "a/b", "a$b", "a:b"):
            with pytest.raises(ValueError, match="session_id"):
                await sessions.start_session(session_id)


async def test_a_second_agent_of_one_flow_type_is_refused() -> None:
    async with EmbeddedEngine(":memory:") as engine:
        engine.serve(build_session(echo))
        with pytest.raises(ValueError, match="flow_type of its own"):
            engine.serve(build_session(echo))


async def test_a_session_of_another_agent_is_refused() -> None:
    import dex

    async with EmbeddedEngine(":memory:") as engine:
        one = engine.serve(build_session(echo, flow_type="One"))
        two = engine.serve(build_session(echo, flow_type="Two"))
        await one.start_session("s-1")
        with pytest.raises(dex.DexServiceError, match="one of 'One'"):
            await two.send_user_message("s-1", "hello")


async def test_what_is_no_session_cannot_be_served() -> None:
    async with EmbeddedEngine(":memory:") as engine:
        with pytest.raises(TypeError, match="AgentSession of this package"):
            engine.serve(define())  # type: ignore[arg-type]  # the mistake under test
