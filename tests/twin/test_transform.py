# twin: shared
"""Golden pairs: what each rule makes of a source."""

import pytest

from tests.twin.trees import RULES
from tools.twin.layout import PACKAGE, TESTS, Colour, ImportMap, Module, Tree
from tools.twin.rules import Rules
from tools.twin.transform import Translator


def _module(path: str, colour: Colour, tree: Tree = PACKAGE) -> Module:
    return Module(tree, f"{tree.source}/{path}", colour, "")


IMPORTS = ImportMap(
    [
        _module("__init__.py", Colour.SOURCE),
        _module("errors.py", Colour.SHARED),
        _module("room/__init__.py", Colour.SOURCE),
        _module("room/shared.py", Colour.SHARED),
        _module("room/source.py", Colour.SOURCE),
        _module("_seam/__init__.py", Colour.SOURCE),
        _module("_seam/locks.py", Colour.SEAM),
        _module("__init__.py", Colour.SOURCE, TESTS),
        _module("helpers.py", Colour.SOURCE, TESTS),
    ]
)


def twin_of(source: str, *, door: bool = False) -> str:
    return Translator(RULES, IMPORTS).translate(source, door=door).text


STRUCTURE = {
    "a function": (
        "async def f(x: int) -> int:\n    return x\n",
        "def f(x: int) -> int:\n    return x\n",
    ),
    "a decorated method with odd spaces": (
        "class C:\n    @deco  # why\n    async   def f(self): ...\n",
        "class C:\n    @deco  # why\n    def f(self): ...\n",
    ),
    "loops and blocks": (
        "async for a in b:\n    async with c as d, e:\n        pass\nelse:\n    pass\n",
        "for a in b:\n    with c as d, e:\n        pass\nelse:\n    pass\n",
    ),
    "a block in parentheses": (
        "async with (\n    a as b,  # why\n    c,\n):\n    pass\n",
        "with (\n    a as b,  # why\n    c,\n):\n    pass\n",
    ),
    "comprehensions": (
        "x = [await g(y) async for y in z if await h(y) for w in y]\n",
        "x = [g(y) for y in z if h(y) for w in y]\n",
    ),
    "a generator expression over lines": (
        "x = (\n    y\n    async for y in z\n    if y\n)\n",
        "x = (\n    y\n    for y in z\n    if y\n)\n",
    ),
    "await as a statement": ("await f(1)\n", "f(1)\n"),
    "await in an expression": (
        "x = not await f() or -await g() ** 2\n",
        "x = not f() or -g() ** 2\n",
    ),
    "await whose parentheses bind": ("x = (await f()).y[(await g())]\n", "x = (f()).y[(g())]\n"),
    "await of an expression in parentheses": ("x = await (a or b)\n", "x = (a or b)\n"),
    "await without a space": ("return_ = [await(f)]\n", "return_ = [(f)]\n"),
    "await of await": ("x = await (await f())\n", "x = (f())\n"),
    "await over lines": (
        "x = await f(\n    await g(),\n    # why\n    await h(),\n)\n",
        "x = f(\n    g(),\n    # why\n    h(),\n)\n",
    ),
    "await inside an f-string": ("x = f'{await f()!r:>{await g()}} await'\n", None),
    "await in a lambda's neighbour": ("x = await f(lambda: g())\n", "x = f(lambda: g())\n"),
    "yield in a generator": (
        "async def f():\n    yield await g()\n",
        "def f():\n    yield g()\n",
    ),
    "two statements on a line": ("x = '''\n'''; await f(\n)\n", "x = '''\n'''; f(\n)\n"),
    "strings and comments": (
        "x = 'await async AsyncIterator'  # anext\n",
        "x = 'await async AsyncIterator'  # anext\n",
    ),
    "no newline at the end": ("await f()", "f()"),
    "comments after the last statement": ("await f()\n\n# end\n", "f()\n\n# end\n"),
}

