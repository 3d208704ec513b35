# twin: shared
"""Lazy doors: a package imports a module when a name of it is first asked for."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec


def lazy_door(
    package: str, modules: Mapping[str, str], *, requires: tuple[str, str] | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package that imports its names when used.

    Args:
        package: The package's `__name__`.
        modules: For each public name, the module that defines it.
        requires: For an optional room, the module that must be installed and the extra that
            installs it, such as `("litellm", "litellm")`.

    Raises:
        ImportError: By the returned `__getattr__`, if the module of `requires` is not installed.
        AttributeError: By the returned `__getattr__`, if the package has no such name.
    """

    def door_getattr(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if requires is not None and not _is_installed(requires[0]):
            raise ImportError(
                f"{package} needs {requires[0]!r}, which is not installed; "
                f"install the extra: pip install 'dex-agents[{requires[1]}]'",
                name=requires[0],
            )
        value: object = getattr(import_module(modules[name]), name)
        # Python asks __getattr__ only for what is not there, so this is the last time it asks.
        vars(sys.modules[package])[name] = value
        return value

    def door_dir() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return door_getattr, door_dir


def _is_installed(module: str) -> bool:
    if module in sys.modules:
        return True
    try:
        return find_spec(module) is not None
    except ImportError:  # a parent of a dotted name is missing
        return False
