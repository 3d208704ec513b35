# twin: shared
"""What exists in both packages, found by the markers on line 1."""

import ast
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tools.twin.layout import PACKAGE, Colour, Module, read_layout
from tools.twin.rules import Rules

ROOT = Path(__file__).resolve().parents[2]
SOURCE = PACKAGE.package
TWIN = PACKAGE.twin_package

_LAYOUT = read_layout(ROOT, Rules())
MODULES = tuple(module for module in _LAYOUT.modules if module.tree is PACKAGE)
TWIN_ONLY = tuple(twin for twin in _LAYOUT.twins if twin.colour is Colour.SYNC_ONLY)
DOORS = tuple(module for module in MODULES if module.is_door and module.colour is Colour.SOURCE)
DOOR_NAMES = tuple(door.name for door in DOORS)


def twin_name(name: str) -> str:
    """Return the twin's name of a module."""
    return TWIN + name.removeprefix(SOURCE)


def exported(door: ModuleType) -> list[str]:
    """Return the public names of a door; one that has none yet needs no table."""
    return list(getattr(door, "__all__", []))


def resolve(door: ModuleType, name: str) -> object:
    """Return what a door exports; skip the test if that needs an extra that is not installed."""
    try:
        value: object = getattr(door, name)
    except ImportError as error:
        if "dex-agents[" not in str(error):
            raise
        pytest.skip(str(error))
    return value


def import_or_skip(name: str) -> ModuleType:
    """Import a module of ours; skip the test if a package of an extra is missing."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in (SOURCE, TWIN):
            raise
        pytest.skip(f"{name} needs {error.name}")


def required_extra(door: Module) -> tuple[str, str] | None:
    """Return the `requires` of a door: the module that must be installed, and its extra."""
    for node in ast.walk(ast.parse(door.text)):
        if isinstance(node, ast.keyword) and node.arg == "requires":
            match ast.literal_eval(node.value):
                case (str(module), str(extra)):
                    return module, extra
                case _:
                    return None
    return None
