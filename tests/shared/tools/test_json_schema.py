# twin: shared
"""Prove the JSON Schemas that type hints give, here with postponed annotations."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NotRequired,
    Optional,
    Required,
    TypedDict,
    TypeVar,
    cast,
)

import pytest

from dex_agents.tools.json_schema import FunctionParameters, describe_function

if TYPE_CHECKING:
    from decimal import Decimal

T = TypeVar("T")


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    TEXT = "text"
    NUMBER = 7
    NOTHING = None


class Opaque(enum.Enum):
    PAIR = (1, 2)


class Empty(enum.Enum):
    pass


@dataclass
class Item:
    price: float
    name: Annotated[str, "what it is called"] = "thing"
    tags: list[str] = field(default_factory=list[str])
    total: float = field(init=False, default=0.0)


@dataclass
class Order:
    items: list[Item]
    colour: Colour = Colour.RED


@dataclass
class Tree:
    label: str
    children: list[Tree] = field(default_factory=list["Tree"])


@dataclass
class WithInitOnly:
    seed: InitVar[int]


class Address(TypedDict):
    city: str
    street: NotRequired[str]


class Patch(TypedDict, total=False):
    id: Required[int]
    note: Annotated[NotRequired[str], "free text"]
    flag: bool


class Context:
    pass


def schema_of(function: Callable[..., object]) -> dict[str, object]:
    return describe_function(function, "demo").schema


def property_schema(function: Callable[..., object], name: str = "x") -> object:
    properties = schema_of(function)["properties"]
    assert isinstance(properties, dict)
    return properties[name]  # pyright: ignore[reportUnknownVariableType]


def test_a_signature_becomes_a_closed_object_with_required_names_and_defaults() -> None:
    def refund(order_id: str, cents: int = 5, *, note: str | None = None) -> None: ...

    assert schema_of(refund) == {
        "type": "object",
        "properties": {
            "order_id": {"type": "string"},
            "cents": {"type": "integer", "default": 5},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["order_id"],
        "additionalProperties": False,
    }


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    def ping() -> None: ...

    assert schema_of(ping) == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }


def test_scalars_and_open_hints_have_their_json_type() -> None:
    def tool(a: str, b: int, c: float, d: bool, e: None, f: Any, g: object) -> None: ...

    assert schema_of(tool)["properties"] == {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "c": {"type": "number"},
        "d": {"type": "boolean"},
        "e": {"type": "null"},
        "f": {},
        "g": {},
    }


def test_containers_describe_their_items() -> None:
    def tool(a: list[Any], b: list[int], c: dict[str, Any], d: dict[str, list[bool]]) -> None: ...

    assert schema_of(tool)["properties"] == {
        "a": {"type": "array", "items": {}},
        "b": {"type": "array", "items": {"type": "integer"}},
        "c": {"type": "object"},
        "d": {
            "type": "object",
            "additionalProperties": {"type": "array", "items": {"type": "boolean"}},
        },
    }


def test_bare_containers_take_anything() -> None:
    def tool(a: list, b: dict) -> None: ...  # type: ignore[type-arg]  # pyright: ignore

    assert schema_of(tool)["properties"] == {  # pyright: ignore[reportUnknownArgumentType]
        "a": {"type": "array", "items": {}},
        "b": {"type": "object"},
    }


def test_literals_and_enums_list_their_values() -> None:
    def tool(a: Literal["x", "y"], b: Colour, c: Level, d: Mixed, e: Literal[1, "1"]) -> None: ...

    assert schema_of(tool)["properties"] == {
        "a": {"type": "string", "enum": ["x", "y"]},
        "b": {"type": "string", "enum": ["red", "blue"]},
        "c": {"type": "integer", "enum": [1, 2]},
        "d": {"enum": ["text", 7, None]},
        "e": {"enum": [1, "1"]},
    }


def test_every_spelling_of_a_union_is_the_same_schema() -> None:
    def tool(a: int | None, b: Optional[int]) -> None: ...  # noqa: UP045

    expected = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert schema_of(tool)["properties"] == {"a": expected, "b": expected}


def test_dataclasses_nest_and_their_defaults_are_optional() -> None:
    def tool(x: Order) -> None: ...

    assert property_schema(tool) == {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "price": {"type": "number"},
                        "name": {
                            "type": "string",
                            "description": "what it is called",
                            "default": "thing",
                        },
                        "tags": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["price"],
                    "additionalProperties": False,
                },
            },
            "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        },
        "required": ["items"],
        "additionalProperties": False,
    }


def test_a_recursive_dataclass_becomes_a_definition() -> None:
    def tool(x: Annotated[Tree, "the root"]) -> None: ...

    schema = schema_of(tool)
    assert schema["properties"] == {
        "x": {"anyOf": [{"$ref": "#/$defs/Tree"}], "description": "the root"}
    }
    assert schema["$defs"] == {
        "Tree": {
            "type": "object",
            "properties": {
                "label": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
            },
            "required": ["label"],
            "additionalProperties": False,
        }
    }


def test_a_class_used_twice_is_written_once() -> None:
    def tool(a: Item, b: Item) -> None: ...

    schema = schema_of(tool)
    assert schema["properties"] == {"a": {"$ref": "#/$defs/Item"}, "b": {"$ref": "#/$defs/Item"}}


def test_two_classes_of_one_name_get_two_definitions() -> None:
    def make() -> type:
        @dataclass
        class Item:
            other: int

        return Item

    def tool(a: Any, b: Any, c: Any, d: Any) -> None: ...

    tool.__annotations__ = dict(zip("abcd", [Item, Item, *[make()] * 2], strict=True))
    definitions = schema_of(tool)["$defs"]
    assert isinstance(definitions, dict)
    assert set(definitions) == {"Item", "Item_"}  # pyright: ignore[reportUnknownArgumentType]


def test_typed_dicts_honour_total_required_and_not_required() -> None:
    def tool(x: Address, y: Patch) -> None: ...

    assert property_schema(tool) == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "street": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    }
    assert property_schema(tool, "y") == {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "note": {"type": "string", "description": "free text"},
            "flag": {"type": "boolean"},
        },
        "required": ["id"],
        "additionalProperties": False,
    }


def test_only_text_metadata_is_a_description() -> None:
    def tool(x: Annotated[int, 1, "first", "second"], y: Annotated[int, 1]) -> None: ...

    assert property_schema(tool) == {"type": "integer", "description": "first"}
    assert property_schema(tool, "y") == {"type": "integer"}


def test_a_default_without_json_form_is_optional_and_unnamed() -> None:
    def tool(x: Any = object(), y: str = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013, B008  # pyright: ignore

    schema = schema_of(tool)
    assert schema["properties"] == {"x": {}, "y": {"type": "string"}}
    assert schema["required"] == []


def test_the_injected_parameter_is_left_out_and_named() -> None:
    def plain(a: int, context: Context) -> None: ...
    def optional(context: Annotated[Context, "given"] | None = None) -> None: ...
    def annotated(*, context: Annotated[Context, "given"]) -> None: ...

    described = describe_function(plain, "demo", injected_type=Context)
    assert described.injected_parameter == "context"
    assert described.schema["properties"] == {"a": {"type": "integer"}}
    for function in (optional, annotated):
        found = describe_function(function, "demo", injected_type=Context).injected_parameter
        assert found == "context"


def test_a_function_without_the_injected_type_names_none() -> None:
    def tool(x: int) -> None: ...

    described: FunctionParameters = describe_function(tool, "demo", injected_type=Context)
    assert described.injected_parameter is None


def test_an_unresolvable_return_hint_does_no_harm() -> None:
    def tool(x: int) -> Decimal: ...  # type: ignore[empty-body]  # pyright: ignore

    assert property_schema(tool) == {"type": "integer"}


def test_two_injected_parameters_are_refused() -> None:
    def tool(a: Context, b: Context) -> None: ...

    with pytest.raises(TypeError, match=r"'b' of function .* and 'a' are both Context"):
        describe_function(tool, "demo", injected_type=Context)


def test_parameters_that_cannot_be_named_are_refused() -> None:
    def positional(x: int, /) -> None: ...
    def several(*x: int) -> None: ...
    def named(**x: int) -> None: ...

    for function, text in (
        (positional, "positional-only"),
        (several, "use one list parameter"),
        (named, "use one dict parameter"),
    ):
        with pytest.raises(TypeError, match=rf"tool 'demo': parameter 'x' of .*{text}"):
            schema_of(function)


def test_a_missing_hint_is_refused_by_function_and_parameter() -> None:
    def careless(x) -> None: ...  # type: ignore[no-untyped-def]  # pyright: ignore

    with pytest.raises(TypeError, match=r"'x' of function .*careless has no type hint"):
        schema_of(careless)  # pyright: ignore[reportUnknownArgumentType]


def test_a_hint_for_type_checkers_only_is_refused_by_name() -> None:
    def tool(x: list[Decimal]) -> None: ...

    with pytest.raises(TypeError, match=r"tool \(?'x'|'x' of .*list\[Decimal\].*'Decimal'"):
        schema_of(tool)


def test_an_unreadable_signature_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot be read"):
        schema_of(cast("Callable[..., object]", 3))


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (datetime.datetime, "datetime.datetime; supported are str, int"),
        (tuple[int, str], r"tuple\[int, str\]; use list\[T\] instead"),
        (tuple, "tuple; use list"),
        (set[int], "use list"),
        (dict[int, str], r"dict\[int, str\]; supported .* dict with str keys"),
        (bytes, "type hint bytes; supported"),
        (complex, "complex"),
        (Opaque, "Opaque"),
        (Empty, "Empty"),
        (Literal[b"x"], "Literal"),
        (Callable[[], int], "Callable"),
        (T, "~T"),
        (list[datetime.date], "datetime.date"),
        (int | bytes, "bytes"),
        (WithInitOnly, "field 'seed' of WithInitOnly .*InitVar"),
    ],
)
def test_unsupported_hints_are_refused_with_what_is_supported(hint: object, text: str) -> None:
    def tool(x: Any) -> None: ...

    tool.__annotations__ = {"x": hint}
    with pytest.raises(TypeError, match=text) as raised:
        schema_of(tool)
    assert "tool 'demo'" in str(raised.value)


def test_an_unresolvable_field_is_refused_by_class() -> None:
    @dataclass
    class Broken:
        amount: Decimal

    def tool(x: Any) -> None: ...

    tool.__annotations__ = {"x": Broken}
    with pytest.raises(TypeError, match=r"a field of .*Broken cannot be resolved.*'Decimal'"):
        schema_of(tool)
