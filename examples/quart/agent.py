"""The demo's agent: order support with three tools, answered by a script instead of a model.

Put a real model client in the place of `PacedModelClient`, and nothing else changes.
"""

import asyncio
import json
import re
from collections.abc import Sequence

from dex_agents import AgentSession, ToolEffect, ToolExecutionError
from dex_agents.stepwise import (
    AgentDefinition,
    FunctionTool,
    ModelOutputWriter,
    ModelRequest,
    ModelResponse,
    ScriptedModelClient,
    ScriptedModelReply,
    ScriptedToolCall,
    ToolCallContext,
    ToolResultItem,
    function_tool,
    stepwise_agent_session,
)

FLOW_TYPE = "OrderSupport"
ITEMS = ("desk lamp", "kettle", "garden chair", "rucksack")
HELP = (
    "I can look up an order, check the stock for a replacement, and refund an order. "
    'Try "Where is order 7?" or "Please refund order 7".'
)


def support_session(*, pace: float = 1.0) -> AgentSession:
    """Return the agent as an engine runs it.

    Args:
        pace: How slow tools and model pretend to be; 0 for tests.
    """
    scripted = ScriptedModelClient(reply_as_support)
    definition = AgentDefinition(
        name="support",
        instructions="You help customers with their orders.",
        model=PacedModelClient(scripted, word_seconds=0.05 * pace),
        tools=order_tools(pace),
    )
    return stepwise_agent_session(definition, flow_type=FLOW_TYPE)


def order_tools(pace: float) -> Sequence[FunctionTool]:
    """Return the tools. The effect of each says what may happen to it after a crash."""

    @function_tool(effect=ToolEffect.READ)
    async def lookup_order(order_id: str) -> dict[str, str | int]:
        """Look up an order by its number."""
        await asyncio.sleep(1.0 * pace)
        number = int(order_id)
        if not 1 <= number <= 99:
            raise ToolExecutionError(f"there is no order {order_id}; orders are 1 to 99")
        item = ITEMS[number % len(ITEMS)]
        return {"order_id": order_id, "item": item, "price_cents": 1990 + 100 * number}

    @function_tool(effect=ToolEffect.READ)
    async def check_stock(order_id: str) -> dict[str, str | int]:
        """Tell how many replacements for the item of an order are in stock."""
        await asyncio.sleep(3.0 * pace)
        return {"order_id": order_id, "in_stock": int(order_id) * 3 % 20}

    # It moves money, so a person approves each call, and a crash never makes it run twice.
    @function_tool(effect=ToolEffect.NON_IDEMPOTENT_WRITE)
    async def refund_order(
        order_id: str, amount_cents: int, context: ToolCallContext
    ) -> dict[str, str | int]:
        """Pay an order's price back to the customer."""
        await asyncio.sleep(2.0 * pace)
        return {"order_id": order_id, "amount_cents": amount_cents, "refund_id": f"R-{order_id}"}

    return [lookup_order, check_stock, refund_order]


class PacedModelClient:
    """Streams a scripted answer at the speed of a real model."""

    def __init__(self, scripted: ScriptedModelClient, word_seconds: float) -> None:
        """Slow a scripted client down."""
        self._scripted = scripted
        self._word_seconds = word_seconds

    async def call_model(
        self, request: ModelRequest, output: ModelOutputWriter, /
    ) -> ModelResponse:
        """Return the script's answer, after writing it word by word."""
        words = WordList()
        response = await self._scripted.call_model(request, words)
        for word in words:
            await asyncio.sleep(self._word_seconds)
            output.write_text_delta(word)
        return response

    def estimate_input_tokens(self, request: ModelRequest, /) -> int:
        """Return about how many tokens the input of a request has."""
        return self._scripted.estimate_input_tokens(request)


class WordList(list[str]):
    """A model output that keeps what is written to it."""

    def write_text_delta(self, text: str) -> None:
        """Keep a piece of text."""
        self.append(text)

    def write_reasoning_delta(self, text: str) -> None:
        """Drop it; this script has no reasoning."""

    def is_cancelled(self) -> bool:
        """Tell that nobody gives up on this."""
        return False


