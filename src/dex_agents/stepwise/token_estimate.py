# twin: shared
"""Estimate how many tokens an input has, without a provider's tokenizer."""

from dex_agents.model.wire import json_text
from dex_agents.runner.estimates import estimate_text_tokens
from dex_agents.stepwise.model_types import (
    ModelInputItem,
    ModelOutputItem,
    ModelRequest,
    ToolResultItem,
    UserTextItem,
)

# The role, the separators and the IDs of one item.
_ITEM_TOKENS = 4


def estimate_input_tokens(request: ModelRequest) -> int:
    """Return about how many tokens the input of a request has."""
    tokens = estimate_text_tokens(request.instructions)
    for tool in request.tools:
        tokens += _ITEM_TOKENS + estimate_text_tokens(tool.name + tool.description)
        tokens += estimate_text_tokens(json_text(dict(tool.parameters_schema)))
    return tokens + sum(_item_tokens(item) for item in request.input_items)


def _item_tokens(item: ModelInputItem) -> int:
    # Called for every item of a history: the cheapest test first.
    if type(item) is ModelOutputItem:
        # The provider's form, where there is one, holds the text and the arguments.
        text = item.item or f"{item.text}{item.tool_name or ''}{item.arguments or ''}"
    elif isinstance(item, ToolResultItem):
        text = item.output
    elif isinstance(item, UserTextItem):
        text = item.text
    else:
        raise TypeError(f"not a model input item: {type(item).__name__}")
    return _ITEM_TOKENS + estimate_text_tokens(text)
