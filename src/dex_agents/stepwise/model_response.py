# twin: shared
"""Check what a model client answered."""

from collections.abc import Sequence
from typing import Final, cast

from dex_agents.model.state import AgentUsage
from dex_agents.runner.outcomes import ModelCallMetadata
from dex_agents.stepwise.model_types import ModelOutputItem, ModelOutputKind, ModelResponse


class InvalidModelResponseError(TypeError):
    """Say what a model client returned wrongly.

    Attributes:
        is_permanent: The client would do it again, for the price of another model call.
    """

    is_permanent: Final = True


def checked_model_response(value: object, client: object) -> ModelResponse:
    """Return what a model client returned when a runner can go on from it.

    The session checks the IDs of the tool calls.

    Raises:
        InvalidModelResponseError: It cannot; the text names the client.
    """
    name = f"model client {type(client).__name__}"
    if not isinstance(value, ModelResponse):
        raise InvalidModelResponseError(
            f"{name}: call_model must return a ModelResponse, not {type(value).__name__}"
        )
    items = cast("object", value.output_items)
    if not isinstance(items, Sequence) or isinstance(items, str):
        raise InvalidModelResponseError(
            f"{name}: ModelResponse.output_items must be a sequence, not {type(items).__name__}"
        )
    for index, item in enumerate(cast("Sequence[object]", items)):
        _check_item(item, f"{name}: ModelResponse.output_items[{index}]")
    _check_type(value.usage, AgentUsage, f"{name}: ModelResponse.usage")
    if value.metadata is not None:
        _check_type(value.metadata, ModelCallMetadata, f"{name}: ModelResponse.metadata")
    return value


def _check_item(item: object, where: str) -> None:
    _check_type(item, ModelOutputItem, where)
    names = ["provider", "item", "text"]
    if cast("ModelOutputItem", item).kind is ModelOutputKind.TOOL_CALL:
        names += ["tool_call_id", "tool_name", "arguments"]
    for name in names:
        _check_type(getattr(item, name), str, f"{where}.{name}")


def _check_type(value: object, expected: type, where: str) -> None:
    if not isinstance(value, expected):
        raise InvalidModelResponseError(
            f"{where} must be {expected.__name__}, not {type(value).__name__}"
        )
