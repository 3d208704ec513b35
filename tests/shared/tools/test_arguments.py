# twin: shared
"""Prove how a model's arguments become Python values, and what it reads when they do not."""

import dataclasses
import enum
import json
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex_agents.errors import ToolExecutionError
from dex_agents.tools.arguments import decode_arguments
from dex_agents.tools.json_schema import FunctionParameters, describe_function
from dex_agents.tools.parameters_schema import check_parameters_schema, validate_arguments
from dex_agents.tools.results import encode_tool_result

ValueStrategy = st.SearchStrategy[object]
TypedStrategy = tuple[Any, ValueStrategy]


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Plain(enum.Enum):
    HALF = 0.5
    NONE = None


@dataclass(frozen=True)
class Item:
    price: float
    name: str = "thing"
    colour: Colour = Colour.RED


@dataclass(frozen=True)
class Positive:
    amount: int

    def __post_init__(self) -> None:
        if self.amount <= 0:
            raise ValueError("amount must be positive")


@dataclass(frozen=True)
class Cat:
    kind: Literal["cat"]
    lives: int


@dataclass(frozen=True)
class Dog:
    kind: Literal["dog"]
    tricks: list[str]


@dataclass(frozen=True)
class Left:
    next: "Left | Right | None" = None


@dataclass(frozen=True)
class Right:
    next: "Left | Right | None" = None


@dataclass(frozen=True)
class Tree:
    label: str
    children: list["Tree"] = field(default_factory=list["Tree"])


class Address(TypedDict):
    city: str
    zip_code: NotRequired[int]


class Context:
    pass


def parameters_for(hint: object) -> FunctionParameters:
    def tool(x: Any) -> None: ...

    tool.__annotations__ = {"x": hint}
    return describe_function(tool, "demo")


def decode(hint: object, value: object) -> Any:
    text = json.dumps({"x": value})
    return decode_arguments(parameters_for(hint), text, tool_name="demo")["x"]


def reason(function: Callable[..., object], text: str) -> str:
    with pytest.raises(ToolExecutionError) as raised:
        decode_arguments(describe_function(function, "demo"), text, tool_name="demo")
    prefix, separator, rest = str(raised.value).partition("demo: ")
    assert (prefix, separator) == ("invalid arguments for ", "demo: ")
    return rest


def refusal(hint: object, value: object) -> str:
    def tool(x: Any) -> None: ...

    tool.__annotations__ = {"x": hint}
    return reason(tool, json.dumps({"x": value}))


def refund(order_id: str, cents: int = 5, note: str | None = "none") -> None: ...


def test_arguments_become_keyword_arguments_of_the_function() -> None:
    def tool(item: Item, level: Level, context: Context, where: Address | None = None) -> None: ...

    described = describe_function(tool, "demo", injected_type=Context)
    text = '{"item": {"price": 2, "colour": "blue"}, "level": 2, "where": {"city": "Bonn"}}'
    assert decode_arguments(described, text, tool_name="demo") == {
        "item": Item(2.0, "thing", Colour.BLUE),
        "level": Level.HIGH,
        "where": {"city": "Bonn"},
    }


@pytest.mark.parametrize("text", ["", " \n\t", "{}"])
def test_blank_text_counts_as_no_arguments(text: str) -> None:
    def ping(loud: bool = False) -> None: ...

    assert decode_arguments(describe_function(ping, "demo"), text, tool_name="demo") == {}


@pytest.mark.parametrize("text", ["{", "nope", "{'a': 1}", '{"a": 1} x', "[1", '{"a": 01}'])
def test_text_that_is_not_json_is_named_so(text: str) -> None:
    assert reason(refund, text) == "arguments are not valid JSON"


@pytest.mark.parametrize("text", ["[]", "null", '"text"', "3"])
def test_json_that_is_no_object_is_named_so(text: str) -> None:
    assert reason(refund, text) == "arguments must be a JSON object"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_json_does_not_have_are_refused(number: str) -> None:
    def tool(x: Any) -> None: ...

    assert "number" in reason(tool, f'{{"x": [{number}]}}')


def test_an_integer_beyond_every_float_is_refused_as_a_number() -> None:
    assert refusal(float, 10**400) == "x: the number is out of range"


def test_endless_nesting_is_refused() -> None:
    def tool(x: Any) -> None: ...

    assert "nested too deeply" in reason(tool, '{"x": ' + "[" * 200_000)


