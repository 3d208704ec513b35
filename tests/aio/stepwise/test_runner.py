# twin: source
"""Prove what one Step of the Stepwise runner does with a turn and with a tool call."""

import json
from dataclasses import replace
from typing import Any

import pytest

from dex_agents.errors import NonRetryableError, ToolExecutionError
from dex_agents.model.messages import FrameworkMessage, MessageRole
from dex_agents.model.options import AgentSessionOptions
from dex_agents.model.state import AgentUsage
from dex_agents.model.tool_calls import AgentToolCall, ToolCallStatus, ToolEffect, ToolPolicy
from dex_agents.runner.outcomes import ToolCallsRequested, ToolExecutionResult, TurnCompleted
from dex_agents.stepwise.instruction_context import InstructionContext
from dex_agents.stepwise.model_client import ModelOutputWriter
from dex_agents.stepwise.model_response import InvalidModelResponseError
from dex_agents.stepwise.model_types import (
    ModelRequest,
    ModelResponse,
    ModelSettings,
    UserTextItem,
)
from dex_agents.stepwise.scripted_reply import ScriptedModelReply, ScriptedToolCall
from dex_agents.stepwise.stored_items import user_text_message
from dex_agents.tools.function_tool import ToolCallContext, function_tool
from tests.aio.stepwise.contexts import model_of, runner_of, tool_execution, turn_context
from tests.colour import async_only
from tests.shared.stepwise.histories import UNKNOWN_OUTCOME, record, result_item, stored

REFUND = ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE)


@function_tool(effect=ToolEffect.READ)
def look(q: str = "") -> str:
    """Look something up."""
    return f"found {q}"


@function_tool(effect=ToolEffect.NON_IDEMPOTENT_WRITE)
def refund(amount: int) -> str:
    """Refund an amount."""
    return f"refunded {amount}"


def asking(*calls: ScriptedToolCall, text: str = "") -> ScriptedModelReply:
    return ScriptedModelReply(text=text, tool_calls=calls)


LOOK = ScriptedToolCall("look", {"q": "x"})


def outline(messages: object) -> list[tuple[str, str]]:
    """Return role and text, or the call, of messages."""
    # Typed as an object, since the session checks it only later.
    found: list[FrameworkMessage] = list(messages)  # type: ignore[call-overload]
    return [(str(m.role), m.text or f"{m.tool_name} {m.tool_call_id}") for m in found]


def test_a_user_message_is_the_users_text() -> None:
    message = runner_of().build_user_message("hello")
    assert message == user_text_message("hello")
    assert message.role is MessageRole.USER


async def test_an_answer_ends_the_turn_and_is_stored() -> None:
    model = model_of(ScriptedModelReply(text="hi", reasoning="greet"))
    outcome = await runner_of(model).run_model_step(turn_context())
    assert isinstance(outcome, TurnCompleted)
    assert outline(outcome.new_messages) == [("assistant", "None None"), ("assistant", "hi")]
    assert outcome.usage.model_calls == 1
    assert outcome.model_call_metadata is not None
    assert outcome.model_call_metadata.provider_name == "scripted"


async def test_an_empty_response_ends_the_turn() -> None:
    outcome = await runner_of(model_of(ScriptedModelReply())).run_model_step(turn_context())
    assert isinstance(outcome, TurnCompleted)
    assert list(outcome.new_messages) == []


async def test_the_request_holds_instructions_input_tools_and_settings() -> None:
    settings = ModelSettings(temperature=0)
    model = model_of(ScriptedModelReply(text="hi"))
    runner = runner_of(model, tools=[look, refund], model_settings=settings)
    await runner.run_model_step(turn_context())
    (request,) = model.requests
    assert request.instructions == "Test."
    assert list(request.input_items) == [UserTextItem("hello")]
    assert [(tool.name, tool.description) for tool in request.tools] == [
        ("look", "Look something up."),
        ("refund", "Refund an amount."),
    ]
    assert request.tools[1].parameters_schema == refund.parameters_schema
    assert request.settings is settings
    assert (request.flow_id, request.turn_id, request.model_call_number) == (
        "session-1",
        "turn-1",
        1,
    )


