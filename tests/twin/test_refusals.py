# twin: shared
"""Every refusal: where it points and what it says, and what it lets pass."""

import pytest

from tests.twin.trees import RULES, SOURCE, TWIN, MiniTree

WORK = SOURCE + "work.py"
AIO = "tests/aio/test_work.py"


def refused(tree: MiniTree, *lines: str, path: str = WORK, marker: str = "source") -> str:
    """Return the one thing that is said about a file, without its path."""
    found = tree.refusals(path, f"# twin: {marker}", *lines)
    assert len(found) == 1, found
    return found[0].removeprefix(f"{path}:")


def accepted(tree: MiniTree, *lines: str, path: str = WORK, marker: str = "source") -> bool:
    """Return whether a file is taken as it is."""
    return tree.refusals(path, f"# twin: {marker}", *lines) == []


# Prose


@pytest.mark.parametrize("word", ["await", "async", "Asynchronous", "coroutine", "event loop"])
def test_a_docstring_of_a_source_must_fit_both_colours(tree: MiniTree, word: str) -> None:
    said = refused(tree, '"""Do it.', "", f"Some {word} here.", '"""')
    assert said.startswith(f"4: the docstring says '{word}'")


def test_a_comment_of_a_source_must_fit_both_colours(tree: MiniTree) -> None:
    said = refused(tree, "X = '# await'  # async, of course")
    assert said.startswith("2: the comment says 'async'")


def test_a_refused_phrase_is_found_over_a_line_break(tree: MiniTree) -> None:
    said = refused(tree, '"""On the event', "loop.", '"""')
    assert said.startswith("2: the docstring says 'event loop'")


def test_names_of_packages_and_code_are_not_prose(tree: MiniTree) -> None:
    assert accepted(
        tree,
        '"""Like dex_agents_sync, AwaitUserMessage, async_only, x.await and await.x."""',
        "X = 'await'  # noqa: ASYNC100",
    )


def test_prose_of_a_shared_module_is_free(tree: MiniTree) -> None:
    assert accepted(tree, '"""Not async."""', marker="shared")


# Imports of waiting and concurrency


@pytest.mark.parametrize(
    "line",
    [
        "import asyncio",
        "import asyncio.subprocess as x",
        "from anyio import sleep",
        "from anyio.abc import TaskGroup",
        "import trio",
        "import sniffio",
        "import threading",
        "from queue import Queue",
        "from contextvars import ContextVar",
        "import concurrent.futures",
        "from concurrent import futures",
        "from time import sleep",
    ],
)
@pytest.mark.parametrize("path", [WORK, AIO])
def test_waiting_and_concurrency_come_from_the_seam(tree: MiniTree, line: str, path: str) -> None:
    said = refused(tree, line, path=path)
    assert said.startswith("2: imports ")
    assert said.endswith("waiting and concurrency are in dex_agents._seam")


def test_a_source_does_not_sleep_with_time(tree: MiniTree) -> None:
    said = refused(tree, "import time", "time.sleep(1)")
    assert said.startswith("3: time.sleep")
    assert accepted(tree, "import time", "X = time.monotonic()")


def test_a_seam_imports_what_it_likes(tree: MiniTree) -> None:
    tree.write(TWIN + "_seam/waits.py", "# twin: seam", "import time", "time.sleep(1)")
    assert accepted(tree, "import anyio, threading", path=SOURCE + "_seam/waits.py", marker="seam")


@pytest.mark.parametrize("module", ["asyncio", "anyio", "trio", "sniffio"])
def test_a_shared_module_has_no_event_loop(tree: MiniTree, module: str) -> None:
    said = refused(tree, f"import {module}", marker="shared")
    assert said == f"2: imports {module}; a shared module has no colour; an event loop has"


def test_a_shared_module_may_guard_memory_with_a_lock(tree: MiniTree) -> None:
    assert accepted(tree, "import threading", marker="shared")


# Imports of our own modules