# -- the script ------------------------------------------------------------------------------------
# It depends on the request alone: a model call that a crash interrupted is made again, and must
# get the same answer.


def reply_as_support(request: ModelRequest) -> ScriptedModelReply:
    """Answer one model call."""
    question = ScriptedModelClient.user_texts(request)[-1]
    results = ScriptedModelClient.tool_results(request)
    order_ids = list(dict.fromkeys(re.findall(r"\d{1,9}", question)))
    if not order_ids:
        return ScriptedModelReply(text=HELP)
    if "refund" in question.lower():
        return reply_about_refunds(order_ids, results)
    return reply_about_orders(order_ids, results)


def reply_about_orders(
    order_ids: Sequence[str], results: Sequence[ToolResultItem]
) -> ScriptedModelReply:
    """Look up orders and stock at the same time, then say what was found."""
    if not results:
        calls = [
            order_call(tool, id) for id in order_ids for tool in ("lookup_order", "check_stock")
        ]
        return ScriptedModelReply(text="I will look at the order and the stock.", tool_calls=calls)
    sentences: list[str] = []
    for result in results:
        found = parsed(result.output)
        if found is None:
            sentences.append(result.output)
        elif result.tool_name == "lookup_order":
            sentences.append(f"Order {found['order_id']} is a {found['item']}; it was delivered.")
        else:
            sentences.append(f"We have {found['in_stock']} of that kind in stock.")
    return ScriptedModelReply(text=" ".join(sentences))


def reply_about_refunds(
    order_ids: Sequence[str], results: Sequence[ToolResultItem]
) -> ScriptedModelReply:
    """Look the orders up, ask to refund what was found, then say what came of it."""
    if not results:
        calls = [order_call("lookup_order", order_id) for order_id in order_ids]
        return ScriptedModelReply(
            text=f"Let me look up {'orders' if len(order_ids) > 1 else 'order'} "
            f"{' and '.join(order_ids)} first.",
            tool_calls=calls,
        )
    refunds = [result for result in results if result.tool_name == "refund_order"]
    if refunds:
        return ScriptedModelReply(text="\n".join(refund_sentence(refund) for refund in refunds))
    orders = [found for result in results if (found := parsed(result.output)) is not None]
    if not orders:
        return ScriptedModelReply(text=" ".join(result.output for result in results))
    return ScriptedModelReply(
        text=" ".join(
            f"Order {order['order_id']} is a {order['item']} for {euros(order['price_cents'])}."
            for order in orders
        )
        + " A refund needs an approval.",
        tool_calls=[
            order_call(
                "refund_order", str(order["order_id"]), amount_cents=int(order["price_cents"])
            )
            for order in orders
        ],
    )


def refund_sentence(refund: ToolResultItem) -> str:
    """Say what came of one refund."""
    found = parsed(refund.output)
    if found is None:
        order_id = refund.tool_call_id.rpartition("-")[2]
        return f"Order {order_id} was not refunded. {refund.output}"
    return (
        f"Order {found['order_id']} is refunded: {euros(found['amount_cents'])} are on their way "
        f"(refund {found['refund_id']})."
    )


def order_call(tool_name: str, order_id: str, **arguments: int) -> ScriptedToolCall:
    """Return a tool call about an order; the order is a part of its ID."""
    return ScriptedToolCall(
        tool_name, {"order_id": order_id, **arguments}, tool_call_id=f"{tool_name}-{order_id}"
    )


def parsed(output: str) -> dict[str, str | int] | None:
    """Return what a tool found; `None` when the session tells a failure instead."""
    try:
        found: dict[str, str | int] = json.loads(output)
    except ValueError:
        return None
    return found


def euros(cents: str | int) -> str:
    """Return an amount for people."""
    return f"{int(cents) / 100:.2f} EUR"
