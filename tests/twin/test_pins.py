# twin: shared
"""What may not creep in this repository: tests without a twin, and reasons without a text."""

from pathlib import Path

from tools.twin.layout import Colour, read_layout
from tools.twin.parsed import parse
from tools.twin.refusals import async_only_tests
from tools.twin.rules import Rules

ROOT = Path(__file__).resolve().parents[2]

# `python -m tools.twin --list` prints them with their reasons. A new one is a decision: the promise
# it tests is not made to users of the twin.
TESTS_WITHOUT_A_TWIN = 6


def test_no_more_tests_are_without_a_twin_than_agreed() -> None:
    modules = read_layout(ROOT, Rules()).modules
    sources = [module for module in modules if module.colour is Colour.SOURCE]
    left_out = [
        f"{module.path}:{line}: {reason}"
        for module in sources
        for line, reason in async_only_tests(parse(module))
    ]
    assert len(left_out) == TESTS_WITHOUT_A_TWIN, left_out


def test_everything_allowed_has_a_reason() -> None:
    rules = Rules()
    assert all(row.reason for row in rules.one_colour)
    assert all(rules.shared_imports_coloured.values())
