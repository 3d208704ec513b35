# twin: shared
"""Prove the stored form of a conversation, which old sessions keep for good."""

import json
from dataclasses import replace

import pytest

from dex_agents.errors import NonRetryableError
from dex_agents.model.messages import AgentMessage, FrameworkMessage, MessageRole
from dex_agents.stepwise.model_types import (
    ModelInputItem,
    ModelOutputItem,
    ModelOutputKind,
    ToolResultItem,
    UserTextItem,
)
from dex_agents.stepwise.stored_items import (
    model_output_message,
    read_item,
    tool_result_message,
    user_text_message,
)
from tests.shared.stepwise.histories import (
    call_item,
    message_item,
    reasoning_item,
    result_item,
    stored,
)


def message_of(item: ModelInputItem) -> FrameworkMessage:
    match item:
        case UserTextItem():
            return user_text_message(item.text)
        case ToolResultItem():
            return tool_result_message(item)
        case ModelOutputItem():
            return model_output_message(item)


def stored_one(message: FrameworkMessage) -> AgentMessage:
    """Return the message as it is read back from the text that was stored."""
    return AgentMessage.from_text(stored([message])[0].to_text())


@pytest.mark.parametrize(
    "item",
    [
        UserTextItem("hello"),
        result_item("a", "6 apples"),
        message_item("hi"),
        reasoning_item(),
        reasoning_item("thought about it"),
        call_item("a", arguments='{"n": 1}'),
        call_item("a", arguments="{not json"),
    ],
    ids=lambda item: type(item).__name__,
)
def test_an_item_is_read_as_it_was_written(item: ModelInputItem) -> None:
    assert read_item(stored_one(message_of(item))) == item


def test_the_envelopes_are_durable() -> None:
    assert user_text_message("hello").framework_item == '{"kind":"user_text"}'
    assert tool_result_message(result_item("a")).framework_item == '{"kind":"tool_result"}'
    assert json.loads(model_output_message(message_item("hi")).framework_item) == {
        "kind": "message",
        "provider": "test",
        "item": '{"said": "hi"}',
    }
    assert json.loads(model_output_message(reasoning_item("why")).framework_item) == {
        "kind": "reasoning",
        "provider": "test",
        "item": '{"encrypted" :\t"\\u00e9=="}',
        "text": "why",
    }


def test_a_provider_item_is_kept_byte_for_byte() -> None:
    text = '{ "signature":"\\ud83d\\u0000ab==", "n": 1.0, "é": [ ]\n}'
    item = ModelOutputItem(kind=ModelOutputKind.REASONING, provider="p", item=text)
    read = read_item(stored_one(model_output_message(item)))
    assert isinstance(read, ModelOutputItem)
    assert read.item == text


def test_what_a_person_reads_is_the_messages_text() -> None:
    assert model_output_message(message_item("hi")).text == "hi"
    assert model_output_message(reasoning_item("secret thoughts")).text == ""
    call = model_output_message(call_item("a", "look", '{"n": 1}'))
    assert (call.text, call.tool_call_id, call.tool_name, call.tool_arguments) == (
        "",
        "a",
        "look",
        '{"n": 1}',
    )
    result = tool_result_message(result_item("a", "6 apples"))
    assert (result.role, result.text, result.tool_call_id) == (MessageRole.TOOL, "6 apples", "a")


@pytest.mark.parametrize("kind", ["image", "from a newer release"])
def test_a_kind_of_a_newer_release_is_read_in_plain_terms(kind: str) -> None:
    unknown = f'{{"kind":"{kind}","data":[1]}}'
    user = replace(stored_one(user_text_message("look at this")), framework_item=unknown)
    assert read_item(user) == UserTextItem("look at this")
    call = replace(stored_one(model_output_message(call_item("a"))), framework_item=unknown)
    assert read_item(call) == replace(call_item("a"), provider="", item="")
    said = replace(stored_one(model_output_message(message_item("hi"))), framework_item=unknown)
    assert read_item(said) == replace(message_item("hi"), provider="", item="")


@pytest.mark.parametrize(
    "damaged", ["", "{", "[]", "7", "{}", '{"kind":3}', '{"kind":"message","item":{}}']
)
def test_a_damaged_envelope_ends_the_turn_and_names_the_message(damaged: str) -> None:
    message = replace(stored_one(user_text_message("hi")), framework_item=damaged, sequence=12)
    with pytest.raises(NonRetryableError, match="stored message 000000000012 cannot be read"):
        read_item(message)
