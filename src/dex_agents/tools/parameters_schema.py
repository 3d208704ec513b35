# twin: shared
"""Check parameters schemas that are written by hand, and arguments against them.

The common part of JSON Schema, with the standard library: `type`, `properties`, `required`,
`additionalProperties`, `items`, `enum`, `const`, `anyOf`, `oneOf`, `allOf`, limits of numbers,
lengths, `pattern`, and `$ref` within the schema. Other keywords are ignored.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

from dex_agents.tools.arguments import (
    KIND_TEXTS,
    Mismatch,
    as_array,
    as_object,
    check_names,
    is_container,
    is_json_equal,
    merge_mismatches,
    one_of,
    quote_all,
    read_arguments,
    wrong_type,
)
from dex_agents.tools.json_schema import json_kind
from dex_agents.tools.results import Path

_NUMBER = ("integer", "number")


def _same(value: Any) -> Any:
    return value


def _at_least(value: Any, limit: Any) -> bool:
    return bool(value >= limit)


def _at_most(value: Any, limit: Any) -> bool:
    return bool(value <= limit)


def _matches(value: Any, pattern: Any) -> bool:
    return re.search(pattern, value) is not None


# Keyword: the JSON types it is about, what is measured, the rule, and the text with the limit.
_LIMITS: dict[
    str, tuple[tuple[str, ...], Callable[[Any], Any], Callable[[Any, Any], bool], str]
] = {
    "minimum": (_NUMBER, _same, _at_least, "must be at least {}"),
    "maximum": (_NUMBER, _same, _at_most, "must be at most {}"),
    "minLength": (("string",), len, _at_least, "must have at least {} characters"),
    "maxLength": (("string",), len, _at_most, "must have at most {} characters"),
    "pattern": (("string",), _same, _matches, "must match the pattern {}"),
    "minItems": (("array",), len, _at_least, "must have at least {} items"),
    "maxItems": (("array",), len, _at_most, "must have at most {} items"),
}


def _is_type(value: object) -> bool:
    kinds = cast("list[object]", value) if isinstance(value, list) else [value]
    return bool(kinds) and all(isinstance(kind, str) and kind in KIND_TEXTS for kind in kinds)


def _is_name_list(value: object) -> bool:
    if not isinstance(value, list):
        return False
    names = cast("list[object]", value)
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def _is_filled_list(value: object) -> bool:
    return isinstance(value, list) and bool(cast("list[object]", value))


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return json_kind(value) in _NUMBER


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_pattern(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(re.compile(value))
    except (re.error, OverflowError, RecursionError):
        return False


_Form = tuple[Callable[[object], bool], str]
_KIND_LIST = ", ".join(KIND_TEXTS)
_COUNT: _Form = (_is_count, "must be a whole number, zero or more")
_ALTERNATIVES: _Form = (_is_filled_list, "must be a list of at least one schema")
_MEMBERS: _Form = (_is_object, "must be an object of schemas")
_LIMIT: _Form = (_is_number, "must be a number")
_KEYWORD_FORMS: dict[str, _Form] = {
    "type": (_is_type, f"must be one or several of {_KIND_LIST}"),
    "required": (_is_name_list, "must be a list of different names"),
    "enum": (_is_filled_list, "must be a list of at least one value"),
    "$ref": (_is_text, "must be text"),
    "pattern": (_is_pattern, "must be a regular expression that Python reads"),
    "minimum": _LIMIT,
    "maximum": _LIMIT,
    "minLength": _COUNT,
    "maxLength": _COUNT,
    "minItems": _COUNT,
    "maxItems": _COUNT,
    "anyOf": _ALTERNATIVES,
    "oneOf": _ALTERNATIVES,
    "allOf": _ALTERNATIVES,
    "properties": _MEMBERS,
    "$defs": _MEMBERS,
    "definitions": _MEMBERS,
}


def check_parameters_schema(schema: object, tool_name: str) -> dict[str, object]:
    """Check a hand-written JSON Schema when its tool is defined.

    Args:
        schema: The schema, a dict of JSON values with `"type": "object"`.
        tool_name: The tool's name, for the error text.

    Returns:
        A copy that later changes of the original do not reach.

    Raises:
        ValueError: The schema is not usable; the text names the place and the reason.
    """
    label = f"tool {tool_name!r}: parameters_schema"
    if not isinstance(schema, dict):
        raise ValueError(f"{label} must be a dict, got {type(schema).__name__}")
    try:
        text = json.dumps(schema, allow_nan=False)
        copy = cast("dict[str, object]", json.loads(text))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{label} is not JSON: {error}") from error
    if copy.get("type") != "object":
        raise ValueError(f'{label} must have "type": "object", because arguments are an object')
    try:
        _SchemaChecker(copy).check_root()
    except Mismatch as error:
        raise ValueError(f"{label} is not usable: {error.text()}") from None
    except RecursionError:
        raise ValueError(f"{label} is not usable: it is nested too deeply") from None
    return copy


def validate_arguments(
    schema: dict[str, object], arguments_text: str, *, tool_name: str
) -> dict[str, object]:
    """Check a model's JSON arguments against a schema that the tool's author wrote.

    Unknown keywords are ignored. Null for a property that is not required and does not allow
    null means absent.

    Args:
        schema: What `check_parameters_schema` returned.
        arguments_text: JSON text of one object; blank text counts as `{}`.
        tool_name: The tool's name, for the error text.

    Returns:
        The parsed arguments; their values stay plain JSON.

    Raises:
        ToolExecutionError: The arguments are not JSON or break the schema.
    """

    def validate(arguments: dict[str, object]) -> dict[str, object]:
        validator = _Validator(schema)
        present = validator.without_absent(arguments)
        validator.check(present, schema, ())
        return present

    return read_arguments(tool_name, arguments_text, validate)


class _Validator:
    """Checks one call's arguments against a checked schema."""

    def __init__(self, root: dict[str, object]) -> None:
        self._root = root
        self._tried: dict[tuple[int, int], Mismatch | None] = {}

    def without_absent(self, arguments: dict[str, object]) -> dict[str, object]:
        properties = cast("dict[str, object]", self._root.get("properties", {}))
        required = cast("Sequence[str]", self._root.get("required", ()))
        return {
            name: item
            for name, item in arguments.items()
            if item is not None
            or name in required
            or name not in properties
            or self._find_mismatch(None, properties[name], ()) is None
        }

    def check(self, value: object, schema: object, path: Path) -> None:
        if schema is False:
            raise Mismatch(path, "no value is allowed here")
        if schema is True:
            return
        rules = cast("dict[str, object]", schema)
        if "$ref" in rules:
            self.check(value, _follow(self._root, cast("str", rules["$ref"])), path)
        _check_type_and_choice(rules, value, path)
        self._check_combinations(rules, value, path)
        _check_limits(rules, value, path)
        if isinstance(value, list) and "items" in rules:
            for index, item in enumerate(as_array(cast(object, value), path)):
                self.check(item, rules["items"], (*path, index))
        if isinstance(value, dict):
            self._check_members(rules, as_object(cast(object, value), path), path)

    def _check_members(
        self, rules: dict[str, object], members: dict[str, object], path: Path
    ) -> None:
        properties = cast("dict[str, object]", rules.get("properties", {}))
        others = rules.get("additionalProperties", True)
        accepted = properties if others is False else None
        check_names(members, cast("Sequence[str]", rules.get("required", ())), path, accepted)
        for name, item in members.items():
            self.check(item, properties.get(name, others), (*path, name))

    def _check_combinations(self, rules: dict[str, object], value: object, path: Path) -> None:
        for schema in _schemas(rules, "allOf"):
            if (mismatch := self._find_mismatch(value, schema, path)) is not None:
                raise mismatch
        for keyword in ("anyOf", "oneOf"):
            outcomes = [
                self._find_mismatch(value, schema, path) for schema in _schemas(rules, keyword)
            ]
            mismatches = [outcome for outcome in outcomes if outcome is not None]
            if outcomes and len(mismatches) == len(outcomes):
                raise merge_mismatches(mismatches, value, path)
            if keyword == "oneOf" and len(outcomes) - len(mismatches) > 1:
                raise Mismatch(path, "fits more than one of the alternatives; it must fit one")

    def _find_mismatch(self, value: object, schema: object, path: Path) -> Mismatch | None:
        # Remembered for the same reason as in `_Decoder`; scalars are cheap and share ids.
        key = (id(value), id(schema)) if is_container(value) else None
        if key is not None and key in self._tried:
            return self._tried[key]
        outcome: Mismatch | None = None
        try:
            self.check(value, schema, path)
        except Mismatch as mismatch:
            outcome = mismatch
        if key is not None:
            self._tried[key] = outcome
        return outcome


