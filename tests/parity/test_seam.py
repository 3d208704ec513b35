# twin: shared
"""Both halves of every seam have the same public names with the same signatures."""

import ast
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.parity.signatures import differences
from tests.parity.tree import MODULES, ROOT, import_or_skip, twin_name
from tools.twin.layout import Colour, Module

SEAMS = tuple(module for module in MODULES if module.colour is Colour.SEAM)


def public_names(module: ModuleType, text: str) -> list[str]:
    """Return `__all__`, or without one what the module itself defines; imports do not count."""
    names = getattr(module, "__all__", None)
    defined = _defined(ast.parse(text).body) if names is None else names
    return sorted({name for name in defined if not name.startswith("_")})


def _defined(statements: list[ast.stmt]) -> Iterator[str]:
    for statement in statements:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                names = (node for target in targets for node in ast.walk(target))
                yield from (node.id for node in names if isinstance(node, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.If(body=body, orelse=orelse) | ast.Try(body=body, orelse=orelse):
                yield from _defined([*body, *orelse])
            case _:
                continue


@pytest.mark.parametrize("seam", SEAMS, ids=[seam.name for seam in SEAMS])
def test_both_halves_of_a_seam_have_the_same_names_and_signatures(seam: Module) -> None:
    one, other = import_or_skip(seam.name), import_or_skip(twin_name(seam.name))
    names = public_names(one, seam.text)
    half = (ROOT / seam.twin_path).read_text(encoding="utf-8")
    assert names == public_names(other, half)
    found = [
        difference
        for name in names
        for difference in differences(name, getattr(one, name), getattr(other, name))
    ]
    assert found == []
