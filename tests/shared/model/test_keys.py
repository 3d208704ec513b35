# twin: shared
"""Stored keys keep their form."""

from typing import Any

import pytest

from dex_agents.model.keys import (
    check_durable_name,
    idempotency_key,
    message_sequence_key,
    plan_execution_key,
    turn_id_of,
)


def test_keys_keep_their_form() -> None:
    assert message_sequence_key(7) == "000000000007"
    assert turn_id_of(3) == "turn-3"
    assert idempotency_key("s", "turn-3", "call-1") == "s/turn-3/call-1"
    assert plan_execution_key(12) == "12"


def test_message_keys_sort_like_messages() -> None:
    keys = [message_sequence_key(number) for number in (1, 9, 10, 99, 100, 12345)]
    assert keys == sorted(keys)


@pytest.mark.parametrize("name", ["session-42", "größe 7", "a.b@c", "小"])
def test_ordinary_names_are_taken(name: str) -> None:
    assert check_durable_name(name, "session_id") == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "must not be empty"),
        ("a/b", "must not contain '/'"),
        ("$a", r"must not contain '\$'"),
        ("a:b", "must not contain ':'"),
        ("a\nb", "one line"),
        ("a\x00", "one line"),
        ("\ud800", "valid text"),
    ],
)
def test_names_that_cannot_be_stored_are_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_durable_name(name, "session_id")


def test_a_name_must_be_text() -> None:
    name: Any = 7
    with pytest.raises(TypeError, match="session_id must be a str, not int"):
        check_durable_name(name, "session_id")
