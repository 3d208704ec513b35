# twin: source
"""Function tools: a function, and what a model and a session must know about it."""

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, ParamSpec, TypeVar, cast

from dex_agents._seam.callables import call_user_function, refuse_coloured_function
from dex_agents.errors import NonRetryableError, ToolExecutionError
from dex_agents.model.tool_calls import ToolEffect, ToolPolicy
from dex_agents.runner.event_writer import AgentEventWriter
from dex_agents.runner.outcomes import DeferredToolOutcome, ToolExecutionResult, ToolResultLeftOut
from dex_agents.runner.turn import DeferredToolExecution
from dex_agents.tools.arguments import decode_arguments
from dex_agents.tools.json_schema import FunctionParameters, describe_function
from dex_agents.tools.parameters_schema import check_parameters_schema, validate_arguments
from dex_agents.tools.results import encode_tool_result

if TYPE_CHECKING:
    import typing_extensions

FunctionP = ParamSpec("FunctionP")
FunctionR = TypeVar("FunctionR")

# A bare FunctionTool is one of any function. Type checkers bring `typing_extensions` with them; at
# run time the defaults are not needed.
if TYPE_CHECKING:
    P = typing_extensions.ParamSpec("P", default=...)
    R_co = typing_extensions.TypeVar("R_co", covariant=True, default=object)
else:
    P = ParamSpec("P")
    R_co = TypeVar("R_co", covariant=True)

_PACKAGE: Final = __name__.partition(".")[0]
# What every provider takes as the name of a function.
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallContext:
    """What a tool may know about its call; a parameter of this type receives it.

    A function that runs in a worker thread of its own has no use for `heartbeat`, because the
    session sends signs of life by itself, and cannot save a checkpoint; all else works there.

    Attributes:
        flow_id: The session ID.
        turn_id: The turn that the call belongs to.
        tool_call_id: The call.
        idempotency_key: `<flow_id>/<turn_id>/<tool_call_id>`, the same on every attempt. Pass it
            on to whoever is asked to do the work, so that a repeated call does it once.
        attempt: The attempt of this call, from 1.
        heartbeat_checkpoint: What an earlier attempt saved last, if anything.
        events: Writes live events of this call, from any thread.
    """

    flow_id: str
    turn_id: str
    tool_call_id: str
    idempotency_key: str
    attempt: int
    heartbeat_checkpoint: str | None
    events: AgentEventWriter
    _call: DeferredToolExecution = field(repr=False)

    @classmethod
    def of_call(cls, call: DeferredToolExecution) -> "ToolCallContext":
        """Return the context of a call."""
        return cls(
            flow_id=call.flow_id,
            turn_id=call.tool_call.turn_id,
            tool_call_id=call.tool_call.tool_call_id,
            idempotency_key=call.idempotency_key,
            attempt=call.attempt,
            heartbeat_checkpoint=call.heartbeat_checkpoint,
            events=call.events,
            _call=call,
        )

    async def heartbeat(self) -> None:
        """Record a sign of life; the session also does so every 20 seconds by itself.

        Raises:
            StepInvocationClosed: The call's Step has ended.
        """
        await self._call.heartbeat()

    async def save_heartbeat_checkpoint(self, checkpoint: str) -> None:
        """Record a sign of life with text that a later attempt reads as `heartbeat_checkpoint`.

        Raises:
            StepInvocationClosed: The call's Step has ended.
        """
        await self._call.save_heartbeat_checkpoint(checkpoint)

    def is_cancelled(self) -> bool:
        """Tell whether the engine has given up on this call; whatever it returns is dropped."""
        return self._call.is_cancelled()


class FunctionTool(Generic[P, R_co]):
    """A tool made of a function, which it can still be called as.

    Attributes:
        name: What the model calls it.
        description: What the model reads about it.
        policy: How a session treats it unless an option says otherwise.
        parameters_schema: The JSON Schema of its arguments; not to be changed.
    """

    def __init__(
        self,
        function: Callable[P, R_co],
        *,
        policy: ToolPolicy,
        name: str | None = None,
        description: str | None = None,
        parameters_schema: Mapping[str, object] | None = None,
    ) -> None:
        """Define the tool; `function_tool` says what the arguments mean.

        Raises:
            TypeError: The function cannot be called as a tool, or not by this package.
            ValueError: The name or the schema cannot be used.
        """
        tool_name = _checked_name(function, name)
        _check_function(function, tool_name)
        # First, because it also copies whatever attributes the function has.
        functools.update_wrapper(self, function)
        self.name: Final = tool_name
        self.policy: Final = policy
        self.description: Final = _checked_description(function, description, self.name)
        self._function: Final = function
        self._parameters: FunctionParameters | None = None
        if parameters_schema is None:
            self._parameters = _describe(function, self.name)
            self.parameters_schema: dict[str, object] = self._parameters.schema
            self._context_parameter = self._parameters.injected_parameter
        else:
            given = cast("object", parameters_schema)
            plain = dict(parameters_schema) if isinstance(given, Mapping) else given
            self.parameters_schema = check_parameters_schema(plain, self.name)
            self._context_parameter = _context_parameter(function)
            self._check_signature()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function itself, as if it had not been decorated."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        """Return the tool's name and effect."""
        return f"FunctionTool({self.name!r}, {self.policy.effect.value})"

    async def execute(self, call: DeferredToolExecution) -> DeferredToolOutcome:
        """Run the function on the arguments that the model wrote.

        Raises:
            ToolExecutionError: The arguments do not fit, so the function was not called; or the
                function raised it.
        """
        arguments = self._arguments_of(call)
        if self._context_parameter is not None:
            arguments[self._context_parameter] = ToolCallContext.of_call(call)
        result = await call_user_function(self._function, **arguments)
        try:
            return ToolExecutionResult(encode_tool_result(result))
        except ValueError as error:
            return ToolResultLeftOut(str(error))

    def _arguments_of(self, call: DeferredToolExecution) -> dict[str, object]:
        try:
            return self._decode(call.tool_call.arguments)
        except ToolExecutionError as error:
            if call.attempt == 1:
                raise
            # An earlier attempt took the same arguments and may have done its work: the tool has
            # changed in between.
            text = f"{error}; an earlier attempt of this call may have run"
            raise NonRetryableError(text) from error

    def _decode(self, arguments_text: str) -> dict[str, object]:
        if self._parameters is not None:
            return decode_arguments(self._parameters, arguments_text, tool_name=self.name)
        schema = self.parameters_schema
        arguments = validate_arguments(schema, arguments_text, tool_name=self.name)
        try:
            self._bind(arguments)
        except TypeError as error:
            # A schema that allows more arguments than it names.
            raise ToolExecutionError(f"invalid arguments for {self.name}: {error}") from error
        return arguments

    def _check_signature(self) -> None:
        """Refuse a hand-written schema whose arguments the function could not be called with."""
        properties = cast("Mapping[str, object]", self.parameters_schema.get("properties", {}))
        required = cast("list[str]", self.parameters_schema.get("required", []))
        for names in (required, [*properties]):
            try:
                self._bind(dict.fromkeys(names))
            except TypeError as error:
                raise TypeError(
                    f"tool {self.name!r}: the function does not take the arguments of its "
                    f"parameters_schema: {error}"
                ) from None

    def _bind(self, arguments: Mapping[str, object]) -> None:
        injected = {} if self._context_parameter is None else {self._context_parameter: None}
        inspect.signature(self._function).bind(**{**arguments, **injected})