NAMES = {
    "a name in every place": (
        "async with aclosing(f) as g:\n    x = await anext(g, None)\n",
        "with closing(f) as g:\n    x = next(g, None)\n",
    ),
    "an attribute": ("x = contextlib.aclosing(f)\n", "x = contextlib.closing(f)\n"),
    "a method": (
        "class C:\n    async def __aenter__(self): ...\n",
        "class C:\n    def __enter__(self): ...\n",
    ),
    "whole names only": ("aclosings = my_anext = AsyncIterators\n", None),
    "an import": ("from contextlib import aclosing\n", "from contextlib import closing\n"),
    "an annotation": (
        "def f() -> AsyncIterator[int]: ...\n",
        "def f() -> Iterator[int]: ...\n",
    ),
    "a generator's missing argument": (
        "def f() -> AsyncGenerator[int, str]: ...\n",
        "def f() -> Generator[int, str, None]: ...\n",
    ),
    "a generator's missing arguments": (
        "def f() -> AsyncGenerator[int]: ...\n",
        "def f() -> Generator[int, None, None]: ...\n",
    ),
    "a generator over lines": (
        "def f() -> AsyncGenerator[\n    int,\n    str,\n]: ...\n",
        "def f() -> Generator[\n    int,\n    str, None,\n]: ...\n",
    ),
}

ANNOTATIONS = {
    "an awaitable": ("def f() -> Awaitable[int]: ...\n", "def f() -> int: ...\n"),
    "a coroutine": ("x: Coroutine[Any, Any, str | None]\n", "x: str | None\n"),
    "a callable": (
        "Call = Callable[[int], Awaitable[list[str]]]\n",
        "Call = Callable[[int], list[str]]\n",
    ),
    "a callable of any arguments": (
        "def f(call: Callable[P, Awaitable[T]] | None): ...\n",
        "def f(call: Callable[P, T] | None): ...\n",
    ),
    "a dotted name": ("x: abc.Awaitable[int]\n", "x: int\n"),
    "one inside the other": ("x: Awaitable[Awaitable[int]]\n", "x: int\n"),
    "an annotation over lines": (
        "x: Coroutine[\n    Any,\n    Any,\n    int,\n]\ny = 1\n",
        "x: (int\n\n\n\n)\ny = 1\n",
    ),
}

IMPORT_PAIRS = {
    "a source": (
        "from dex_agents.room.source import A, B as C\n",
        "from dex_agents_sync.room.source import A, B as C\n",
    ),
    "a seam": (
        "from dex_agents._seam.locks import Lock\n",
        "from dex_agents_sync._seam.locks import Lock\n",
    ),
    "a shared module": ("from dex_agents.room.shared import A\n", None),
    "a door": ("from dex_agents import A\n", "from dex_agents_sync import A\n"),
    "an inner door": ("from dex_agents.room import A\n", "from dex_agents_sync.room import A\n"),
    "a module by name": (
        "import dex_agents.room.source as source\n",
        "import dex_agents_sync.room.source as source\n",
    ),
    "a door by name": ("import dex_agents as package\n", "import dex_agents_sync as package\n"),
    "a shared module by name": ("import dex_agents.errors as errors\n", None),
    "a coloured module from its door": (
        "from dex_agents.room import source\n",
        "from dex_agents_sync.room import source\n",
    ),
    "a shared module from its door": ("from dex_agents.room import shared\n", None),
    "names over lines": (
        "from dex_agents.room.source import (\n    A,\n    B,\n)\n",
        "from dex_agents_sync.room.source import (\n    A,\n    B,\n)\n",
    ),
    "a test helper": (
        "from tests.aio.helpers import A\n",
        "from tests.sync.helpers import A\n",
    ),
    "a shared test helper": ("from tests.shared.helpers import A\n", None),
    "an import for type checkers": (
        "if TYPE_CHECKING:\n    from dex_agents.room.source import A as A\n",
        "if TYPE_CHECKING:\n    from dex_agents_sync.room.source import A as A\n",
    ),
    "module names in strings": ("x = 'dex_agents.room.source'\n", None),
}

