# twin: shared
"""Compare something of one package with its counterpart of the other."""

import inspect
from collections.abc import Iterator
from functools import cached_property
from types import GenericAlias, UnionType
from typing import TypeVar, get_origin

from tests.parity.tree import SOURCE, TWIN

# Special methods that are part of a contract, by the name they have in the twin.
_SPECIAL = {
    "__call__": "__call__",
    "__enter__": "__enter__",
    "__exit__": "__exit__",
    "__iter__": "__iter__",
    "__next__": "__next__",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
}


def differences(name: str, one: object, other: object) -> Iterator[str]:
    """Yield how the twin's `other` is not the twin of `one`."""
    if one is other:
        return
    if _kind(one) != _kind(other):
        yield f"{name}: {_kind(one)} and {_kind(other)}"
    elif isinstance(one, type) and isinstance(other, type):
        if _is_ours(one) and _is_ours(other):
            # How to make one; a half that keeps no state needs no __init__ of its own.
            yield from _function_differences(name, one, other)
            yield from _class_differences(name, one, other)
    elif callable(one) and callable(other) and _kind(one) != "alias":
        yield from _function_differences(name, one, other)


def _kind(value: object) -> str:
    if isinstance(value, type) and not isinstance(value, GenericAlias):
        return "class"
    if isinstance(value, UnionType | TypeVar) or get_origin(value) is not None:
        return "alias"
    if not inspect.isroutine(value):
        return f"value of type {type(value).__name__}"
    function = inspect.unwrap(value)
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        return "generator"
    return "function"


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in (SOURCE, TWIN)


def _function_differences(name: str, one: object, other: object) -> Iterator[str]:
    function = inspect.unwrap(other) if callable(other) else other
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        yield f"{name}: the twin's has to be awaited"
    if not callable(one) or not callable(other):
        return
    ours, its = _parameters(one), _parameters(other)
    if [(p.name, p.kind) for p in ours] != [(p.name, p.kind) for p in its]:
        yield f"{name}: parameters {_shown(ours)} and {_shown(its)}"
        return
    for mine, theirs in zip(ours, its, strict=True):
        if not _is_same_default(mine.default, theirs.default):
            yield f"{name}: default of {mine.name}: {mine.default!r} and {theirs.default!r}"


def _parameters(function: object) -> list[inspect.Parameter]:
    if not callable(function):
        return []
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:  # written in C
        return []


def _shown(parameters: list[inspect.Parameter]) -> str:
    return ", ".join(f"{parameter.kind.description} {parameter.name}" for parameter in parameters)


def _is_same_default(one: object, other: object) -> bool:
    if one is other or one == other:
        return True
    named = getattr(one, "__qualname__", None)
    if named is not None:
        return bool(named == getattr(other, "__qualname__", None))
    return type(one).__qualname__ == type(other).__qualname__ and _is_ours(type(one))


def _class_differences(name: str, one: type, other: type) -> Iterator[str]:
    ours, its = _members(one), _members(other)
    for missing in sorted(ours.keys() - its.keys()):
        yield f"{name}.{missing}: missing in the twin"
    for missing in sorted(its.keys() - ours.keys()):
        yield f"{name}.{missing}: only in the twin"
    for member in sorted(ours.keys() & its.keys()):
        yield from differences(f"{name}.{member}", ours[member], its[member])


def _members(cls: type) -> dict[str, object]:
    """Return what a class of ours defines for others, by the names of the twin."""
    members: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        if not _is_ours(base):
            continue
        for name, value in vars(base).items():
            if name in _SPECIAL or not name.startswith("_"):
                members[_SPECIAL.get(name, name)] = _function_of(value)
    return members


def _function_of(member: object) -> object:
    """Return the function inside a method, a property or the like."""
    if isinstance(member, staticmethod | classmethod):
        return member.__func__
    if isinstance(member, property):
        return member.fget
    if isinstance(member, cached_property):
        return member.func
    return member
