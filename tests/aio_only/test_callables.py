# twin: async-only
"""This half awaits coroutine functions and runs plain ones in threads of their own."""

import contextvars
import functools
import threading
from typing import Any

import anyio
import pytest

from dex_agents._seam.callables import (
    call_user_function,
    is_coloured_function,
    refuse_coloured_function,
    require_colour,
    require_plain,
)

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")


class Both:
    async def coloured(self) -> int:
        return 1

    def plain(self) -> int:
        return 1

    async def __call__(self) -> int:
        return 1


async def generator() -> Any:
    yield 1


def test_the_colour_is_seen_through_partials_and_objects() -> None:
    both = Both()
    assert is_coloured_function(both.coloured)
    assert is_coloured_function(both)
    assert is_coloured_function(functools.partial(functools.partial(both.coloured)))
    assert not is_coloured_function(both.plain)
    assert not is_coloured_function(functools.partial(both.plain))
    assert not is_coloured_function(generator)


def test_a_wrong_colour_names_object_method_and_package() -> None:
    require_colour(Both(), ["coloured"], "agent runner")
    require_plain(Both(), ["plain"], "agent runner")
    with pytest.raises(TypeError, match=r"runner Both\.plain is a plain.*import from dex_agents_s"):
        require_colour(Both(), ["coloured", "plain"], "agent runner")
    with pytest.raises(TypeError, match=r"runner Both\.coloured must be a plain function"):
        require_plain(Both(), ["coloured"], "agent runner")
    with pytest.raises(TypeError, match="Both has no method 'other'"):
        require_colour(Both(), ["other"], "agent runner")


def test_only_a_generator_is_no_user_function() -> None:
    refuse_coloured_function(Both().plain, "tool x")
    refuse_coloured_function(Both().coloured, "tool x")
    with pytest.raises(TypeError, match="tool x must return a value"):
        refuse_coloured_function(generator, "tool x")


async def test_coroutine_functions_run_here_and_plain_ones_in_a_thread() -> None:
    async def here(number: int) -> tuple[int, int]:
        return number, threading.get_ident()

    def there(number: int) -> tuple[int, int]:
        return number, threading.get_ident()

    assert await call_user_function(here, number=1) == (1, threading.get_ident())
    result: Any = await call_user_function(there, number=2)
    assert result[0] == 2
    assert result[1] != threading.get_ident()


async def test_a_thread_sees_the_callers_context() -> None:
    variable.set("here")
    assert await call_user_function(variable.get) == "here"


async def test_more_plain_functions_run_at_once_than_a_usual_pool_holds() -> None:
    count = 60
    barrier = threading.Barrier(count, timeout=20)

    def tool() -> None:
        barrier.wait()

    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(call_user_function, tool)


async def test_a_cancelled_caller_does_not_wait_for_its_thread() -> None:
    release = threading.Event()
    with anyio.move_on_after(0.05) as scope:
        await call_user_function(release.wait)
    assert scope.cancelled_caught
    release.set()


async def test_an_awaitable_of_a_plain_function_is_refused() -> None:
    with pytest.raises(TypeError, match="is a plain function but returned an awaitable"):
        await call_user_function(lambda: Both().coloured())
