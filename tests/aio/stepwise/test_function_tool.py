# twin: source
"""Prove how a function becomes a tool and what its calls come to."""

import functools
import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, cast

import pytest

from dex_agents._seam.concurrency import Event, gather
from dex_agents.errors import NonRetryableError, StepInvocationClosed, ToolExecutionError
from dex_agents.model.tool_calls import AgentToolCall, ToolEffect, ToolPolicy
from dex_agents.runner.outcomes import DeferredToolOutcome, ToolExecutionResult, ToolResultLeftOut
from dex_agents.testing.recorder import RecordingEmitter
from dex_agents.tools.function_tool import FunctionTool, ToolCallContext, function_tool
from tests.aio.stepwise.contexts import tool_execution
from tests.colour import async_only
from tests.shared.stepwise.histories import record, thread_name

READ = ToolEffect.READ


@dataclass
class Order:
    number: int
    note: str | None = None


@function_tool(effect=ToolEffect.NON_IDEMPOTENT_WRITE)
def refund_order(order: Order, cents: Annotated[int, "how much"], context: ToolCallContext) -> str:
    """Refund part of an order.

    Only once.
    """
    return f"{order.number}: {cents} ({context.idempotency_key})"


def call_of(tool: FunctionTool, arguments: str = "{}") -> AgentToolCall:
    return record("call-1", name=tool.name, arguments=arguments)


async def run(tool: FunctionTool, arguments: str = "{}") -> DeferredToolOutcome:
    return await tool.execute(tool_execution(call_of(tool, arguments)))


def test_name_description_schema_and_policy_come_from_the_function() -> None:
    assert refund_order.name == "refund_order"
    assert refund_order.description == "Refund part of an order.\n\nOnly once."
    assert refund_order.policy == ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE)
    schema = cast("dict[str, Any]", refund_order.parameters_schema)
    assert list(schema["properties"]) == ["order", "cents"]
    assert schema["required"] == ["order", "cents"]
    assert repr(refund_order) == "FunctionTool('refund_order', non_idempotent_write)"


def test_the_decorator_can_say_all_of_it() -> None:
    @function_tool(
        effect=ToolEffect.IDEMPOTENT_WRITE,
        requires_approval=True,
        name="set-price",
        description="Set a price.",
        parameters_schema={"type": "object", "properties": {"price": {"type": "number"}}},
    )
    def set_price(price: float = 0) -> None:
        """Ignore this."""

    assert set_price.name == "set-price"
    assert set_price.description == "Set a price."
    assert set_price.policy == ToolPolicy(ToolEffect.IDEMPOTENT_WRITE, requires_approval=True)
    assert set_price.parameters_schema == {
        "type": "object",
        "properties": {"price": {"type": "number"}},
    }


def test_a_tool_can_still_be_called_and_looks_like_its_function() -> None:
    @function_tool(effect=READ)
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    assert add(2, b=3) == 5
    assert vars(add)["__name__"] == "add"
    assert add.__doc__ == "Add."
    assert list(inspect.signature(add).parameters) == ["a", "b"]


async def test_arguments_are_decoded_and_the_context_is_passed_in() -> None:
    arguments = '{"order": {"number": 7}, "cents": 250}'
    assert await run(refund_order, arguments) == ToolExecutionResult(
        "7: 250 (session-1/turn-1/call-1)"
    )


async def test_the_context_says_everything_about_the_call() -> None:
    seen: list[ToolCallContext] = []

    @function_tool(effect=READ)
    def look(context: ToolCallContext | None = None) -> str:
        assert context is not None
        context.events.write_event("progress", {"done": 1})
        seen.append(context)
        return "ok"

    emitter = RecordingEmitter()
    execution = tool_execution(call_of(look), attempt=2, checkpoint="page 3", emitter=emitter)
    await look.execute(execution)
    (context,) = seen
    assert (context.flow_id, context.turn_id, context.tool_call_id) == (
        "session-1",
        "turn-1",
        "call-1",
    )
    assert (context.attempt, context.heartbeat_checkpoint) == (2, "page 3")
    assert [json.loads(event)["type"] for event in emitter.events] == ["progress"]
    await context.heartbeat()
    await context.save_heartbeat_checkpoint("page 4")
    assert (emitter.heartbeats, emitter.checkpoints) == (2, ["page 4"])
    assert context.is_cancelled() is emitter.is_cancelled()
    emitter.close()
    with pytest.raises(StepInvocationClosed):
        await context.heartbeat()


