# twin: shared
"""Both packages offer the same names with the same shapes, door by door."""

import ast
from importlib import import_module
from pkgutil import iter_modules

import pytest

from tests.parity.signatures import differences
from tests.parity.tree import DOOR_NAMES, DOORS, TWIN_ONLY, exported, resolve, twin_name
from tools.twin.layout import Module

# What only a user of the twin has: names by door, and public modules.
TWIN_ONLY_NAMES: dict[str, frozenset[str]] = {}
TWIN_ONLY_MODULES = {"src/dex_agents_sync/ui_stream/wsgi.py"}


@pytest.mark.parametrize("door", DOOR_NAMES)
def test_a_door_and_its_twin_export_the_same_names(door: str) -> None:
    ours = exported(import_module(door))
    its = exported(import_module(twin_name(door)))
    own = TWIN_ONLY_NAMES.get(door, frozenset())
    assert ours == [name for name in its if name not in own]
    assert own <= set(its)


@pytest.mark.parametrize("door", DOOR_NAMES)
def test_an_exported_name_is_the_same_object_or_has_the_same_shape(door: str) -> None:
    one, other = import_module(door), import_module(twin_name(door))
    found = [
        difference
        for name in exported(one)
        for difference in differences(name, resolve(one, name), resolve(other, name))
    ]
    assert found == []


@pytest.mark.parametrize("door", DOORS, ids=DOOR_NAMES)
def test_a_door_exports_no_name_of_a_submodule(door: Module) -> None:
    for name in (door.name, twin_name(door.name)):
        module = import_module(name)
        submodules = {found.name for found in iter_modules(module.__path__)}
        assert sorted(submodules & set(exported(module))) == []


@pytest.mark.parametrize("door", DOORS, ids=DOOR_NAMES)
def test_a_door_tells_type_checkers_what_it_does(door: Module) -> None:
    """The table, `__all__` and the imports for type checkers are one list written three times."""
    module = import_module(door.name)
    table: dict[str, str] = getattr(module, "_MODULES", {})
    assert sorted(table) == sorted(exported(module))
    assert _imports_for_type_checkers(door) == table


def test_the_twin_has_no_public_module_of_its_own_but_the_agreed_ones() -> None:
    assert {module.path for module in TWIN_ONLY} <= TWIN_ONLY_MODULES


def _imports_for_type_checkers(door: Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.parse(door.text).body:
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=statements):
                for statement in statements:
                    assert isinstance(statement, ast.ImportFrom) and statement.module
                    found |= {alias.name: statement.module for alias in statement.names}
            case _:
                continue
    return found