class _SchemaChecker:
    """Checks that every keyword this module knows is written as JSON Schema has it."""

    def __init__(self, root: dict[str, object]) -> None:
        self._root = root
        self._seen: set[int] = set()

    def check_root(self) -> None:
        self._check(self._root, ())
        properties = as_object(self._root.get("properties", {}), ())
        required = cast("Sequence[str]", self._root.get("required", ()))
        unknown = [name for name in required if name not in properties]
        if unknown:
            _refuse(("required",), f"names {quote_all(unknown)}, which properties does not have")

    def _check(self, schema: object, path: Path) -> None:
        if isinstance(schema, bool) or id(schema) in self._seen:
            return
        if not isinstance(schema, dict):
            _refuse(path, "must be a schema: an object, true or false")
        self._seen.add(id(cast(object, schema)))
        rules = as_object(cast(object, schema), path)
        for keyword, (is_well_formed, text) in _KEYWORD_FORMS.items():
            if keyword in rules and not is_well_formed(rules[keyword]):
                _refuse((*path, keyword), text)
        if "$ref" in rules:
            self._check_reference(rules, (*path, "$ref"))
        for keyword in ("items", "additionalProperties"):
            if keyword in rules:
                self._check(rules[keyword], (*path, keyword))
        for keyword in ("anyOf", "oneOf", "allOf"):
            for index, alternative in enumerate(_schemas(rules, keyword)):
                self._check(alternative, (*path, keyword, index))
        for keyword in ("properties", "$defs", "definitions"):
            for name, member in as_object(rules.get(keyword, {}), path).items():
                self._check(member, (*path, keyword, name))

    def _check_reference(self, rules: dict[str, object], path: Path) -> None:
        # A chain of references alone would never come to a rule.
        chain: set[str] = set()
        target: object = rules
        while _is_object(target) and "$ref" in (rules := as_object(target, path)):
            reference = str(rules["$ref"])
            if reference in chain:
                _refuse(path, "refers to itself and nothing else")
            chain.add(reference)
            try:
                target = _follow(self._root, reference)
            except LookupError:
                _refuse(path, f"cannot be resolved: {reference!r} is not in this schema")
        self._check(target, path)


