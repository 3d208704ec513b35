"""The tables of the generator: what is renamed, what is refused, what is allowed and why.

A row of `NAMES` or `ANNOTATIONS` that changes nothing in the sources, their tests or the examples
is dead and fails `--check`. Removing a rule is deleting its line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

# Whole identifiers, never parts of them and never strings. Names of this project carry no colour,
# so none of them belongs here.
NAMES: Mapping[str, str] = {
    "AsyncGenerator": "Generator",
    "aclosing": "closing",
    "anext": "next",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
}

# Generic types that vanish: the number is the argument that remains.
ANNOTATIONS: Mapping[str, int] = {
    "Awaitable": 0,
}

# Generic types whose twin takes more arguments; the missing ones become None.
ARITIES: Mapping[str, int] = {"AsyncGenerator": 3}

# Modules that a source may not import outside `_seam/`.
REFUSED_IMPORTS: frozenset[str] = frozenset(
    {
        "asyncio",
        "anyio",
        "trio",
        "sniffio",
        "threading",
        "queue",
        "contextvars",
        "concurrent",
        "concurrent.futures",
        "time.sleep",
    }
)

# Of those, the ones that a shared module may not import either: they would follow into the twin.
REFUSED_IMPORTS_SHARED: frozenset[str] = frozenset({"asyncio", "anyio", "trio", "sniffio"})

# Tests of colour. One module may ask, everyone else gets the answer from it.
COLOUR_TESTS: frozenset[str] = frozenset(
    {
        "iscoroutinefunction",
        "iscoroutine",
        "isawaitable",
        "isasyncgen",
        "isasyncgenfunction",
        "_IS_SYNC",
    }
)
COLOUR_TESTS_HOME = "_seam/callables.py"

# Names of the dex SDK that mean one colour; the seam exports a neutral alias for each.
SDK_NAMES: frozenset[str] = frozenset({"AsyncClient", "AsyncWorker", "AsyncContext"})

# Context managers that set a context variable. Around a `yield` the value leaks to whoever
# resumes the generator.
CONTEXT_SETTERS: frozenset[str] = frozenset(
    {
        "current_span_while",
        "use_span",
        "start_as_current_span",
        "copy_context",
        "activate_span",
    }
)


@dataclass(frozen=True, slots=True)
class Allowed:
    """One file, or one folder written as `folder/*`, that exists in one package only."""

    pattern: str
    colour: str
    reason: str


ONE_COLOUR: tuple[Allowed, ...] = (
    Allowed(
        "src/dex_agents/engine/server/*",
        "async-only",
        "runs in a process of its own on an event loop; nobody imports it to call it",
    ),
    Allowed(
        "src/dex_agents_sync/ui_stream/wsgi.py",
        "sync-only",
        "WSGI is a synchronous interface",
    ),
)

# Shared modules that import a coloured module: path to reason. Empty is the normal state, because
# a shared module means the same in both packages.
SHARED_IMPORTS_COLOURED: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Rules:
    """The tables as one value, so that tests can bring their own."""

    names: Mapping[str, str] = field(default_factory=lambda: NAMES)
    annotations: Mapping[str, int] = field(default_factory=lambda: ANNOTATIONS)
    arities: Mapping[str, int] = field(default_factory=lambda: ARITIES)
    one_colour: tuple[Allowed, ...] = ONE_COLOUR
    shared_imports_coloured: Mapping[str, str] = field(
        default_factory=lambda: SHARED_IMPORTS_COLOURED
    )

    def __post_init__(self) -> None:
        again = sorted(set(self.names.values()) & (set(self.names) | set(self.annotations)))
        if again:
            raise ValueError(f"a second run would rename these again: {', '.join(again)}")

    @property
    def coloured(self) -> frozenset[str]:
        """The identifiers that mean something else, or nothing, in the twin."""
        return frozenset(self.names) | frozenset(self.annotations)