async def test_usage_is_the_tokens_of_this_one_call() -> None:
    usage = AgentUsage(input_tokens=5, output_tokens=2, model_calls=7)
    model = model_of(ScriptedModelReply(text="hi", usage=usage))
    outcome = await runner_of(model).run_model_step(turn_context())
    assert outcome.usage == AgentUsage(input_tokens=5, output_tokens=2, model_calls=1)


async def test_instructions_may_be_a_function_of_the_turn() -> None:
    def write(context: InstructionContext) -> str:
        return f"{context.flow_id} {context.turn_id} {context.attempt} {len(context.messages)}"

    model = model_of(ScriptedModelReply(text="hi"))
    runner = runner_of(model, instructions=write)
    await runner.run_model_step(turn_context())
    await runner.run_model_step(replace(turn_context(turn_id="turn-2"), attempt=3))
    assert [request.instructions for request in model.requests] == [
        "session-1 turn-1 1 1",
        "session-1 turn-2 3 1",
    ]


@async_only("the other package refuses such functions")
async def test_instructions_may_be_a_coroutine_function() -> None:
    async def write(context: InstructionContext) -> str:
        return "Be kind."

    model = model_of(ScriptedModelReply(text="hi"))
    await runner_of(model, instructions=write).run_model_step(turn_context())
    assert model.requests[0].instructions == "Be kind."


async def test_instructions_must_come_out_as_text() -> None:
    with pytest.raises(TypeError, match="instructions function of agent 'tester' must return a st"):
        await runner_of(instructions=lambda context: None).run_model_step(turn_context())


async def test_tool_calls_are_deferred_in_order_and_their_items_stored() -> None:
    reply = asking(
        LOOK, ScriptedToolCall("refund", '{"amount": oops', tool_call_id="r"), text="a moment"
    )
    runner = runner_of(model_of(reply), tools=[look, refund])
    outcome = await runner.run_model_step(turn_context())
    assert isinstance(outcome, ToolCallsRequested)
    assert [(c.tool_call_id, c.tool_name, c.arguments, c.policy) for c in outcome.tool_calls] == [
        ("call-1-1", "look", '{"q":"x"}', look.policy),
        ("r", "refund", '{"amount": oops', refund.policy),
    ]
    assert outline(outcome.new_messages) == [
        ("assistant", "a moment"),
        ("assistant", "look call-1-1"),
        ("assistant", "refund r"),
    ]
    assert json.loads(outcome.framework_run_state) == {"model_calls": 1}


async def test_the_next_step_reads_and_stores_the_results_of_the_one_before() -> None:
    model = model_of(asking(LOOK), asking(LOOK), ScriptedModelReply(text="done"))
    runner = runner_of(model, tools=[look])
    first = await runner.run_model_step(turn_context())
    assert isinstance(first, ToolCallsRequested)

    messages = stored([user_text_message("hello"), *first.new_messages])
    one = record("call-1-1", output="one")
    second = await runner.run_model_step(
        turn_context(messages, run_state=first.framework_run_state, records=[one])
    )
    assert isinstance(second, ToolCallsRequested)
    assert outline(second.new_messages) == [("tool", "one"), ("assistant", "look call-2-1")]
    assert json.loads(second.framework_run_state) == {"model_calls": 2}

    messages += stored(second.new_messages, first_sequence=len(messages) + 1)
    two = record("call-2-1", ToolCallStatus.OUTCOME_UNKNOWN, order=1)
    third = await runner.run_model_step(
        turn_context(messages, run_state=second.framework_run_state, records=[one, two])
    )
    assert isinstance(third, TurnCompleted)
    assert outline(third.new_messages) == [("tool", UNKNOWN_OUTCOME), ("assistant", "done")]
    last = model.requests[-1]
    assert [item for item in last.input_items if item == result_item("call-1-1", "one")]
    assert last.input_items[-1] == result_item("call-2-1", UNKNOWN_OUTCOME)
    assert last.model_call_number == 3


