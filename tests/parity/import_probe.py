# twin: shared
"""Run in a process of its own: import things and print which modules each of them loaded.

The argument is JSON: `{"steps": [[door, name or null], ...], "hidden": [package, ...]}`. The answer
is JSON too: for each step, `{"loaded": [module, ...], "error": text or null}`.
"""

import json
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Hider(MetaPathFinder):
    """Makes installed packages look as if they were not."""

    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = packages

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in self._packages:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def _take(door: str, name: str | None) -> str | None:
    """Import a door, or ask it for a name; return the text of an ImportError."""
    try:
        module = import_module(door)
        if name is not None:
            getattr(module, name)
    except ImportError as error:
        return str(error)
    return None


def main() -> None:
    """Take all steps in order."""
    request = json.loads(sys.argv[1])
    sys.meta_path.insert(0, _Hider(request["hidden"]))
    answers: list[dict[str, object]] = []
    for door, name in request["steps"]:
        before = set(sys.modules)
        error = _take(door, name)
        answers.append({"loaded": sorted(set(sys.modules) - before), "error": error})
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