@async_only("the other package refuses such functions")
async def test_a_coroutine_function_runs_where_it_was_called() -> None:
    @function_tool(effect=READ)
    async def look(context: ToolCallContext) -> str:
        await context.save_heartbeat_checkpoint("half")
        return "found"

    emitter = RecordingEmitter()
    outcome = await look.execute(tool_execution(call_of(look), emitter=emitter))
    assert outcome == ToolExecutionResult("found")
    assert emitter.checkpoints == ["half"]
    assert await look(emitter_context(emitter)) == "found"


def emitter_context(emitter: RecordingEmitter) -> ToolCallContext:
    return ToolCallContext.of_call(tool_execution(record("call-1"), emitter=emitter))


@async_only("in the other package a call has a thread of its own anyway")
async def test_a_plain_function_runs_in_a_worker_thread() -> None:
    @function_tool(effect=READ)
    def name_thread() -> str:
        return thread_name()

    assert await run(name_thread) != ToolExecutionResult(thread_name())


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ("plain text", "plain text"),
        (None, "null"),
        ({"é": [1, 2.5, True]}, '{"é":[1,2.5,true]}'),
        (Order(7, "x"), '{"number":7,"note":"x"}'),
    ],
)
async def test_a_result_is_text_or_json(result: object, output: str) -> None:
    @function_tool(effect=READ)
    def look() -> object:
        return result

    assert await run(look) == ToolExecutionResult(output)


async def test_a_result_without_a_json_form_is_left_out_with_the_reason() -> None:
    @function_tool(effect=READ)
    def look() -> object:
        return {"tags": {"a"}}

    assert await run(look) == ToolResultLeftOut(
        "tags is a set (return a list), which JSON cannot express"
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("{oops", "arguments are not valid JSON"),
        ("[]", "arguments must be a JSON object"),
        ('{"order": {"number": "7"}, "cents": 1}', "order.number: expected an integer"),
        ('{"order": {"number": 7}}', "missing argument 'cents'"),
    ],
)
async def test_arguments_that_do_not_fit_are_told_to_the_model(arguments: str, reason: str) -> None:
    with pytest.raises(ToolExecutionError) as raised:
        await run(refund_order, arguments)
    assert str(raised.value).startswith(f"invalid arguments for refund_order: {reason}")


async def test_arguments_that_fitted_an_earlier_attempt_leave_the_outcome_unknown() -> None:
    execution = tool_execution(call_of(refund_order, '{"order_id": 7}'), attempt=2)
    with pytest.raises(NonRetryableError, match="an earlier attempt of this call may have run"):
        await refund_order.execute(execution)


async def test_what_a_function_raises_goes_on() -> None:
    @function_tool(effect=READ)
    def look() -> str:
        raise ToolExecutionError("nothing there")

    with pytest.raises(ToolExecutionError, match=r"^nothing there$"):
        await run(look)


async def test_a_plain_function_that_returns_something_to_wait_for_is_refused() -> None:
    async def later() -> str:
        return "too late"

    # In the other package the call simply returns its text, and the tool works.
    @function_tool(effect=READ)
    def look() -> object:
        return later()

    try:
        outcome = await run(look)
    except TypeError as error:
        assert "returned an awaitable" in str(error)
    else:
        assert outcome == ToolExecutionResult("too late")


async def test_parallel_calls_of_one_tool_do_not_meet() -> None:
    @function_tool(effect=READ)
    def echo(value: int, context: ToolCallContext) -> str:
        return f"{value} {context.attempt}"

    def calling(value: int) -> Any:
        execution = tool_execution(call_of(echo, f'{{"value": {value}}}'), attempt=value)
        return functools.partial(echo.execute, execution)

    outcomes = await gather(*[calling(value) for value in range(1, 9)])
    assert outcomes == [ToolExecutionResult(f"{value} {value}") for value in range(1, 9)]


OPEN_SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


async def test_a_schema_of_ones_own_checks_arguments_and_keeps_them_plain() -> None:
    @function_tool(effect=READ, parameters_schema=OPEN_SCHEMA)
    def search(q: "NotThere", context: "ToolCallContext") -> str:  # type: ignore[name-defined]  # noqa: F821
        return f"{q} {context.tool_call_id}"

    assert await run(search, '{"q": "x"}') == ToolExecutionResult("x call-1")
    with pytest.raises(ToolExecutionError, match="invalid arguments for search: missing"):
        await run(search, "{}")
    with pytest.raises(ToolExecutionError, match=r"invalid arguments for search: .*'more'"):
        await run(search, '{"q": "x", "more": 1}')


async def test_a_schema_of_ones_own_may_allow_any_argument() -> None:
    @function_tool(effect=READ, parameters_schema=OPEN_SCHEMA)
    def search(**arguments: Any) -> Any:
        return arguments

    assert await run(search, '{"q": "x", "more": 1}') == ToolExecutionResult('{"q":"x","more":1}')


