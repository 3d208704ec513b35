"""The benchmark's agent in either colour: model call, two parallel tools, model call."""

from typing import Any

from dex_agents.model.tool_calls import ToolEffect


def respond(request: Any, package: Any) -> Any:
    """Ask for two tools, then answer."""
    if package.ScriptedModelClient.tool_results(request):
        return package.ScriptedModelReply(text="All of it is in stock.")
    calls = [
        package.ScriptedToolCall("lookup", {"order": "7"}),
        package.ScriptedToolCall("stock", {"order": "7"}),
    ]
    return package.ScriptedModelReply(tool_calls=calls)


def build_async_session() -> Any:
    """Return the agent of `dex_agents`, its tools without a thread."""
    from dex_agents import stepwise

    @stepwise.function_tool(effect=ToolEffect.READ)
    async def lookup(order: str) -> str:
        """Look an order up."""
        return f"order {order}"

    @stepwise.function_tool(effect=ToolEffect.READ)
    async def stock(order: str) -> str:
        """Check the stock."""
        return f"stock for {order}"

    async def answer(request: stepwise.ModelRequest) -> stepwise.ScriptedModelReply:
        # A plain script would run in a thread of its own, which is not what is measured here.
        reply: stepwise.ScriptedModelReply = respond(request, stepwise)
        return reply

    return _session(stepwise, [lookup, stock], answer)


def build_sync_session() -> Any:
    """Return the agent of `dex_agents_sync`."""
    from dex_agents_sync import stepwise

    @stepwise.function_tool(effect=ToolEffect.READ)
    def lookup(order: str) -> str:
        """Look an order up."""
        return f"order {order}"

    @stepwise.function_tool(effect=ToolEffect.READ)
    def stock(order: str) -> str:
        """Check the stock."""
        return f"stock for {order}"

    return _session(stepwise, [lookup, stock], lambda request: respond(request, stepwise))


def _session(package: Any, tools: list[Any], script: Any) -> Any:
    definition = package.AgentDefinition(
        name="bench",
        instructions="Answer.",
        model=package.ScriptedModelClient(script),
        tools=tools,
    )
    return package.stepwise_agent_session(definition, flow_type="Bench")
