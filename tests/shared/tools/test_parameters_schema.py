# twin: shared
"""Prove the checks of hand-written parameters schemas, and of arguments against them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex_agents.errors import ToolExecutionError
from dex_agents.tools.parameters_schema import check_parameters_schema, validate_arguments

Schema = dict[str, Any]
_LOOP: dict[str, object] = {}
_LOOP["properties"] = _LOOP

json_values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "bb", 0.5, 1.0]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
leaf_schemas: st.SearchStrategy[object] = (
    st.booleans()
    | st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "number", "array", "object", "null"]),
            "enum": st.lists(json_values, min_size=1, max_size=3),
            "const": json_values,
            "minimum": st.integers(-2, 2),
            "maxLength": st.integers(0, 2),
            "minItems": st.integers(0, 2),
            "pattern": st.sampled_from(["^a", "b$", "("]),
            "title": st.text(max_size=3),
        },
    )
    | st.sampled_from([{"$ref": "#"}, {"$ref": "#/properties/a"}, {"$ref": "#/$defs/none"}])
)
schemas = st.recursive(
    leaf_schemas,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "required": st.lists(st.sampled_from("abc"), max_size=2),
            "additionalProperties": inner,
            "items": inner,
            "anyOf": st.lists(inner, max_size=2),
            "oneOf": st.lists(inner, max_size=2),
        },
    ),
    max_leaves=6,
)


def object_schema(**keywords: object) -> Schema:
    return {"type": "object", **keywords}


def outcome(rules: object, value: object) -> str:
    """Check one argument `x` against `rules`; return `ok` or the reason of the refusal."""
    schema = check_parameters_schema(object_schema(properties={"x": rules}, required=["x"]), "demo")
    try:
        validate_arguments(schema, json.dumps({"x": value}), tool_name="demo")
    except ToolExecutionError as error:
        return str(error).removeprefix("invalid arguments for demo: ")
    return "ok"


def test_arguments_that_fit_are_returned_as_plain_json() -> None:
    schema = check_parameters_schema(object_schema(properties={"n": {"type": "number"}}), "demo")
    assert validate_arguments(schema, '{"n": 1, "other": [2]}', tool_name="demo") == {
        "n": 1,
        "other": [2],
    }
    assert validate_arguments(schema, " ", tool_name="demo") == {}


@pytest.mark.parametrize(
    ("rules", "value", "expected"),
    [
        ({"type": "integer"}, 3.0, "ok"),
        ({"type": "integer"}, 3.5, "x: expected an integer, got a number"),
        ({"type": "integer"}, True, "x: expected an integer, got a boolean"),
        ({"type": ["string", "null"]}, None, "ok"),
        ({"type": ["string", "null"]}, 1, "x: expected a string or null, got an integer"),
        ({"enum": ["a", 1]}, 1.0, "ok"),
        ({"enum": ["a", 1]}, True, 'x: expected one of "a", 1, got a boolean'),
        ({"const": {"k": [1]}}, {"k": [1.0]}, "ok"),
        ({"const": {"k": [1]}}, {"k": [1, 2]}, 'x: expected {"k": [1]}, got an object'),
        ({"minimum": 2}, 1, "x: must be at least 2"),
        ({"maximum": 2.5}, 3, "x: must be at most 2.5"),
        ({"maximum": 2}, "many", "ok"),
        ({"minLength": 2}, "é", "x: must have at least 2 characters"),
        ({"maxLength": 2}, "abc", "x: must have at most 2 characters"),
        ({"pattern": "^[a-z]+$"}, "A1", "x: must match the pattern ^[a-z]+$"),
        ({"pattern": "b"}, "abc", "ok"),
        ({"minItems": 1}, [], "x: must have at least 1 items"),
        ({"maxItems": 1}, [1, 2], "x: must have at most 1 items"),
        ({"items": {"type": "string"}}, ["a", 2], "x[1]: expected a string, got an integer"),
        ({"required": ["k"]}, {}, "x: missing key 'k'"),
        ({"required": ["k"]}, "not an object", "ok"),
        (
            {"properties": {"k": {}}, "additionalProperties": False},
            {"z": 1},
            "x: unknown key 'z', accepted: k",
        ),
        (
            {"additionalProperties": {"type": "null"}},
            {"a b": 1},
            "x['a b']: expected null, got an integer",
        ),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, None, "ok"),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            [],
            "x: expected a string or null, got an array",
        ),
        ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, 1, "ok"),
        (
            {"oneOf": [{"type": "integer"}, {"minimum": 2}]},
            3,
            "x: fits more than one of the alternatives; it must fit one",
        ),
        ({"allOf": [{"minimum": 2}, {"maximum": 3}]}, 4, "x: must be at most 3"),
        (False, 1, "x: no value is allowed here"),
        (True, 1, "ok"),
        ({"format": "date", "uniqueItems": 7}, [1, 1], "ok"),
    ],
)
def test_each_keyword_is_checked(rules: object, value: object, expected: str) -> None:
    assert outcome(rules, value) == expected


def test_references_lead_into_the_schema_and_may_recurse() -> None:
    node = {
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#/$defs/a~1b"}, {"type": "null"}]}},
        "additionalProperties": False,
    }
    schema = check_parameters_schema(
        object_schema(properties={"x": {"$ref": "#/$defs/a~1b"}}, **{"$defs": {"a/b": node}}),
        "demo",
    )
    good = '{"x": {"next": {"next": null}}}'
    assert validate_arguments(schema, good, tool_name="demo") == json.loads(good)
    with pytest.raises(ToolExecutionError, match=r"x\.next\.next: unknown key 'nxt'"):
        validate_arguments(schema, '{"x": {"next": {"next": {"nxt": 1}}}}', tool_name="demo")


def test_alternatives_that_recurse_take_time_by_size_not_by_power() -> None:
    alternatives = {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}
    record = {"type": "object", "properties": {"next": alternatives}}
    schema = check_parameters_schema(
        object_schema(properties={"x": alternatives}, **{"$defs": {"A": record, "B": record}}),
        "demo",
    )
    text = '{"x": ' + '{"next": ' * 60 + "1" + "}" * 61
    with pytest.raises(ToolExecutionError, match="expected an object, got an integer"):
        validate_arguments(schema, text, tool_name="demo")


def test_null_for_an_optional_property_means_absent_unless_null_is_allowed() -> None:
    schema = check_parameters_schema(
        object_schema(
            properties={"a": {"type": "string"}, "b": {"type": ["string", "null"]}, "c": {}},
            required=[],
        ),
        "demo",
    )
    text = '{"a": null, "b": null, "c": null}'
    assert validate_arguments(schema, text, tool_name="demo") == {"b": None, "c": None}


def test_null_for_a_required_property_is_refused() -> None:
    assert outcome({"type": "string"}, None) == "x: expected a string, got null"


REFUSED: list[tuple[Any, str]] = [
    ([], "must be a dict, got list"),
    ({"type": "array"}, '"type": "object"'),
    ({}, '"type": "object"'),
    (object_schema(default={1, 2}), "is not JSON"),
    (object_schema(default=float("nan")), "is not JSON"),
    (object_schema(properties=_LOOP), "is not JSON"),
    (object_schema(properties=[]), "properties: must be an object of schemas"),
    (object_schema(properties={"x": 3}), "properties.x: must be a schema"),
    (object_schema(properties={"x": {"type": "date"}}), r"properties\.x\.type: must be one"),
    (object_schema(properties={"x": {"type": []}}), r"x\.type: must be one"),
    (object_schema(required="x"), "required: must be a list of different names"),
    (object_schema(required=[1]), "required: must be a list"),
    (object_schema(required=["x", "x"], properties={"x": {}}), "different names"),
    (object_schema(required=["x"]), "required: names 'x', which properties does not have"),
    (object_schema(properties={"x": {"enum": []}}), "enum: must be a list"),
    (object_schema(properties={"x": {"pattern": "("}}), "pattern: must be a regular"),
    (object_schema(properties={"x": {"minimum": "1"}}), "minimum: must be a number"),
    (object_schema(properties={"x": {"minItems": -1}}), "minItems: must be a whole number"),
    (object_schema(properties={"x": {"anyOf": []}}), "anyOf: must be a list"),
    (object_schema(properties={"x": {"anyOf": [7]}}), r"x\.anyOf\[0\]: must be a schema"),
    (object_schema(properties={"x": {"items": [True]}}), "items: must be a schema"),
    (object_schema(properties={"x": {"$ref": 1}}), "must be text"),
    (object_schema(properties={"x": {"$ref": "#/$defs/X"}}), "cannot be resolved"),
    (object_schema(properties={"x": {"$ref": "https://example.org"}}), "cannot be resolved"),
    (object_schema(properties={"x": {"$ref": "#/type/x"}}), "cannot be resolved"),
    (object_schema(properties={"x": {"$ref": "#/type"}}), "must be a schema"),
    (object_schema(properties={"x": {"$ref": "#/properties/x"}}), "refers to itself"),
]


@pytest.mark.parametrize(("schema", "text"), REFUSED)
def test_a_bad_schema_is_refused_at_definition(schema: object, text: str) -> None:
    with pytest.raises(ValueError, match=text) as raised:
        check_parameters_schema(schema, "demo")
    assert str(raised.value).startswith("tool 'demo': parameters_schema")


def test_a_checked_schema_is_a_copy() -> None:
    schema = object_schema(properties={})
    checked = check_parameters_schema(schema, "demo")
    schema["properties"]["x"] = {"type": "nonsense"}
    assert checked == {"type": "object", "properties": {}}


@given(schemas, st.dictionaries(st.sampled_from("abc"), json_values))
def test_no_schema_and_no_arguments_raise_anything_else(
    rules: object, arguments: dict[str, object]
) -> None:
    properties = {"a": rules, "b": {"$ref": "#/properties/a"}}
    try:
        schema = check_parameters_schema(object_schema(properties=properties), "demo")
    except ValueError:
        return
    try:
        validate_arguments(schema, json.dumps(arguments), tool_name="demo")
    except ToolExecutionError as error:
        assert str(error).startswith("invalid arguments for demo: ")