def test_missing_and_unknown_names_are_listed_together() -> None:
    assert reason(refund, '{"orderId": "7", "why": 1}') == (
        "missing argument 'order_id'; "
        "unknown arguments 'orderId', 'why', accepted: order_id, cents, note"
    )
    assert refusal(Item, {"cost": 1}) == (
        "x: missing key 'price'; unknown key 'cost', accepted: price, name, colour"
    )


def test_a_tool_without_parameters_accepts_no_names() -> None:
    def ping() -> None: ...

    assert reason(ping, '{"a": 1}') == "unknown argument 'a', accepted: none"


@pytest.mark.parametrize(
    ("hint", "value", "text"),
    [
        (str, 1, "x: expected a string, got an integer"),
        (int, True, "x: expected an integer, got a boolean"),
        (int, 1.5, "x: expected an integer, got a number"),
        (float, "1", "x: expected a number, got a string"),
        (float, False, "x: expected a number, got a boolean"),
        (bool, 1, "x: expected a boolean, got an integer"),
        (None, 0, "x: expected null, got an integer"),
        (list[int], {}, "x: expected an array, got an object"),
        (dict[str, int], [], "x: expected an object, got an array"),
        (dict[str, int], {"a": {}}, "x.a: expected an integer, got an object"),
        (Colour, "green", 'x: expected one of "red", "blue", got a string'),
        (Literal[1], True, "x: expected 1, got a boolean"),
        (list[Item], [{"price": 1}, {"price": "1"}], "x[1].price: expected a number, got a string"),
        (Address, {"city": None}, "x.city: expected a string, got null"),
        (int | str | None, 1.5, "x: expected an integer, a string or null, got a number"),
        (Item | None, {"price": "1"}, "x.price: expected a number, got a string"),
        (Positive, {"amount": 0}, "x: amount must be positive"),
        (Cat | Dog, {"kind": "dog"}, "x: missing key 'lives'; or missing key 'tricks'"),
        (
            Cat | Dog,
            {"kind": "dog", "tricks": [1]},
            "x.tricks[0]: expected a string, got an integer",
        ),
    ],
)
def test_a_wrong_value_is_named_by_place_and_type(hint: object, value: object, text: str) -> None:
    assert refusal(hint, value) == text


DECODED: list[tuple[Any, Any, Any]] = [
    (int | str, "1", "1"),
    (int | str, 1, 1),
    (float | int, 1, 1),
    (float | str, 1, 1.0),
    (int, 2.0, 2),
    (bool | int, 1, 1),
    (int | bool, True, True),
    (Colour | str, "red", Colour.RED),
    (Colour | str, "green", "green"),
    (Literal[1, "1"], "1", "1"),
    (Literal[1], 1.0, 1),
    (Plain, 0.5, Plain.HALF),
    (Plain, None, Plain.NONE),
    (Literal[Colour.BLUE], "blue", Colour.BLUE),
    (list[Any] | dict[str, int], {"a": 1}, {"a": 1}),
    (list[int] | list[float], [1, 2.5], [1.0, 2.5]),
    (Cat | Dog, {"kind": "dog", "tricks": []}, Dog("dog", [])),
    (Annotated[int | None, "n"], None, None),
    (Tree, {"label": "a", "children": [{"label": "b"}]}, Tree("a", [Tree("b")])),
    (Any, {"a": [None]}, {"a": [None]}),
]


@pytest.mark.parametrize(("hint", "value", "expected"), DECODED)
def test_values_become_what_the_hint_says(hint: object, value: object, expected: object) -> None:
    decoded = decode(hint, value)
    assert decoded == expected
    assert type(decoded) is type(expected)


def test_null_for_an_optional_value_means_absent_unless_none_is_allowed() -> None:
    text = '{"order_id": "7", "cents": null, "note": null}'
    decoded = decode_arguments(describe_function(refund, "demo"), text, tool_name="demo")
    assert decoded == {"order_id": "7", "note": None}
    for hint in (Annotated[int | None, "n"], Literal["a", None], Any):
        assert decode(dataclasses.make_dataclass("D", [("v", hint, 3)]), {"v": None}).v is None
    assert decode(Item, {"price": 1, "name": None}) == Item(1.0)
    assert decode(Address, {"city": "Bonn", "zip_code": None}) == {"city": "Bonn"}


def test_null_for_a_required_value_is_refused() -> None:
    assert reason(refund, '{"order_id": null}') == "order_id: expected a string, got null"


