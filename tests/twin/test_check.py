# twin: shared
"""Promises of writing and checking: whole files, in both directions."""

import pytest

from tests.twin.trees import ONLY_STRUCTURE, RULES, SOURCE, TWIN, MiniTree
from tools.twin.rules import Rules
from tools.twin.verify import broken_output

FUNCTION = ("# twin: source", '"""Do it."""', "async def f() -> int:", "    return await g()")


def problems(tree: MiniTree, *, rules: Rules = ONLY_STRUCTURE) -> list[str]:
    code, out = tree.run("--check", rules=rules)
    *found, summary = out.splitlines()
    assert summary.startswith("twin: ")
    assert code == int(bool(found))
    return found


def test_writing_makes_the_check_green(tree: MiniTree) -> None:
    tree.write(SOURCE + "room/__init__.py", "# twin: source")
    tree.write(SOURCE + "room/work.py", *FUNCTION)
    assert tree.run()[0] == 0
    assert problems(tree) == []
    assert tree.read(TWIN + "room/work.py").splitlines() == [
        "# twin: generated from src/dex_agents/room/work.py by tools/twin; do not edit.",
        '"""Do it."""',
        "def f() -> int:",
        "    return g()",
    ]
    assert tree.exists(TWIN + "py.typed")


def test_writing_twice_changes_nothing(tree: MiniTree) -> None:
    tree.write(SOURCE + "work.py", *FUNCTION)
    tree.run()
    assert tree.run() == (0, "twin: 2 generated files, 0 changed\n")


def test_checking_writes_nothing(tree: MiniTree) -> None:
    tree.write(SOURCE + "work.py", *FUNCTION)
    tree.run("--check")
    assert not tree.exists(TWIN)


def test_shared_modules_have_no_twin(tree: MiniTree) -> None:
    tree.write(SOURCE + "values.py", "# twin: shared", "X = 1")
    tree.run()
    assert not tree.exists(TWIN + "values.py")
    assert problems(tree) == []


def test_tests_of_the_source_become_tests_of_the_twin(tree: MiniTree) -> None:
    tree.write("tests/aio/__init__.py", "# twin: source")
    tree.write(
        "tests/aio/test_x.py",
        "# twin: source",
        "from dex_agents import X",
        "async def test_x() -> None:",
        "    await X()",
    )
    tree.run()
    assert tree.read("tests/sync/test_x.py").splitlines() == [
        "# twin: generated from tests/aio/test_x.py by tools/twin; do not edit.",
        "from dex_agents_sync import X",
        "def test_x() -> None:",
        "    X()",
    ]
    assert problems(tree) == []


def test_a_missing_file_is_found_and_the_command_named(tree: MiniTree) -> None:
    tree.write(SOURCE + "work.py", *FUNCTION)
    tree.run()
    (tree.root / TWIN / "work.py").unlink()
    assert problems(tree) == [f"{TWIN}work.py: missing; run: python -m tools.twin"]


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("return g()", "return h()", 4),
        ("    return g()\n", "", 4),
        ("return g()\n", "return g()\n# more\n", 5),
        ("return g()\n", "return g()", 5),
        ("# twin: generated from src/dex_agents/work.py", "# twin: generated from elsewhere", 1),
    ],
)
def test_any_difference_is_stale_and_the_source_line_named(
    tree: MiniTree, before: str, after: str, line: int
) -> None:
    tree.write(SOURCE + "work.py", *FUNCTION)
    tree.run()
    text = tree.read(TWIN + "work.py")
    assert before in text
    (tree.root / TWIN / "work.py").write_text(text.replace(before, after), encoding="utf-8")
    assert problems(tree) == [
        f"{TWIN}work.py:{line}: stale; it comes from {SOURCE}work.py:{line}: edit that, "
        "run: python -m tools.twin"
    ]
    tree.run()
    assert tree.read(TWIN + "work.py") == text


def test_a_twin_whose_source_is_gone_is_an_orphan_and_writing_removes_it(tree: MiniTree) -> None:
    tree.write(SOURCE + "work.py", *FUNCTION)
    tree.run()
    (tree.root / SOURCE / "work.py").unlink()
    assert problems(tree) == [
        f"{TWIN}work.py: orphan: {SOURCE}work.py is not a source; run: python -m tools.twin"
    ]
    tree.run()
    assert not tree.exists(TWIN + "work.py")
    assert problems(tree) == []


def test_a_twin_whose_source_became_shared_is_an_orphan(tree: MiniTree) -> None:
    tree.write(SOURCE + "work.py", "# twin: source", "X = 1")
    tree.run()
    tree.write(SOURCE + "work.py", "# twin: shared", "X = 1")
    assert len(problems(tree)) == 1


def test_an_unmarked_file_in_the_twin_fails_and_writing_leaves_it(tree: MiniTree) -> None:
    tree.run()
    tree.write(TWIN + "mine.py", "X = 1")
    (found,) = problems(tree)
    assert found.startswith(f"{TWIN}mine.py:1: line 1 names no colour")
    tree.run()
    assert tree.exists(TWIN + "mine.py")


def test_a_file_marked_shared_in_the_twin_is_an_orphan(tree: MiniTree) -> None:
    tree.run()
    tree.write(TWIN + "mine.py", "# twin: shared")
    (found,) = problems(tree)
    assert found.startswith(f"{TWIN}mine.py:1: orphan")


