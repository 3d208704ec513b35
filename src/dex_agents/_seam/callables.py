# twin: seam
"""The colour of callables: check it once, where an object is handed in, and call user functions.

This half is the asynchronous one: contracts are coroutine functions, and a plain user function
runs in a worker thread.
"""

import functools
import inspect
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

import anyio
import anyio.lowlevel
import anyio.to_thread

_OTHER_PACKAGE = "dex_agents_sync"

# A tool may block for minutes, and a turn may run many: the usual limit of 40 threads would make
# one session wait for another. The engine limits how many calls run.
_thread_limiter: anyio.lowlevel.RunVar[anyio.CapacityLimiter] = anyio.lowlevel.RunVar(
    "dex_agents_user_functions"
)


def is_coloured_function(function: object) -> bool:
    """Tell whether calling it makes a coroutine; looks through partials and `__call__`."""
    while isinstance(function, functools.partial):
        function = cast("functools.partial[object]", function).func
    if inspect.iscoroutinefunction(function):
        return True
    call = getattr(type(function), "__call__", None)  # noqa: B004 -- its colour, not its presence
    return inspect.iscoroutinefunction(call)


def require_colour(owner: object, methods: Sequence[str], what: str) -> None:
    """Refuse an object whose methods are not made for this package.

    Args:
        owner: The object.
        methods: The names of its methods that must be coroutine functions.
        what: What the object is, for the message.

    Raises:
        TypeError: A method is missing or is a plain function.
    """
    for name in methods:
        if not is_coloured_function(_method(owner, name, what)):
            raise TypeError(
                f"{what} {type(owner).__name__}.{name} is a plain function; dex_agents needs "
                f"'async def {name}'. For plain functions, import from {_OTHER_PACKAGE} instead"
            )


def require_plain(owner: object, methods: Sequence[str], what: str) -> None:
    """Refuse an object whose methods must be plain functions in both packages, and are not.

    Raises:
        TypeError: A method is missing or is a coroutine function.
    """
    for name in methods:
        if is_coloured_function(_method(owner, name, what)):
            raise TypeError(f"{what} {type(owner).__name__}.{name} must be a plain function")


def refuse_coloured_function(function: object, what: str) -> None:
    """Refuse a user function that this package cannot call; here only an async generator is one.

    Raises:
        TypeError: It is an async generator function.
    """
    if inspect.isasyncgenfunction(function):
        raise TypeError(f"{what} must return a value; an async generator cannot be called")


async def call_user_function(function: Callable[..., object], /, **kwargs: object) -> object:
    """Call a user function: await a coroutine function, run a plain one in a worker thread.

    The thread runs in a copy of the caller's context. When the caller is cancelled, it does not
    wait for the thread, whose result is dropped.

    Raises:
        TypeError: A plain function returned an awaitable.
    """
    if is_coloured_function(function):
        return await cast("Awaitable[object]", function(**kwargs))
    return await anyio.to_thread.run_sync(
        # The check runs in the thread too: one backend has a refusal of its own for awaitables.
        lambda: refuse_awaitable(function(**kwargs), function),
        abandon_on_cancel=True,
        limiter=_limiter(),
    )


def refuse_awaitable(result: object, function: object) -> object:
    """Return what a plain function returned, unless it must still be awaited.

    Raises:
        TypeError: It is an awaitable; a coroutine is closed first, so that nothing warns later.
    """
    if not inspect.isawaitable(result):
        return result
    if inspect.iscoroutine(result):
        result.close()
    name = getattr(function, "__qualname__", type(function).__name__)
    raise TypeError(f"{name} is a plain function but returned an awaitable; make it 'async def'")


def _method(owner: object, name: str, what: str) -> object:
    method = getattr(owner, name, None)
    if not callable(method):
        raise TypeError(f"{what} {type(owner).__name__} has no method {name!r}")
    return method


def _limiter() -> anyio.CapacityLimiter:
    try:
        return _thread_limiter.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(math.inf)
        _thread_limiter.set(limiter)
        return limiter
