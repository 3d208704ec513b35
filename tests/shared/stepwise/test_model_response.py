# twin: shared
"""Prove that what a model client returns wrongly is named, and ends the turn at once."""

from typing import Any, cast

import pytest

from dex_agents.stepwise.model_response import InvalidModelResponseError, checked_model_response
from dex_agents.stepwise.model_types import (
    ModelOutputItem,
    ModelOutputKind,
    ModelResponse,
    ModelSettings,
)
from tests.shared.stepwise.histories import call_item, message_item


class MyClient:
    pass


def call_with(**changes: object) -> ModelOutputItem:
    values: dict[str, Any] = {
        "kind": ModelOutputKind.TOOL_CALL,
        "provider": "p",
        "item": "{}",
        "tool_call_id": "a",
        "tool_name": "look",
        "arguments": "{}",
        **changes,
    }
    return ModelOutputItem(**values)


def test_a_valid_response_is_returned() -> None:
    response = ModelResponse(output_items=[message_item("hi"), call_item("a")])
    assert checked_model_response(response, MyClient()) is response
    assert checked_model_response(ModelResponse(), MyClient()) == ModelResponse()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "call_model must return a ModelResponse, not NoneType"),
        ("text", "call_model must return a ModelResponse, not str"),
        (
            ModelResponse(output_items=cast(Any, "text")),
            r"ModelResponse\.output_items must be a sequence, not str",
        ),
        (
            ModelResponse(output_items=cast(Any, [message_item("hi"), {}])),
            r"ModelResponse\.output_items\[1\] must be ModelOutputItem, not dict",
        ),
        (ModelResponse(usage=cast(Any, 3)), r"ModelResponse\.usage must be AgentUsage, not int"),
        (
            ModelResponse(metadata=cast(Any, {})),
            r"ModelResponse\.metadata must be ModelCallMetadata, not dict",
        ),
        (
            ModelResponse(output_items=[call_with(arguments=None)]),
            r"output_items\[0\]\.arguments must be str, not NoneType",
        ),
        (
            ModelResponse(output_items=[call_with(tool_call_id=7)]),
            r"output_items\[0\]\.tool_call_id must be str, not int",
        ),
        (
            ModelResponse(output_items=[call_with(item={"id": "a"})]),
            r"output_items\[0\]\.item must be str, not dict",
        ),
    ],
)
def test_an_invalid_response_names_the_client_and_the_place(value: object, reason: str) -> None:
    with pytest.raises(TypeError, match=f"^model client MyClient: .*{reason}") as raised:
        checked_model_response(value, MyClient())
    assert isinstance(raised.value, InvalidModelResponseError)
    assert raised.value.is_permanent is True


def test_an_unknown_kind_is_refused_where_it_is_made() -> None:
    with pytest.raises(ValueError, match="'thinking' is not a valid ModelOutputKind"):
        call_with(kind="thinking")


@pytest.mark.parametrize(
    "settings", [{"max_output_tokens": 0}, {"temperature": -0.1}, {"top_p": 1.1}]
)
def test_settings_that_no_provider_takes_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        ModelSettings(**settings)