def test_a_data_file_in_the_twin_is_an_orphan(tree: MiniTree) -> None:
    tree.run()
    tree.write(TWIN + "page.html", "<p>")
    (found,) = problems(tree)
    assert found.startswith(f"{TWIN}page.html: orphan")


def test_both_packages_are_marked_as_typed(tree: MiniTree) -> None:
    tree.run()
    (tree.root / TWIN / "py.typed").unlink()
    assert problems(tree) == [f"{TWIN}py.typed: missing or stale; run: python -m tools.twin"]
    (tree.root / SOURCE / "py.typed").unlink()
    assert problems(tree) == [f"{SOURCE}py.typed: missing; both packages are typed"]


def test_a_refused_source_keeps_its_old_twin_and_stops_nobody_else(tree: MiniTree) -> None:
    tree.write(SOURCE + "work.py", *FUNCTION)
    tree.run()
    before = tree.read(TWIN + "work.py")
    tree.write(SOURCE + "work.py", "# twin: source", "import asyncio")
    tree.write(SOURCE + "other.py", *FUNCTION)
    code, out = tree.run()
    assert code == 1
    assert f"{SOURCE}work.py:2: imports asyncio" in out
    assert tree.read(TWIN + "work.py") == before
    assert tree.exists(TWIN + "other.py")


def test_a_rule_that_fires_nowhere_fails_the_check_but_not_the_writing(tree: MiniTree) -> None:
    rules = Rules(names={"anext": "next"}, annotations={"Awaitable": 0}, arities={}, one_colour=())
    assert tree.run(rules=rules)[0] == 0
    assert problems(tree, rules=rules) == [
        "tools/twin/rules.py: the rule `name anext` fires nowhere; delete its line",
        "tools/twin/rules.py: the rule `annotation Awaitable` fires nowhere; delete its line",
    ]


@pytest.mark.parametrize("path", [SOURCE + "work.py", "tests/aio/work.py", "examples/a/work.py"])
def test_a_rule_is_alive_if_sources_tests_or_examples_need_it(tree: MiniTree, path: str) -> None:
    rules = Rules(names={"anext": "next"}, annotations={}, arities={}, one_colour=())
    tree.write(path, "# twin: source", "async def f(x):", "    return await anext(x)")
    tree.run(rules=rules)
    assert problems(tree, rules=rules) == []


def test_output_with_another_number_of_lines_is_refused(tree: MiniTree) -> None:
    (found,) = tree.refusals(
        SOURCE + "work.py", "# twin: source", "async def f():", "    return (await", "        g())"
    )
    assert "another number of lines" in found


@pytest.mark.parametrize(
    ("twin", "reason"),
    [
        ("def f(:\n", "does not compile"),
        ("async def f(): ...\n", "still contains async def"),
        ("async def f():\n    await g()\n", "still contains await"),
        ("async def f(): return [x async for x in y]\n", "still contains async comprehension"),
        ("def f():\n    pass\n", "another number of lines"),
    ],
)
def test_broken_output_is_noticed(twin: str, reason: str) -> None:
    assert any(reason in found for _, found in broken_output("def f(): ...\n", twin, twin))


def test_output_that_a_second_run_would_change_is_noticed() -> None:
    found = list(broken_output("x = 1\n", "x = 1\n", "x = 2\n"))
    assert found == [(1, "a second run would change it again")]


def test_a_file_that_is_not_python_is_named(tree: MiniTree) -> None:
    (found,) = tree.refusals(SOURCE + "work.py", "# twin: source", "def f(:")
    assert found.startswith(f"{SOURCE}work.py:2: not Python")


def test_list_names_colours_allowlists_and_left_out_tests(tree: MiniTree) -> None:
    tree.write(SOURCE + "values.py", "# twin: shared")
    tree.write("tests/aio/__init__.py", "# twin: source")
    tree.write(
        "tests/aio/test_x.py",
        "# twin: source",
        "from tests.colour import async_only",
        '@async_only("threads cannot be cancelled")',
        "async def test_x() -> None: ...",
    )
    code, out = tree.run("--list", rules=RULES)
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert f"source {SOURCE}__init__.py -> {TWIN}__init__.py" in lines
    assert f"shared {SOURCE}values.py" in lines
    assert "allowed src/dex_agents_sync/wsgi.py is sync-only: WSGI is synchronous" in lines
    assert "left out tests/aio/test_x.py:3: threads cannot be cancelled" in lines


def test_explain_shows_the_changed_lines_and_the_rules(tree: MiniTree) -> None:
    tree.write(SOURCE + "work.py", *FUNCTION)
    for path in (SOURCE + "work.py", TWIN + "work.py", str(tree.root / SOURCE / "work.py")):
        code, out = tree.run("--explain", path)
        assert code == 0
        assert "    3 - async def f() -> int:\n      + def f() -> int:\n" in out
        assert "    1 x await\n" in out


def test_explain_says_why_a_file_is_refused(tree: MiniTree) -> None:
    tree.write(SOURCE + "work.py", "# twin: source", "import trio")
    code, out = tree.run("--explain", SOURCE + "work.py")
    assert code == 1
    assert out.startswith(f"{SOURCE}work.py:2: imports trio")


def test_explain_says_what_becomes_of_other_colours(tree: MiniTree) -> None:
    tree.write(SOURCE + "values.py", "# twin: shared")
    code, out = tree.run("--explain", SOURCE + "values.py")
    assert code == 0
    assert out == f"{SOURCE}values.py: shared; the twin imports it from the source package\n"
    assert tree.run("--explain", "elsewhere.py")[0] == 1
