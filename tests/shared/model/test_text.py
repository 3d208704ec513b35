# twin: shared
"""Text at the boundary is valid Unicode and keeps its limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex_agents.model.text import CUT_MARKER, bounded_text, clean_text, utf8_size

any_text = st.text(st.characters())  # with surrogates


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("für", "für"),
        ("\ud800", "�"),
        ("a\udc00b\ud800", "a�b�"),
        ("\ud83d\ude00", "😀"),
        ("", ""),
    ],
)
def test_lone_surrogates_become_replacement_characters(text: str, expected: str) -> None:
    assert clean_text(text) == expected


@given(any_text)
def test_clean_text_can_be_stored_and_is_clean(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode()
    assert clean_text(cleaned) == cleaned


@given(any_text, st.integers(min_value=0, max_value=80))
def test_bounded_text_keeps_its_limit(text: str, limit: int) -> None:
    bounded = bounded_text(text, limit)
    assert len(bounded.encode()) <= limit
    if utf8_size(clean_text(text)) <= limit:
        assert bounded == clean_text(text)
    elif limit >= utf8_size(CUT_MARKER):
        assert bounded.endswith(CUT_MARKER)


def test_text_is_cut_between_characters() -> None:
    bounded = bounded_text("€" * 100, 50)
    assert bounded == "€" * ((50 - utf8_size(CUT_MARKER)) // 3) + CUT_MARKER


def test_text_of_many_megabytes_is_cut() -> None:
    text = "x" * 5_000_000 + "\ud800"
    assert utf8_size(bounded_text(text, 4096)) == 4096


def test_the_size_counts_utf8_bytes() -> None:
    assert utf8_size("abc") == 3
    assert utf8_size("€") == 3
    assert utf8_size("\ud800") == 3
