# twin: shared
"""Prove how the results of function tools become text."""

import datetime
import enum
import json
import types
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex_agents.tools.results import encode_tool_result, render_path, replace_lone_surrogates


class Colour(enum.StrEnum):
    RED = "red"


class OldColour(str, enum.Enum):  # noqa: UP042
    BLUE = "blue"


class Level(enum.IntEnum):
    HIGH = 2


class Plain(enum.Enum):
    NAME = "name"
    PAIR = (1, 2)


class Celsius(float):
    def __repr__(self) -> str:
        return "warm"


class Position(NamedTuple):
    x: int
    y: int


class Address(TypedDict):
    city: str


@dataclass
class Item:
    price: float
    colour: Colour
    unset: int = field(init=False)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def test_text_is_the_output_itself() -> None:
    assert encode_tool_result('say "hi"\n') == 'say "hi"\n'
    assert encode_tool_result("") == ""


def test_an_enum_that_is_text_is_its_value_without_quotes() -> None:
    assert encode_tool_result(Colour.RED) == "red"
    assert encode_tool_result(OldColour.BLUE) == "blue"


ENCODED: list[tuple[Any, str]] = [
    (None, "null"),
    (True, "true"),
    (Level.HIGH, "2"),
    (Plain.NAME, '"name"'),
    (Plain.PAIR, "[1,2]"),
    (Celsius(21.5), "21.5"),
    ([1, 2.5, "é"], '[1,2.5,"é"]'),
    ((1, (2,)), "[1,[2]]"),
    (Position(1, 2), "[1,2]"),
    (deque([1]), "[1]"),
    (range(3), "[0,1,2]"),
    (Address(city="Bonn"), '{"city":"Bonn"}'),
    (OrderedDict(a=Colour.RED), '{"a":"red"}'),
    (types.MappingProxyType({1: "one", Colour.RED: 2}), '{"1":"one","red":2}'),
    (Item(2.5, Colour.RED), '{"price":2.5,"colour":"red"}'),
    ({"items": [Item(1, Colour.RED)]}, '{"items":[{"price":1,"colour":"red"}]}'),
]


@pytest.mark.parametrize(("value", "text"), ENCODED)
def test_anything_else_is_compact_json(value: object, text: str) -> None:
    assert encode_tool_result(value) == text


def test_lone_surrogates_become_the_replacement_character_everywhere() -> None:
    assert encode_tool_result("a\ud800b") == "a\ufffdb"
    assert encode_tool_result({"k\udfff": ["\ud83d"]}) == '{"k\ufffd":["\ufffd"]}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "the value is nan, which JSON cannot express"),
        ({"a": [1, float("inf")]}, r"a\[1\] is inf"),
        (b"x", "the value is bytes"),
        ([bytearray(b"x")], r"\[0\] is bytes"),
        ({1, 2}, "is a set"),
        (object(), "is of type builtins.object"),
        (Item, "is of type builtins.type"),
        ({"when": datetime.date(2024, 1, 1)}, "when is of type datetime.date"),
        ({(1, 2): 3}, "has a key that is of type builtins.tuple; keys must be str or int"),
        ({True: 3}, "has a key that is of type builtins.bool"),
        ({1: "a", "1": "b"}, "has two keys that are both '1'"),
    ],
)
def test_what_json_cannot_express_is_refused_with_its_place(value: object, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        encode_tool_result(value)


def test_an_int_that_python_will_not_print_is_refused() -> None:
    for value in (10**5_000, {10**5_000: 1}):
        with pytest.raises(ValueError, match="too many digits"):
            encode_tool_result(value)


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="refers to itself"):
        encode_tool_result(loop)


def test_paths_are_readable_and_bounded() -> None:
    assert render_path(("items", 2, "price")) == "items[2].price"
    assert render_path((0, "a b", "c")) == "[0]['a b'].c"
    assert len(render_path(("k" * 5_000,))) < 80


@given(json_values.filter(lambda value: not isinstance(value, str)))
def test_json_values_survive_encoding(value: object) -> None:
    assert json.loads(encode_tool_result(value)) == value


@given(st.text(st.characters()))
def test_replaced_text_can_always_be_sent(text: str) -> None:
    replaced = replace_lone_surrogates(text)
    assert replaced.encode().decode() == replaced
    assert len(replaced) == len(text)