def test_relative_imports_are_refused(tree: MiniTree) -> None:
    said = refused(tree, "def f():", "    from . import x")
    assert said == "3: a relative import; name the module in full"


@pytest.mark.parametrize("marker", ["source", "shared"])
def test_star_imports_are_refused(tree: MiniTree, marker: str) -> None:
    said = refused(tree, "from os import *", marker=marker)
    assert said == "2: a star import; name what is imported"


def test_an_import_without_a_name_of_its_own_is_refused(tree: MiniTree) -> None:
    assert refused(tree, "import dex_agents") == (
        "2: import dex_agents needs a name: import ... as ..."
    )


def test_an_import_of_modules_of_two_colours_is_refused(tree: MiniTree) -> None:
    tree.write(SOURCE + "a.py", "# twin: source")
    tree.write(SOURCE + "b.py", "# twin: shared")
    said = refused(tree, "from dex_agents import a, b")
    assert said == "2: these modules have two colours; split the import in two"
    assert accepted(tree, "from dex_agents import a", "from dex_agents import b")


def test_an_import_of_a_module_that_does_not_exist_is_refused(tree: MiniTree) -> None:
    said = refused(tree, "from dex_agents.nowhere import x")
    assert said.startswith("2: imports dex_agents.nowhere, which does not exist")


def test_an_import_of_the_twin_is_refused(tree: MiniTree) -> None:
    said = refused(tree, "from dex_agents_sync import x")
    assert said == "2: imports dex_agents_sync; a source knows nothing of its twin"


@pytest.mark.parametrize(
    "line", ["from dex_agents.server.main import x", "from dex_agents.server import main"]
)
def test_an_import_of_an_async_only_module_is_refused(tree: MiniTree, line: str) -> None:
    tree.write(SOURCE + "server/__init__.py", "# twin: source")
    tree.write(SOURCE + "server/main.py", "# twin: async-only")
    said = refused(tree, line)
    assert said == "2: imports dex_agents.server.main, which is async-only and missing in the twin"


def test_the_folder_of_tests_is_imported_by_its_full_name(tree: MiniTree) -> None:
    tree.write("tests/aio/__init__.py", "# twin: source")
    said = refused(tree, "from tests import aio", path=AIO)
    assert said == "2: import from tests.aio by its full name"


def test_a_shared_module_does_not_lead_to_one_colour(tree: MiniTree) -> None:
    tree.write(SOURCE + "a.py", "# twin: source")
    said = refused(tree, "def f():", "    from dex_agents.a import x", marker="shared")
    assert said.startswith("3: imports dex_agents.a, which has a colour")
    assert accepted(
        tree,
        "from typing import TYPE_CHECKING",
        "from dex_agents import x",
        "if TYPE_CHECKING:",
        "    from dex_agents.a import x",
        marker="shared",
    )


# Colour at run time


@pytest.mark.parametrize(
    "line",
    ["x = inspect.iscoroutinefunction(f)", "from inspect import isawaitable", "if _IS_SYNC: pass"],
)
@pytest.mark.parametrize("marker", ["source", "shared"])
def test_only_one_seam_asks_for_the_colour(tree: MiniTree, line: str, marker: str) -> None:
    said = refused(tree, line, marker=marker)
    assert said.startswith("2: ")
    assert said.endswith("branches on colour; only _seam/callables.py may")


def test_the_seam_of_callables_asks_for_the_colour(tree: MiniTree) -> None:
    line = "from inspect import iscoroutinefunction"
    tree.write(TWIN + "_seam/callables.py", "# twin: seam", line)
    tree.write(TWIN + "_seam/other.py", "# twin: seam")
    assert accepted(tree, line, path=SOURCE + "_seam/callables.py", marker="seam")
    said = refused(tree, line, path=SOURCE + "_seam/other.py", marker="seam")
    assert said.startswith("2: iscoroutinefunction branches on colour")


def test_a_branch_marked_by_a_comment_is_refused(tree: MiniTree) -> None:
    assert refused(tree, "if True:  # ASYNC", "    pass").startswith("2: the comment says 'ASYNC'")