async def test_a_turn_that_ends_early_gets_the_results_of_its_calls() -> None:
    runner = runner_of(model_of(asking(LOOK)), tools=[look])
    first = await runner.run_model_step(turn_context())
    assert isinstance(first, ToolCallsRequested)
    turn = turn_context(
        stored([user_text_message("hello"), *first.new_messages]), records=[record("call-1-1")]
    )
    assert outline(runner.build_unfinished_turn_messages(turn)) == [("tool", "found")]
    assert outline(runner.build_unfinished_turn_messages(turn_context())) == []


async def deferred_policies(
    options: AgentSessionOptions, **fields: Any
) -> dict[str, tuple[ToolPolicy, str | None]]:
    reply = asking(LOOK, ScriptedToolCall("refund"), ScriptedToolCall("ghost"))
    runner = runner_of(model_of(reply), tools=[look, refund], **fields)
    outcome = await runner.run_model_step(turn_context(options=options))
    assert isinstance(outcome, ToolCallsRequested)
    return {c.tool_name: (c.policy, c.tool_source_reference) for c in outcome.tool_calls}


async def test_a_policy_comes_from_the_options_then_the_definition_then_the_tool() -> None:
    of_options = ToolPolicy(ToolEffect.IDEMPOTENT_WRITE)
    of_definition = ToolPolicy(ToolEffect.READ, requires_approval=True)
    none = AgentSessionOptions()
    some = AgentSessionOptions(tool_policies={"look": of_options})

    policies = await deferred_policies(none)
    assert policies["look"] == (look.policy, None)
    policies = await deferred_policies(none, tool_policies={"look": of_definition})
    assert policies["look"] == (of_definition, None)
    policies = await deferred_policies(some, tool_policies={"look": of_definition})
    assert policies["look"] == (of_options, None)
    assert policies["refund"] == (REFUND, None)


async def test_a_name_that_is_no_tool_asks_nobody_and_fails_on_any_worker() -> None:
    options = AgentSessionOptions(tool_policies={"ghost": REFUND})
    policy, reference = (await deferred_policies(options))["ghost"]
    assert policy == ToolPolicy(ToolEffect.UNCLASSIFIED, requires_approval=False)

    @function_tool(effect=ToolEffect.NON_IDEMPOTENT_WRITE)
    def ghost() -> str:
        """Come with a later deploy, and need an approval that nobody was asked for."""
        raise AssertionError

    call = record("g", name="ghost", reference=reference)
    for tools in ([look], [look, ghost]):
        with pytest.raises(ToolExecutionError, match=r"^unknown tool ghost$"):
            await runner_of(tools=tools).execute_deferred_tool_call(tool_execution(call))


async def test_case_c17_a_tool_that_no_longer_exists_never_ran() -> None:
    approved = replace(
        record("r", ToolCallStatus.APPROVED, name="refund"),
        effect=ToolEffect.NON_IDEMPOTENT_WRITE,
        requires_approval=True,
    )
    with pytest.raises(
        ToolExecutionError,
        match=r"^unknown tool refund: it no longer exists, and this call never ran$",
    ):
        await runner_of(tools=[look]).execute_deferred_tool_call(tool_execution(approved))


async def test_a_tool_that_went_between_two_attempts_may_have_run() -> None:
    execution = tool_execution(record("l", name="look"), attempt=2)
    with pytest.raises(NonRetryableError, match=r"unknown tool look: .* may have run"):
        await runner_of(tools=[refund]).execute_deferred_tool_call(execution)


async def test_a_tool_call_runs_the_function_with_the_stored_arguments() -> None:
    @function_tool(effect=ToolEffect.READ, name="look")
    def look_again(q: str, context: ToolCallContext) -> str:
        return f"{q} {context.idempotency_key} {context.attempt}"

    execution = tool_execution(record("l", arguments='{"q": "é"}'), attempt=2)
    outcome = await runner_of(tools=[look_again]).execute_deferred_tool_call(execution)
    assert outcome == ToolExecutionResult("é session-1/turn-1/l 2")


