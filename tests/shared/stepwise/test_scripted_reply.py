# twin: shared
"""Prove what a scripted reply becomes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex_agents.model.state import AgentUsage
from dex_agents.runner.estimates import estimate_text_tokens
from dex_agents.stepwise.model_types import (
    ModelInputItem,
    ModelOutputKind,
    ModelRequest,
    ModelTool,
    UserTextItem,
)
from dex_agents.stepwise.scripted_reply import (
    ScriptedModelReply,
    ScriptedToolCall,
    response_of,
    text_deltas,
)
from dex_agents.stepwise.token_estimate import estimate_input_tokens
from tests.shared.stepwise.histories import call_item, message_item, result_item


@given(st.text())
def test_the_deltas_together_are_the_text(text: str) -> None:
    assert "".join(text_deltas(text)) == text


def test_a_delta_is_a_word() -> None:
    assert text_deltas("one  two\nthree") == ["one  ", "two\n", "three"]
    assert text_deltas("") == []


def test_items_come_as_reasoning_message_and_calls() -> None:
    reply = ScriptedModelReply(
        text="hi",
        reasoning="hm",
        tool_calls=[
            ScriptedToolCall("look", {"q": "é"}),
            ScriptedToolCall("look", "{oops", tool_call_id="mine"),
        ],
    )
    items = response_of(reply, ModelRequest(model_call_number=3)).output_items
    kinds = ModelOutputKind
    assert [item.kind for item in items] == [
        kinds.REASONING,
        kinds.MESSAGE,
        kinds.TOOL_CALL,
        kinds.TOOL_CALL,
    ]
    assert [item.text for item in items[:2]] == ["hm", "hi"]
    assert [(c.tool_call_id, c.tool_name, c.arguments) for c in items[2:]] == [
        ("call-3-1", "look", '{"q":"é"}'),
        ("mine", "look", "{oops"),
    ]


def test_an_empty_reply_is_an_empty_response() -> None:
    assert response_of(ScriptedModelReply(), ModelRequest()).output_items == []


def test_arguments_must_be_json() -> None:
    reply = ScriptedModelReply(tool_calls=[ScriptedToolCall("look", {"q": object()})])
    with pytest.raises(TypeError, match="not JSON serializable"):
        response_of(reply, ModelRequest())


def test_usage_is_estimated_unless_given() -> None:
    given_usage = AgentUsage(input_tokens=1)
    request = ModelRequest(input_items=[UserTextItem("hello")])
    assert response_of(ScriptedModelReply(usage=given_usage), request).usage == given_usage
    usage = response_of(ScriptedModelReply(text="hi"), request).usage
    assert usage.input_tokens == estimate_input_tokens(request) > 0
    assert usage.output_tokens > 0


def test_an_estimate_grows_with_everything_that_is_sent() -> None:
    assert [estimate_text_tokens(text) for text in ("", "a", "abc", "abcd", "日本")] == [
        0,
        1,
        1,
        2,
        2,
    ]
    tool = ModelTool(name="look", description="Look.", parameters_schema={"type": "object"})
    items: list[ModelInputItem] = [
        UserTextItem("hello"),
        message_item("hi"),
        call_item("a"),
        result_item("a"),
    ]
    estimates = [estimate_input_tokens(ModelRequest())]
    estimates += [
        estimate_input_tokens(ModelRequest(instructions="Help.", input_items=items[:count]))
        for count in range(len(items) + 1)
    ]
    estimates.append(
        estimate_input_tokens(ModelRequest(instructions="Help.", input_items=items, tools=[tool]))
    )
    assert estimates[0] == 0
    assert estimates == sorted(set(estimates))