def _check_type_and_choice(rules: dict[str, object], value: object, path: Path) -> None:
    allowed = rules.get("type")
    if allowed is not None:
        kinds = [allowed] if isinstance(allowed, str) else cast("list[str]", allowed)
        if not any(_is_of_kind(value, kind) for kind in kinds):
            raise wrong_type(tuple(KIND_TEXTS[kind] for kind in kinds), value, path)
    choices = cast("list[object] | None", rules.get("enum"))
    if "const" in rules:
        choices = [rules["const"]]
    if choices is not None and not any(is_json_equal(choice, value) for choice in choices):
        raise wrong_type((one_of(choices),), value, path)


def _check_limits(rules: dict[str, object], value: object, path: Path) -> None:
    for keyword, (kinds, measure, is_kept, text) in _LIMITS.items():
        if keyword in rules and json_kind(value) in kinds:
            limit = rules[keyword]
            if not is_kept(measure(value), limit):
                raise Mismatch(path, text.format(limit))


def _schemas(rules: dict[str, object], keyword: str) -> Sequence[object]:
    return cast("Sequence[object]", rules.get(keyword, ()))


def _follow(root: dict[str, object], reference: str) -> object:
    """Find what `#` or `#/$defs/Name` refers to.

    Raises:
        LookupError: The reference leads out of this schema or to nothing in it.
    """
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        raise LookupError(reference)
    found: object = root
    for part in reference[2:].split("/"):
        members = as_object(found, ()) if _is_object(found) else {}
        found = members[part.replace("~1", "/").replace("~0", "~")]
    return found


def _is_of_kind(value: object, kind: str) -> bool:
    found = json_kind(value)
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return found == kind or (kind == "number" and found == "integer")


def _refuse(path: Path, reason: str) -> NoReturn:
    raise Mismatch(path, reason)
