# twin: seam
"""The colour of callables: check it once, where an object is handed in, and call user functions.

This half is the synchronous one: contracts are plain functions, and so are user functions.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import cast

_OTHER_PACKAGE = "dex_agents"


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
        methods: The names of its methods that must be plain functions.
        what: What the object is, for the message.

    Raises:
        TypeError: A method is missing or is a coroutine function.
    """
    for name in methods:
        if is_coloured_function(_method(owner, name, what)):
            raise TypeError(
                f"{what} {type(owner).__name__}.{name} is a coroutine function; dex_agents_sync "
                f"needs 'def {name}'. For coroutine functions, import from {_OTHER_PACKAGE} instead"
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
    """Refuse a user function that this package cannot call: it has no event loop to run one on.

    Raises:
        TypeError: It is a coroutine function or an async generator function.
    """
    if is_coloured_function(function) or inspect.isasyncgenfunction(function):
        raise TypeError(
            f"{what} is a coroutine function; dex_agents_sync calls plain functions. Make it "
            f"'def', or import from {_OTHER_PACKAGE} instead"
        )


def call_user_function(function: Callable[..., object], /, **kwargs: object) -> object:
    """Call a user function in this thread.

    Raises:
        TypeError: It returned an awaitable.
    """
    return refuse_awaitable(function(**kwargs), function)


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
    raise TypeError(f"{name} returned an awaitable; dex_agents_sync calls plain functions")


def _method(owner: object, name: str, what: str) -> object:
    method = getattr(owner, name, None)
    if not callable(method):
        raise TypeError(f"{what} {type(owner).__name__} has no method {name!r}")
    return method