def test_lone_surrogates_become_the_replacement_character() -> None:
    text = '{"x": {"k\\udc00": ["a\\ud800", "\\ud83d\\ude00"]}}'
    decoded = decode_arguments(parameters_for(Any), text, tool_name="demo")
    assert decoded == {"x": {"k\ufffd": ["a\ufffd", "\U0001f600"]}}


def test_reasons_stay_short_however_long_the_arguments_are() -> None:
    names = {f"{'n' * 500}{index}": 1 for index in range(100)}
    assert len(reason(refund, json.dumps(names))) <= 1_000
    assert len(refusal(dict[str, int], {"k" * 5_000: "v"})) <= 1_000


def test_unions_that_recurse_take_time_by_size_not_by_power() -> None:
    value: object = 1
    for _ in range(60):
        value = {"next": value}
    assert refusal(Left | Right, value).endswith(
        ".next: expected an object or null, got an integer"
    )


def _list_of(pair: TypedStrategy) -> TypedStrategy:
    return types.GenericAlias(list, (pair[0],)), st.lists(pair[1], max_size=3)


def _dict_of(pair: TypedStrategy) -> TypedStrategy:
    values = st.dictionaries(st.text(), pair[1], max_size=3)
    return types.GenericAlias(dict, (str, pair[0])), values


def _optional(pair: TypedStrategy) -> TypedStrategy:
    return Optional[pair[0]], st.none() | pair[1]  # noqa: UP045


def _record(inner: st.SearchStrategy[TypedStrategy]) -> st.SearchStrategy[TypedStrategy]:
    def build(first: TypedStrategy, second: TypedStrategy) -> TypedStrategy:
        fields = [("first", first[0]), ("second", second[0])]
        cls = dataclasses.make_dataclass("Generated", fields)
        return cls, st.builds(cls, first[1], second[1])

    return st.builds(build, inner, inner)


hints_with_values: st.SearchStrategy[TypedStrategy] = st.recursive(
    st.sampled_from(
        [
            (str, st.text()),
            (int, st.integers()),
            (float, st.floats(allow_nan=False, allow_infinity=False)),
            (bool, st.booleans()),
            (types.NoneType, st.none()),
            (int | str | bool, st.integers() | st.text() | st.booleans()),
            (Colour, st.sampled_from(Colour)),
            (Level, st.sampled_from(Level)),
            (Literal["a", 1, True], st.sampled_from(["a", 1, True])),
            (Annotated[str, "text"], st.text()),
            (Cat | Dog, st.builds(Cat, st.just("cat"), st.integers())),
            (Cat | Dog, st.builds(Dog, st.just("dog"), st.lists(st.text()))),
        ]
    ),
    lambda inner: inner.map(_list_of) | inner.map(_dict_of) | inner.map(_optional) | _record(inner),
    max_leaves=4,
)
json_values: ValueStrategy = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from([0.5, 1.0, "red", "a", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["x", "first", "second", "kind"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(hints_with_values, st.data())
def test_encoded_values_are_decoded_to_equal_values(
    pair: TypedStrategy, data: st.DataObject
) -> None:
    hint, values = pair
    value = data.draw(values)
    text = encode_tool_result({"x": value})
    parameters = parameters_for(hint)
    decoded = decode_arguments(parameters, text, tool_name="demo")["x"]
    assert decoded == value
    assert type(decoded) is type(value)
    schema = check_parameters_schema(parameters.schema, "demo")
    assert validate_arguments(schema, text, tool_name="demo") == json.loads(text)


@given(hints_with_values, json_values)
def test_the_decoder_accepts_exactly_what_its_schema_describes(
    pair: TypedStrategy, value: object
) -> None:
    parameters = parameters_for(pair[0])
    schema = check_parameters_schema(parameters.schema, "demo")
    text = json.dumps({"x": value})

    def accepts(read: Callable[[], object]) -> bool:
        try:
            read()
        except ToolExecutionError as error:
            assert str(error).startswith("invalid arguments for demo: x")
            return False
        return True

    assert accepts(lambda: decode_arguments(parameters, text, tool_name="demo")) == accepts(
        lambda: validate_arguments(schema, text, tool_name="demo")
    )


@given(hints_with_values, st.text() | json_values.map(json.dumps) | st.text('{}[]":,x\\u019.eE- '))
def test_no_text_raises_anything_but_a_tool_execution_error(pair: TypedStrategy, text: str) -> None:
    try:
        decode_arguments(parameters_for(pair[0]), text, tool_name="demo")
    except ToolExecutionError as error:
        assert str(error).startswith("invalid arguments for demo: ")
