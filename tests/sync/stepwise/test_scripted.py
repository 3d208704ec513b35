# twin: generated from tests/aio/stepwise/test_scripted.py by tools/twin; do not edit.
"""Prove that a scripted model behaves like a client of a provider."""

import json
from typing import Any, cast

import pytest

from dex_agents_sync._seam.concurrency import gather
from dex_agents.model.events import AgentEventType
from dex_agents.stepwise.model_types import ModelInputItem, ModelRequest, UserTextItem
from dex_agents_sync.stepwise.scripted import ScriptedModelClient
from dex_agents.stepwise.scripted_reply import ScriptedModelReply, response_of
from dex_agents_sync.testing.recorder import RecordingEmitter
from tests.sync.stepwise.contexts import model_of, runner_of, turn_context

from tests.shared.stepwise.histories import call_item, message_item, result_item


class Output:
    """Keep what a client streams."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []

    def write_text_delta(self, text: str) -> None:
        self.text.append(text)

    def write_reasoning_delta(self, text: str) -> None:
        self.reasoning.append(text)

    def is_cancelled(self) -> bool:
        return False


def test_a_reply_is_streamed_in_deltas_and_returned() -> None:
    reply = ScriptedModelReply(text="one two three", reasoning="let me think")
    output = Output()
    request = ModelRequest(input_items=[UserTextItem("hello")])
    response = model_of(reply).call_model(request, output)
    assert output.text == ["one ", "two ", "three"]
    assert output.reasoning == ["let ", "me ", "think"]
    assert response == response_of(reply, request)


def test_deltas_become_events_of_the_turn() -> None:
    emitter = RecordingEmitter()
    model = model_of(ScriptedModelReply(text="one two", reasoning="hm"))
    runner_of(model).run_model_step(turn_context(emitter=emitter))
    events = [json.loads(event) for event in emitter.events]
    assert [(event["type"], json.loads(event["payload"])["text"]) for event in events] == [
        (AgentEventType.REASONING_DELTA, "hm"),
        (AgentEventType.TEXT_DELTA, "one "),
        (AgentEventType.TEXT_DELTA, "two"),
    ]











def test_the_latest_requests_are_kept() -> None:
    client = ScriptedModelClient(
        lambda request: ScriptedModelReply(text="hi"), max_recorded_requests=2
    )
    for number in (1, 2, 3):
        client.call_model(ModelRequest(model_call_number=number), Output())
    assert [request.model_call_number for request in client.requests] == [2, 3]


def test_parallel_calls_are_all_recorded() -> None:
    client = model_of(ScriptedModelReply(text="hi"))

    def call() -> object:
        return client.call_model(ModelRequest(), Output())

    gather(*[call] * 20)
    assert len(client.requests) == 20


def test_a_script_that_returns_something_else_is_named() -> None:
    client = ScriptedModelClient(cast(Any, lambda request: "hi"))
    with pytest.raises(TypeError, match="must return a ScriptedModelReply, not str"):
        client.call_model(ModelRequest(), Output())


def test_a_script_must_be_a_function() -> None:
    with pytest.raises(TypeError, match="respond must be a function, not ScriptedModelReply"):
        ScriptedModelClient(cast(Any, ScriptedModelReply(text="hi")))
    with pytest.raises(ValueError, match="max_recorded_requests must not be negative"):
        model: Any = ScriptedModelClient
        model(lambda request: ScriptedModelReply(), max_recorded_requests=-1)


def test_a_script_reads_the_request() -> None:
    items: list[ModelInputItem] = [
        UserTextItem("first"),
        call_item("a"),
        result_item("a", "old"),
        message_item("ok"),
        UserTextItem("second"),
        call_item("a"),
        call_item("b"),
        result_item("a", "one"),
        result_item("b", "two"),
        call_item("c"),
        result_item("c", "three"),
    ]
    request = ModelRequest(input_items=items)
    assert ScriptedModelClient.user_texts(request) == ["first", "second"]
    outputs = [result.output for result in ScriptedModelClient.tool_results(request)]
    assert outputs == ["one", "two", "three"]
    later = ModelRequest(input_items=[*items, UserTextItem("third")])
    assert ScriptedModelClient.tool_results(later) == []


def test_tokens_are_estimated() -> None:
    client = model_of(ScriptedModelReply())
    short = ModelRequest(input_items=[UserTextItem("hi")])
    long = ModelRequest(input_items=[UserTextItem("hi " * 100)])
    assert 0 < client.estimate_input_tokens(short) < client.estimate_input_tokens(long)
