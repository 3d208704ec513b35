# twin: sync-only
"""This half calls plain functions where it is, and refuses coroutine functions when it can."""

from typing import Any

import pytest

from dex_agents_sync._seam.callables import (
    call_user_function,
    refuse_coloured_function,
    require_colour,
    require_plain,
)


class Both:
    async def coloured(self) -> int:
        return 1

    def plain(self, number: int = 1) -> int:
        return number


async def generator() -> Any:
    yield 1


def test_a_wrong_colour_names_object_method_and_package() -> None:
    require_colour(Both(), ["plain"], "agent runner")
    require_plain(Both(), ["plain"], "agent runner")
    with pytest.raises(
        TypeError, match=r"Both\.coloured is a coroutine.*import from dex_agents in"
    ):
        require_colour(Both(), ["coloured"], "agent runner")
    with pytest.raises(TypeError, match="must be a plain function"):
        require_plain(Both(), ["coloured"], "agent runner")
    with pytest.raises(TypeError, match="Both has no method 'other'"):
        require_colour(Both(), ["other"], "agent runner")


def test_coroutine_functions_are_refused_as_user_functions() -> None:
    refuse_coloured_function(Both().plain, "tool x")
    for function in (Both().coloured, generator):
        with pytest.raises(TypeError, match="tool x is a coroutine function"):
            refuse_coloured_function(function, "tool x")


def test_a_plain_function_is_called() -> None:
    assert call_user_function(Both().plain, number=3) == 3


def test_an_awaitable_is_refused() -> None:
    with pytest.raises(TypeError, match="returned an awaitable"):
        call_user_function(lambda: Both().coloured())
