# twin: shared
"""Marks for tests that exist in one colour only."""

from collections.abc import Callable
from typing import TypeVar

_DefinitionT = TypeVar("_DefinitionT")


def async_only(reason: str) -> Callable[[_DefinitionT], _DefinitionT]:
    """Leave a test out of the twin; `python -m tools.twin --list` prints the reason.

    Args:
        reason: Why the promise means nothing in threads.
    """
    if not reason:
        raise ValueError("say why the test has no twin")
    return lambda definition: definition
