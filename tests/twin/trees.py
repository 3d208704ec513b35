# twin: shared
"""Miniature repositories and rules for the tests of the generator."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.twin.__main__ import main
from tools.twin.rules import Allowed, Rules

# The tests bring their own tables, so that a production rule can be deleted without them.
RULES = Rules(
    names={
        "AsyncIterator": "Iterator",
        "AsyncGenerator": "Generator",
        "aclosing": "closing",
        "anext": "next",
        "asynccontextmanager": "contextmanager",
        "__aenter__": "__enter__",
        "__aexit__": "__exit__",
    },
    annotations={"Awaitable": 0, "Coroutine": 2},
    arities={"AsyncGenerator": 3},
    one_colour=(
        Allowed("src/dex_agents/server/*", "async-only", "runs in a process of its own"),
        Allowed("src/dex_agents_sync/wsgi.py", "sync-only", "WSGI is synchronous"),
    ),
)
ONLY_STRUCTURE = Rules(names={}, annotations={}, arities={}, one_colour=RULES.one_colour)

SOURCE = "src/dex_agents/"
TWIN = "src/dex_agents_sync/"


@dataclass(frozen=True, slots=True)
class MiniTree:
    """A repository in a temporary folder, and the generator run on it."""

    root: Path
    capture: pytest.CaptureFixture[str]

    def write(self, path: str, *lines: str) -> None:
        """Write a file of the given lines."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def read(self, path: str) -> str:
        """Return the text of a file."""
        return (self.root / path).read_text(encoding="utf-8")

    def exists(self, path: str) -> bool:
        """Return whether there is such a file."""
        return (self.root / path).exists()

    def run(self, *arguments: str, rules: Rules = ONLY_STRUCTURE) -> tuple[int, str]:
        """Run the generator and return its exit code and what it printed."""
        self.capture.readouterr()
        code = main(["--root", str(self.root), *arguments], rules)
        return code, self.capture.readouterr().out

    def refusals(self, path: str, *lines: str, rules: Rules = RULES) -> list[str]:
        """Write one file, run the generator, and return what it says about that file."""
        self.write(path, *lines)
        code, out = self.run(rules=rules)
        found = [line for line in out.splitlines() if line.startswith(f"{path}:")]
        assert code == 1 or not found, out
        return found
