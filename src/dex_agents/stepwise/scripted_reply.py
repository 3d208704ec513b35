# twin: shared
"""What a scripted model answers, and the response that it becomes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dex_agents.model.state import AgentUsage
from dex_agents.model.wire import JsonValue, json_text
from dex_agents.runner.estimates import estimate_text_tokens
from dex_agents.runner.outcomes import ModelCallMetadata
from dex_agents.stepwise.model_types import (
    ModelOutputItem,
    ModelOutputKind,
    ModelRequest,
    ModelResponse,
)
from dex_agents.stepwise.token_estimate import estimate_input_tokens

_PROVIDER: Final = "scripted"
_WORDS: Final = re.compile(r"\s*\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class ScriptedToolCall:
    """A tool call of a scripted reply.

    Attributes:
        name: The tool's name.
        arguments: The arguments; text is taken as it is, so that a script can be wrong too.
        tool_call_id: Unique within the turn; `None` makes one from the model call and the
            place in it, the same whenever the script runs again.
    """

    name: str
    arguments: Mapping[str, object] | str = field(default_factory=dict[str, object])
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedModelReply:
    """One answer of a scripted model; without tool calls it ends the turn.

    Attributes:
        text: The message; empty for none.
        tool_calls: The tool calls, in order.
        reasoning: The reasoning; empty for none.
        usage: The tokens of the call; `None` estimates them.
    """

    text: str = ""
    tool_calls: Sequence[ScriptedToolCall] = ()
    reasoning: str = ""
    usage: AgentUsage | None = None


def text_deltas(text: str) -> Sequence[str]:
    """Return the text in the pieces in which it is streamed: a word with the space after it."""
    return _WORDS.findall(text)


def response_of(reply: ScriptedModelReply, request: ModelRequest) -> ModelResponse:
    """Return the model response that a reply stands for."""
    items: list[ModelOutputItem] = []
    if reply.reasoning:
        items.append(_text_item(ModelOutputKind.REASONING, reply.reasoning))
    if reply.text:
        items.append(_text_item(ModelOutputKind.MESSAGE, reply.text))
    for index, call in enumerate(reply.tool_calls, start=1):
        items.append(_tool_call_item(call, f"call-{request.model_call_number}-{index}"))
    usage = reply.usage or AgentUsage(
        input_tokens=estimate_input_tokens(request),
        output_tokens=sum(estimate_text_tokens(item.item) for item in items),
        reasoning_tokens=estimate_text_tokens(reply.reasoning),
    )
    metadata = ModelCallMetadata(
        request_model=_PROVIDER,
        response_model=_PROVIDER,
        provider_name=_PROVIDER,
        finish_reasons=("tool_calls",) if reply.tool_calls else ("stop",),
    )
    return ModelResponse(output_items=items, usage=usage, metadata=metadata)


def _text_item(kind: ModelOutputKind, text: str) -> ModelOutputItem:
    item = json_text({"type": kind.value, "text": text})
    return ModelOutputItem(kind=kind, provider=_PROVIDER, item=item, text=text)


def _tool_call_item(call: ScriptedToolCall, default_id: str) -> ModelOutputItem:
    call_id = default_id if call.tool_call_id is None else call.tool_call_id
    given = call.arguments
    arguments = given if isinstance(given, str) else json_text(dict(given))
    item: dict[str, JsonValue] = {
        "type": ModelOutputKind.TOOL_CALL.value,
        "tool_call_id": call_id,
        "tool_name": call.name,
        "arguments": arguments,
    }
    return ModelOutputItem(
        kind=ModelOutputKind.TOOL_CALL,
        provider=_PROVIDER,
        item=json_text(item),
        tool_call_id=call_id,
        tool_name=call.name,
        arguments=arguments,
    )