@pytest.mark.parametrize("name", ["AsyncClient", "AsyncWorker", "AsyncContext"])
def test_coloured_names_of_the_sdk_are_refused(tree: MiniTree, name: str) -> None:
    said = refused(tree, f"from dex import {name}")
    assert said == f"2: {name} is one colour of the SDK; the seam has a name for both"


def test_a_type_that_vanishes_needs_its_argument(tree: MiniTree) -> None:
    said = refused(tree, "X = isinstance(x, Awaitable)")
    assert said == "2: Awaitable without [...] means nothing in the twin"
    assert accepted(tree, "X = abc.Awaitable[int]")


@pytest.mark.parametrize(
    "line",
    [
        "def f(x: 'AsyncIterator[int]'): ...",
        "def f() -> list['Awaitable[int]']: ...",
        "x: 'Callable[[], Awaitable[int]]'",
        "x = cast('AsyncIterator[int]', y)",
        "x = getattr(y, '__aenter__')",
    ],
)
def test_strings_with_coloured_names_are_refused(tree: MiniTree, line: str) -> None:
    said = refused(tree, line)
    assert said.startswith("2: a string names ")
    assert accepted(tree, "def f(x: 'Iterator[int]', y: str = 'anext'): ...")


# Calls that nobody waits for


@pytest.mark.parametrize(
    "line",
    ["g()", "x = g()", "x: int = g()", "[g()]", "h(g())", "if (x := g()): pass", "yield g()"],
)
def test_a_coroutine_is_not_stored_or_thrown_away(tree: MiniTree, line: str) -> None:
    said = refused(tree, "async def g(): ...", "async def f():", f"    {line}")
    assert said.startswith("4: g(...) is not awaited")


def test_a_method_that_waits_is_awaited(tree: MiniTree) -> None:
    said = refused(
        tree, "class C:", "    async def g(self): ...", "    def f(self):", "        self.g()"
    )
    assert said.startswith("5: g(...) is not awaited")


def test_a_coroutine_is_not_returned_by_what_is_awaited_itself(tree: MiniTree) -> None:
    said = refused(tree, "async def g(): ...", "async def f():", "    return g()")
    assert said.startswith("4: g(...) is not awaited")


@pytest.mark.parametrize(
    "body",
    [
        "    await g()",
        "    await (g() if x else g())",
        "    await gather([g, g])",
        "    await gather([lambda: g()])",
        "    async with managed(): pass",
        "    async for x in stream(): pass",
        "    g = plain; g()",
        "    def inner(g): g()",
        "    def inner(): return g()",
        "    x.g()",
    ],
)
def test_functions_are_passed_and_their_calls_handed_on(tree: MiniTree, body: str) -> None:
    assert accepted(
        tree,
        "async def g(): ...",
        "async def stream(): yield 1",
        "@asynccontextmanager",
        "async def managed(): yield 1",
        "async def f():",
        body,
    )


# Colours and places


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (["async def f(): ..."], "async def"),
        (["async def f():", "    async for x in y: pass"], "async for"),
        (["async def f():", "    async with x: pass"], "async with"),
        (["async def f(): await x"], "await"),
        (["async def f(): return [x async for x in y]"], "async comprehension"),
    ],
)
def test_a_shared_module_has_no_syntax_of_one_colour(
    tree: MiniTree, lines: list[str], what: str
) -> None:
    found = tree.refusals(WORK, "# twin: shared", *lines)
    begin = f"{WORK}:{len(lines) + 1}: {what} in a shared module"
    assert [line for line in found if line.startswith(begin)]


@pytest.mark.parametrize("first", ["", "X = 1", "# twin: blue", "# twin:source", " # twin: source"])
@pytest.mark.parametrize("path", [WORK, AIO, "tests/shared/test_x.py"])
def test_line_1_says_the_colour(tree: MiniTree, first: str, path: str) -> None:
    (found,) = tree.refusals(path, first)
    assert found.startswith(f"{path}:1: line 1 names no colour")