def test_a_schema_that_the_function_cannot_take_is_refused() -> None:
    with pytest.raises(TypeError, match=r"tool 'search': the function does not take .*'limit'"):

        @function_tool(effect=READ, parameters_schema=OPEN_SCHEMA)
        def search(q: str, limit: int) -> None:
            pass

    with pytest.raises(TypeError, match=r"tool 'other': the function does not take .*'q'"):

        @function_tool(effect=READ, parameters_schema={**OPEN_SCHEMA, "required": []})
        def other() -> None:
            pass


@pytest.mark.parametrize("schema", ["object", [], {}, {"type": "array"}])
def test_a_schema_that_is_none_is_refused(schema: Any) -> None:
    with pytest.raises(ValueError, match="tool 'f': parameters_schema must "):
        function_tool(effect=READ, parameters_schema=schema)(named("f"))


@pytest.mark.parametrize("decorator", [function_tool, lambda function: function_tool()(function)])
def test_a_tool_without_an_effect_lists_the_effects(decorator: Callable[..., object]) -> None:
    def look() -> str:
        return ""

    expected = (
        "function_tool needs the effect of the tool, one of read, idempotent_write, "
        r"non_idempotent_write, unclassified; write @function_tool\(effect=ToolEffect.READ\)"
    )
    with pytest.raises(TypeError, match=expected):
        decorator(look)


def test_an_effect_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="'reed' is no tool effect; use one of read, "):
        function_tool(effect=cast(Any, "reed"))


def named(name: str) -> Callable[[], str]:
    def function() -> str:
        return ""

    function.__name__ = name
    return function


@pytest.mark.parametrize("name", ["", "<lambda>", "with space", "größe", "x" * 65, "a/b"])
def test_a_name_that_no_provider_takes_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no tool name; it must have 1 to 64 characters"):
        function_tool(effect=READ)(named(name))
    with pytest.raises(ValueError, match="is no tool name"):
        function_tool(effect=READ, name=name)(named("fine"))


@pytest.mark.parametrize("name", ["x", "Look_up-2", "x" * 64])
def test_a_name_that_every_provider_takes_is_kept(name: str) -> None:
    assert function_tool(effect=READ)(named(name)).name == name


class Callee:
    def __call__(self) -> str:
        return ""


@pytest.mark.parametrize("thing", [functools.partial(named("f")), Callee(), Callee, "f", None])
def test_only_a_function_can_be_a_tool(thing: Any) -> None:
    with pytest.raises(TypeError, match="function_tool decorates a function, not "):
        function_tool(effect=READ)(thing)


def test_attributes_of_the_function_do_not_become_the_tools() -> None:
    function: Any = named("look")
    function.name = function.policy = "mine"
    function.owner = "me"
    tool = function_tool(effect=READ)(function)
    assert (tool.name, tool.policy) == ("look", ToolPolicy(READ))
    assert vars(tool)["owner"] == "me"


def test_a_method_of_an_object_can_be_a_tool() -> None:
    class Orders:
        def find(self, number: int) -> str:
            """Find an order."""
            return f"order {number}"

    tool = function_tool(effect=READ)(Orders().find)
    assert (tool.name, tool.description, tool(7)) == ("find", "Find an order.", "order 7")


def test_a_function_that_yields_is_refused() -> None:
    with pytest.raises(TypeError, match="the function of tool 'look' must return its result"):

        @function_tool(effect=READ)
        def look() -> Iterator[str]:
            yield "a"


def test_a_tool_is_decorated_once() -> None:
    tool: Any = refund_order
    with pytest.raises(TypeError, match="tool 'refund_order' is a tool already"):
        function_tool(effect=READ)(tool)


def test_a_parameter_that_no_model_can_supply_is_refused() -> None:
    with pytest.raises(TypeError, match=r"tool 'wait': parameter 'until' .* unsupported type hint"):

        @function_tool(effect=READ)
        def wait(until: Event) -> None:
            pass


def test_a_context_of_another_package_names_the_import() -> None:
    other = type("ToolCallContext", (), {"__module__": "other_package.tools"})
    package = FunctionTool.__module__.partition(".")[0]

    # A type that is only known when the test runs.
    def look(context: other) -> str:  # type: ignore[valid-type]
        return ""

    with pytest.raises(TypeError, match=rf"import ToolCallContext from {package}\.stepwise$"):
        function_tool(effect=READ)(look)


def test_a_description_must_be_text() -> None:
    with pytest.raises(TypeError, match="tool 'f': description must be a str, not int"):
        function_tool(effect=READ, description=cast(Any, 7))(named("f"))
    assert function_tool(effect=READ)(named("f")).description == ""