async def test_malformed_arguments_fail_the_call_and_not_the_turn() -> None:
    execution = tool_execution(record("l", arguments="{oops"))
    with pytest.raises(
        ToolExecutionError, match=r"^invalid arguments for look: arguments are not valid JSON$"
    ):
        await runner_of(tools=[look]).execute_deferred_tool_call(execution)


async def test_past_the_limit_no_tools_are_offered_and_a_call_is_answered_not_run() -> None:
    model = model_of(asking(LOOK, ScriptedToolCall("refund"), text="once more"))
    runner = runner_of(model, tools=[look, refund], max_model_calls_per_turn=2)
    earlier: list[AgentToolCall] = []
    messages = stored([user_text_message("hello")])
    run_state: str | None = None
    for number in (1, 2):
        outcome = await runner.run_model_step(
            turn_context(messages, run_state=run_state, records=earlier)
        )
        assert isinstance(outcome, ToolCallsRequested)
        assert model.requests[-1].tools
        run_state = outcome.framework_run_state
        messages += stored(outcome.new_messages, first_sequence=len(messages) + 1)
        earlier += [record(f"call-{number}-1"), record(f"call-{number}-2")]

    outcome = await runner.run_model_step(
        turn_context(messages, run_state=run_state, records=earlier)
    )
    assert isinstance(outcome, TurnCompleted)
    assert model.requests[-1].tools == ()
    not_run = "The tool call was not run: this turn reached its limit of 2 model calls."
    assert outline(outcome.new_messages) == [
        ("tool", "found"),
        ("tool", "found"),
        ("assistant", "once more"),
        ("assistant", "look call-3-1"),
        ("assistant", "refund call-3-2"),
        ("tool", not_run),
        ("tool", not_run),
    ]
    assert [m.tool_call_id for m in outcome.new_messages][-2:] == ["call-3-1", "call-3-2"]


class BrokenClient:
    """A model client that returns what it is given."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    async def call_model(self, request: ModelRequest, output: ModelOutputWriter) -> Any:
        return self._answer

    def estimate_input_tokens(self, request: ModelRequest) -> int:
        return 0


@pytest.mark.parametrize("answer", [None, "hi", ScriptedModelReply(text="hi")])
async def test_an_invalid_response_names_the_client_and_is_not_asked_for_again(
    answer: object,
) -> None:
    with pytest.raises(
        TypeError, match="model client BrokenClient: call_model must return a ModelResponse, not "
    ) as raised:
        await runner_of(BrokenClient(answer)).run_model_step(turn_context())
    assert isinstance(raised.value, InvalidModelResponseError)


async def test_ids_that_the_session_refuses_are_passed_on_to_it() -> None:
    reply = asking(
        ScriptedToolCall("look", tool_call_id=""), ScriptedToolCall("look", tool_call_id="")
    )
    outcome = await runner_of(model_of(reply), tools=[look]).run_model_step(turn_context())
    assert isinstance(outcome, ToolCallsRequested)
    assert [call.tool_call_id for call in outcome.tool_calls] == ["", ""]


@pytest.mark.parametrize("run_state", ["", "{", "[]", "{}", '{"model_calls":"1"}'])
async def test_a_run_state_of_another_runner_ends_the_turn(run_state: str) -> None:
    with pytest.raises(NonRetryableError, match="FrameworkRunState"):
        await runner_of().run_model_step(turn_context(run_state=run_state))


async def test_a_client_sees_whether_it_is_still_wanted() -> None:
    class Asking(BrokenClient):
        async def call_model(
            self, request: ModelRequest, output: ModelOutputWriter
        ) -> ModelResponse:
            assert output.is_cancelled() is False
            output.write_text_delta("x")
            return ModelResponse()

    outcome = await runner_of(Asking(None)).run_model_step(turn_context())
    assert isinstance(outcome, TurnCompleted)