def test_an_empty_file_among_the_tests_needs_no_colour(tree: MiniTree) -> None:
    assert tree.refusals("tests/shared/__init__.py") == []


def test_tests_outside_the_tree_have_no_twin(tree: MiniTree) -> None:
    path = "tests/shared/test_x.py"
    assert refused(tree, path=path).startswith("1: only tests/aio/ has twins")
    assert accepted(tree, path=path, marker="shared")


@pytest.mark.parametrize("path", [WORK, "tests/aio/_seam/x.py"])
def test_seams_live_under_seam(tree: MiniTree, path: str) -> None:
    said = refused(tree, path=path, marker="seam")
    assert said == "1: a seam lives under _seam/ and nowhere else"


def test_a_seam_has_two_halves(tree: MiniTree) -> None:
    said = refused(tree, path=SOURCE + "_seam/waits.py", marker="seam")
    assert said == f"1: the other half is missing: write {TWIN}_seam/waits.py by hand"


def test_the_other_half_of_a_seam_does_not_stand_alone(tree: MiniTree) -> None:
    said = refused(tree, path=TWIN + "_seam/waits.py", marker="seam")
    assert said == "1: orphan: this half of a seam has no other half"


def test_a_module_in_one_package_only_needs_a_reason(tree: MiniTree) -> None:
    assert refused(tree, marker="async-only").startswith("1: async-only modules need a row")
    assert accepted(tree, path=SOURCE + "server/main.py", marker="async-only")
    said = refused(tree, path=TWIN + "mine.py", marker="sync-only")
    assert said.startswith("1: sync-only modules need a row")
    assert accepted(tree, path=TWIN + "wsgi.py", marker="sync-only")


def test_a_sync_only_module_belongs_into_the_twin(tree: MiniTree) -> None:
    said = refused(tree, marker="sync-only")
    assert said == "1: a sync-only module belongs into src/dex_agents_sync/"


def test_a_generated_file_on_the_source_side_is_refused(tree: MiniTree) -> None:
    header = "generated from src/dex_agents/work.py by tools/twin; do not edit."
    said = refused(tree, marker=header)
    assert said == "1: a generated file does not belong on the source side"


def test_a_package_that_the_twin_has_is_not_shared(tree: MiniTree) -> None:
    tree.write(SOURCE + "room/work.py", "# twin: source")
    said = refused(tree, path=SOURCE + "room/__init__.py", marker="shared")
    assert said == "1: the twin has this package too; mark it source"


# Context variables


def test_a_context_variable_is_not_set_around_a_yield(tree: MiniTree) -> None:
    said = refused(
        tree,
        "def f():",
        "    with x, trace.use_span(s):",
        "        for y in z:",
        "            yield y",
    )
    assert said.startswith("3: use_span sets a context variable around a yield")


def test_a_context_variable_may_guard_calls_and_context_managers(tree: MiniTree) -> None:
    assert accepted(
        tree,
        "async def f():",
        "    with use_span(s):",
        "        await g(lambda: (yield))",
        "    yield 1",
        "@asynccontextmanager",
        "async def h():",
        "    with use_span(s):",
        "        yield",
    )


# Tests that have no twin


def test_a_test_without_a_twin_needs_a_reason(tree: MiniTree) -> None:
    said = refused(tree, "@async_only()", "async def test_x(): ...", path=AIO)
    assert said == '2: async_only needs its reason as a string: @async_only("...")'


def test_the_package_itself_leaves_nothing_out(tree: MiniTree) -> None:
    said = refused(tree, '@async_only("why")', "async def f(): ...")
    assert said == "2: async_only is for tests; the twin has everything the source has"


def test_all_refusals_of_a_file_are_told_at_once(tree: MiniTree) -> None:
    found = tree.refusals(WORK, "# twin: source", "import trio", "import anyio", rules=RULES)
    assert len(found) == 2
