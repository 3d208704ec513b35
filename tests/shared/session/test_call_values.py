# twin: shared
"""Every exception of a call becomes one bounded text, the same on every engine."""

from typing import Any

import pytest

from dex_agents.errors import NonRetryableError, ToolExecutionError
from dex_agents.session.call_values import (
    error_text,
    is_permanent,
    qualified_name,
    retry_after_of,
    root_error,
    step_call_error,
)


class OddError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def with_attribute(name: str, value: Any) -> Exception:
    error = RuntimeError("busy")
    setattr(error, name, value)
    return error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (RuntimeError("no network"), "RuntimeError: no network"),
        (KeyError("x"), "KeyError: 'x'"),
        (RuntimeError(), "RuntimeError"),
        (RuntimeError("  "), "RuntimeError"),
        (OddError(), "OddError"),
        (ToolExecutionError("no such order"), "no such order"),
        (NonRetryableError("401"), "401"),
        (ToolExecutionError(), "ToolExecutionError"),
        (RuntimeError("a\ud800"), "RuntimeError: a�"),
    ],
)
def test_an_exception_becomes_readable_text(error: Exception, text: str) -> None:
    assert error_text(error) == text


def test_case_c08_an_odd_exception_of_five_megabytes_is_cut_and_clean() -> None:
    failure = step_call_error(ValueError("\ud800" + "x" * 5_000_000))
    assert len(failure.text.encode()) <= 1000
    assert failure.text.startswith("ValueError: �xxx")
    assert (failure.error_type, failure.retry_after_seconds) == ("ValueError", None)
    assert str(failure) == failure.text


def test_the_type_is_named_in_full() -> None:
    assert qualified_name(OddError()) == f"{__name__}.OddError"
    assert qualified_name(NonRetryableError()) == "dex_agents.errors.NonRetryableError"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NonRetryableError("x"), True),
        (with_attribute("is_permanent", True), True),
        (with_attribute("is_permanent", False), False),
        (with_attribute("is_permanent", "yes"), False),
        (RuntimeError("x"), False),
    ],
)
def test_only_a_clear_word_makes_a_failure_permanent(error: Exception, expected: bool) -> None:
    assert is_permanent(error) is expected


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(2, 2.0), (0.5, 0.5), (0, None), (-1, None), (float("inf"), None), ("5", None), (True, None)],
)
def test_a_retry_after_must_be_a_time_to_wait(value: object, seconds: float | None) -> None:
    error = with_attribute("retry_after_seconds", value)
    assert retry_after_of(error) == seconds
    assert step_call_error(error).retry_after_seconds == seconds


def test_a_group_of_one_is_its_member() -> None:
    error = NonRetryableError("x")
    assert root_error(ExceptionGroup("a", [ExceptionGroup("b", [error])])) is error
    group = ExceptionGroup("a", [error, RuntimeError("y")])
    assert root_error(group) is group
    assert root_error(error) is error