def function_tool(
    function: None = None,
    /,
    *,
    effect: ToolEffect | None = None,
    requires_approval: bool | None = None,
    name: str | None = None,
    description: str | None = None,
    parameters_schema: Mapping[str, object] | None = None,
) -> Callable[[Callable[FunctionP, FunctionR]], FunctionTool[FunctionP, FunctionR]]:
    """Make a tool of the decorated function.

    A string that the function returns is what the model reads; anything else is written as JSON.
    For a failure that the model should see, the function raises `ToolExecutionError`.

    Args:
        function: Nothing: the decorator is always called.
        effect: What running the tool does; it decides about retries and approval.
        requires_approval: Whether a person must approve each call; `None` leaves it to the effect.
        name: What the model calls it; by default the function's name.
        description: What the model reads about it; by default the docstring.
        parameters_schema: The JSON Schema of the arguments, whose values then reach the function
            as plain JSON; by default it follows from the type hints.

    Raises:
        TypeError: No effect is given, or the function cannot be a tool.
        ValueError: The effect, the name or the schema cannot be used.
    """
    if cast("object", function) is not None or effect is None:
        effects = ", ".join(ToolEffect)
        raise TypeError(
            f"function_tool needs the effect of the tool, one of {effects}; "
            "write @function_tool(effect=ToolEffect.READ), with the effect it really has"
        )
    policy = ToolPolicy(effect, requires_approval)

    def decorate(
        function: Callable[FunctionP, FunctionR],
    ) -> FunctionTool[FunctionP, FunctionR]:
        return FunctionTool(
            function,
            policy=policy,
            name=name,
            description=description,
            parameters_schema=parameters_schema,
        )

    return decorate


def _checked_name(function: object, given: object) -> str:
    own_name: object = getattr(function, "__name__", None)
    # A partial would show the model the values that it hides as defaults.
    if not callable(function) or isinstance(function, type) or not isinstance(own_name, str):
        raise TypeError(f"function_tool decorates a function, not {function!r}")
    name: object = own_name if given is None else given
    if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} is no tool name; it must have 1 to 64 characters, each a letter from a to "
            "z, a digit, _ or -; give one with function_tool(name=...)"
        )
    return name


def _check_function(function: object, name: str) -> None:
    what = f"the function of tool {name!r}"
    if isinstance(function, FunctionTool):
        raise TypeError(f"{what} is a tool already; decorate it once")
    refuse_coloured_function(function, what)
    if inspect.isgeneratorfunction(function):
        raise TypeError(f"{what} must return its result; it yields")


def _checked_description(function: object, given: object, name: str) -> str:
    description: object = inspect.getdoc(function) if given is None else given
    if description is None:
        return ""
    if not isinstance(description, str):
        raise TypeError(
            f"tool {name!r}: description must be a str, not {type(description).__name__}"
        )
    return inspect.cleandoc(description)


def _describe(function: Callable[..., object], name: str) -> FunctionParameters:
    try:
        return describe_function(function, name, injected_type=ToolCallContext)
    except TypeError as error:
        if ToolCallContext.__name__ not in str(error):
            raise
        source = f"{_PACKAGE}.stepwise"
        raise TypeError(f"{error}; import ToolCallContext from {source}") from None


def _context_parameter(function: Callable[..., object]) -> str | None:
    """Return the parameter that receives the context, of a function with a schema of its own.

    Its other hints are nobody's business, so they may be missing or mean nothing at run time.
    """
    names: dict[str, object] = getattr(inspect.unwrap(function), "__globals__", {})
    for parameter in inspect.signature(function).parameters.values():
        holder = types.SimpleNamespace(__annotations__={"hint": parameter.annotation})
        try:
            hint: object = typing.get_type_hints(holder, globalns=names)["hint"]
        except Exception:
            # Whatever evaluating a stranger's annotation raises, it is not this one.
            continue
        if hint is ToolCallContext or ToolCallContext in typing.get_args(hint):
            return parameter.name
    return None