UNNEEDED = {
    "an annotation's import": (
        "from collections.abc import Awaitable, Callable\nCall = Callable[[], Awaitable[int]]\n",
        "from collections.abc import Callable\nCall = Callable[[], int]\n",
    ),
    "the last name of a line": (
        "from x import Callable, Coroutine  # why\nCall = Callable[[], Coroutine[0, 0, int]]\n",
        "from x import Callable  # why\nCall = Callable[[], int]\n",
    ),
    "the only name": (
        "from x import Awaitable\ny: Awaitable[int]\n",
        "\ny: int\n",
    ),
    "the only name in a block": (
        "if TYPE_CHECKING:\n    from x import Awaitable\ny: Awaitable[int]\n",
        "if TYPE_CHECKING:\n    pass\ny: int\n",
    ),
    "a name with its own line": (
        "from x import (\n    A,\n    Awaitable,\n    B as Bee,\n)\ny: Awaitable[A | Bee]\n",
        "from x import (\n    A,\n\n    B as Bee,\n)\ny: A | Bee\n",
    ),
    "a name that is now there twice": (
        "from x import AsyncIterator, Iterator, Mapping\n",
        "from x import Iterator, Mapping\n",
    ),
    "a name that is now there twice, over lines": (
        "from x import (\n    AsyncIterator,\n    Iterator,  # why\n)\n",
        "from x import (\n    Iterator,\n    # why\n)\n",
    ),
    "an import nobody used before": ("from x import A\n", None),
}


@pytest.mark.parametrize(
    ("source", "twin"),
    [
        pytest.param(*pair, id=name)
        for table in (STRUCTURE, NAMES, ANNOTATIONS, IMPORT_PAIRS, UNNEEDED)
        for name, pair in table.items()
        if "f-string" not in name
    ],
)
def test_a_source_becomes_its_twin_line_for_line(source: str, twin: str | None) -> None:
    expected = source if twin is None else twin
    assert twin_of(source) == expected
    assert twin_of(expected) == expected
    assert expected.count("\n") == source.count("\n")


def test_code_inside_an_f_string_is_translated_and_its_text_is_not() -> None:
    source = "x = f'{await f()!r:>{await g()}} await {anext}'\n"
    assert twin_of(source) == "x = f'{f()!r:>{g()}} await {next}'\n"


def test_the_module_names_of_a_door_are_translated() -> None:
    source = (
        "_MODULES = {\n"
        '    "A": "dex_agents.room.source",  # why\n'
        '    "B": "dex_agents.room.shared",\n'
        '    "dex_agents.room.source": "elsewhere",\n'
        "}\n"
        '_OTHER = {"A": "dex_agents.room.source"}\n'
    )
    twin = source.replace('"dex_agents.room.source",  #', '"dex_agents_sync.room.source",  #')
    assert twin_of(source, door=True) == twin
    assert twin_of(source, door=False) == source


def test_the_module_names_of_an_annotated_door_are_translated() -> None:
    source = "_MODULES: dict[str, str] = {'A': 'dex_agents._seam.locks'}\n"
    twin = "_MODULES: dict[str, str] = {'A': 'dex_agents_sync._seam.locks'}\n"
    assert twin_of(source, door=True) == twin


def test_a_test_of_one_colour_leaves_blank_lines_behind() -> None:
    source = (
        "from tests.colour import async_only\n"
        "from x import only_there, everywhere\n"
        "\n"
        "async def test_one() -> None:\n"
        "    await everywhere()\n"
        "\n"
        "@deco\n"
        '@async_only("threads cannot be cancelled")\n'
        "async def test_two() -> None:\n"
        "    await everywhere(only_there)\n"
        "\n"
        "async def test_three() -> None: ...\n"
    )
    assert twin_of(source) == (
        "\n"
        "from x import everywhere\n"
        "\n"
        "def test_one() -> None:\n"
        "    everywhere()\n"
        "\n"
        "\n\n\n\n"
        "\n"
        "def test_three() -> None: ...\n"
    )


def test_every_rule_that_fires_is_counted() -> None:
    source = "async def f(x: Awaitable[int]) -> AsyncIterator[int]:\n    yield await x\n"
    fired = Translator(RULES, IMPORTS).translate(source).fired
    assert fired == {
        "async def": 1,
        "await": 1,
        "annotation Awaitable": 1,
        "name AsyncIterator": 1,
    }


def test_rules_that_would_rename_their_own_result_are_refused() -> None:
    with pytest.raises(ValueError, match="rename these again: next"):
        Rules(names={"anext": "next", "next": "after"})
