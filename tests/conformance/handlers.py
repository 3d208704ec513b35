# twin: async-only
"""Step handlers in both colours from one body, a generator of what the handler does."""

import asyncio
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, get_type_hints

import dex

CANCELLED: list[str] = []
"""The Step executions of this process that were told to stop."""


@dataclass(frozen=True)
class Beat:
    """Send a heartbeat."""

    value: Any = None


@dataclass(frozen=True)
class Write:
    """Write to a Stream."""

    stream: Any
    text: str


@dataclass(frozen=True)
class Pause:
    """Do nothing for a time, but stop when told to."""

    seconds: float


Body = Callable[..., Generator[Beat | Write | Pause, None, Any]]


def handler(colour: str, body: Body) -> Any:
    """Return a Step method for Workers of a colour."""
    if colour == "async":
        return _annotated(_async_handler(body), body, dex.AsyncContext)
    return _annotated(_threaded_handler(body), body, dex.Context)


def _annotated(function: Any, body: Body, context_type: type) -> Any:
    hints = get_type_hints(body)
    result: Any = hints["return"].__args__[2]
    if context_type is dex.Context:
        outputs: Any = Generator
        result = outputs[dex.StepOutput, None, result]
    function.__annotations__ = {
        "context": context_type,
        "input": hints["step_input"],
        "return": result,
    }
    return function


def _async_handler(body: Body) -> Any:
    async def run(self: Any, context: Any, input: Any) -> Any:
        doing = body(context, input)
        while True:
            try:
                action = next(doing)
            except StopIteration as stop:
                return stop.value
            if isinstance(action, Beat):
                await context.heartbeat(action.value)
            elif isinstance(action, Write):
                action.stream.write(context, action.text)
            else:
                await _pause(context, action.seconds)

    return run


async def _pause(context: Any, seconds: float) -> None:
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        CANCELLED.append(f"{context.flow_id}/{context.step_execution_id}")
        raise


def _threaded_handler(body: Body) -> Any:
    def run(self: Any, context: Any, input: Any) -> Any:
        doing = body(context, input)
        while True:
            try:
                action = next(doing)
            except StopIteration as stop:
                return stop.value
            if isinstance(action, Beat):
                yield dex.heartbeat(action.value)
            elif isinstance(action, Write):
                yield action.stream.write(context, action.text)
            elif _was_told_to_stop(context, action.seconds):
                CANCELLED.append(f"{context.flow_id}/{context.step_execution_id}")
                return dex.dead_end()

    return run


def _was_told_to_stop(context: Any, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if context.is_cancellation_requested():
            return True
        time.sleep(0.01)
    return False
