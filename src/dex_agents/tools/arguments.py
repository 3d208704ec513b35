# twin: shared
"""Decode and check the arguments that a model wrote for a function tool.

`decode_arguments` serves tools whose schema came from type hints; `parameters_schema` serves
schemas written by hand, with the same error texts. Everything that is wrong with arguments is a
`ToolExecutionError`, because the model can correct it.
"""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn, cast

from dex_agents.errors import ToolExecutionError
from dex_agents.tools.json_schema import (
    AnyHint,
    ArrayHint,
    ChoiceHint,
    DescribedHint,
    FunctionParameters,
    Hint,
    MapHint,
    RecordHint,
    ScalarHint,
    UnionHint,
    allows_null,
    json_kind,
)
from dex_agents.tools.results import Path, quote_name, render_path, replace_lone_surrogates

_REASON_CHARACTERS = 1_000
KIND_TEXTS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "null": "null",
    "array": "an array",
    "object": "an object",
}


def decode_arguments(
    parameters: FunctionParameters, arguments_text: str, *, tool_name: str
) -> dict[str, object]:
    """Decode a model's JSON arguments into the keyword arguments of a tool's function.

    Dataclasses are built and enum members looked up. A union takes the first member whose JSON
    type matches exactly, then the first that accepts the value (an integer where a float is
    asked for). Null for a parameter or field with a default means absent, since providers with
    strict schemas send it so, unless its hint allows None.

    Args:
        parameters: What `describe_function` returned.
        arguments_text: JSON text of one object; blank text counts as `{}`.
        tool_name: The tool's name, for the error text.

    Returns:
        Keyword arguments, without the injected parameter.

    Raises:
        ToolExecutionError: The arguments are not JSON or do not fit the hints.
    """

    def decode(arguments: dict[str, object]) -> dict[str, object]:
        decoded = _Decoder().decode(parameters.record, arguments, (), is_exact=False)
        return cast("dict[str, object]", decoded)

    return read_arguments(tool_name, arguments_text, decode)


class Mismatch(Exception):
    """Carry one reason why a value does not fit, up to the tool's name.

    `expected` holds what would have fitted when the value's type or choice is wrong, so that
    the members of a union can be listed in one sentence.
    """

    def __init__(self, path: Path, reason: str, expected: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = _shorten(reason)
        self.expected = expected

    def text(self) -> str:
        """Say where and why, at most 1,000 characters."""
        return _shorten(f"{render_path(self.path)}: {self.reason}" if self.path else self.reason)


class _Decoder:
    """Decodes one call's arguments by the hints of the function."""

    def __init__(self) -> None:
        # Recursive unions would try every combination of members again at each level below.
        # The parsed arguments outlive the decoder, so an id stands for one place in them.
        self._tried: dict[tuple[int, int, bool], object] = {}

    def decode(self, hint: Hint, value: object, path: Path, *, is_exact: bool) -> object:
        match hint:
            case AnyHint():
                return value
            case ScalarHint():
                return _decode_scalar(hint, value, path, is_exact=is_exact)
            case ChoiceHint():
                return _decode_choice(hint, value, path, is_exact=is_exact)
            case DescribedHint():
                return self.decode(hint.hint, value, path, is_exact=is_exact)
            case ArrayHint():
                return [
                    self.decode(hint.items, item, (*path, index), is_exact=is_exact)
                    for index, item in enumerate(as_array(value, path))
                ]
            case MapHint():
                return {
                    key: self.decode(hint.values, item, (*path, key), is_exact=is_exact)
                    for key, item in as_object(value, path).items()
                }
            case RecordHint():
                return self._decode_record(hint, value, path, is_exact=is_exact)
            case UnionHint():
                return self._decode_union_once(hint, value, path, is_exact=is_exact)

    def _decode_record(
        self, record: RecordHint, value: object, path: Path, *, is_exact: bool
    ) -> object:
        fields = record.fields
        given = {
            name: item
            for name, item in as_object(value, path).items()
            if item is not None
            or name not in fields
            or fields[name].is_required
            or allows_null(fields[name].hint)
        }
        required = [name for name, entry in fields.items() if entry.is_required]
        check_names(given, required, path, accepted=fields)
        decoded = {
            name: self.decode(entry.hint, given[name], (*path, name), is_exact=is_exact)
            for name, entry in fields.items()
            if name in given
        }
        if record.build is None:
            return decoded
        try:
            return record.build(**decoded)
        except Exception as error:
            # The dataclass's own checks: to the model they are like any other wrong argument.
            reason = str(error) or type(error).__name__
            raise Mismatch(path, replace_lone_surrogates(reason)) from error

    def _decode_union_once(
        self, hint: UnionHint, value: object, path: Path, *, is_exact: bool
    ) -> object:
        if not is_container(value):
            return self._decode_union(hint, value, path, is_exact=is_exact)
        key = (id(hint), id(value), is_exact)
        if key not in self._tried:
            try:
                self._tried[key] = self._decode_union(hint, value, path, is_exact=is_exact)
            except Mismatch as mismatch:
                self._tried[key] = mismatch
        outcome = self._tried[key]
        if isinstance(outcome, Mismatch):
            raise outcome
        return outcome

    def _decode_union(
        self, hint: UnionHint, value: object, path: Path, *, is_exact: bool
    ) -> object:
        mismatches: list[Mismatch] = []
        for is_exact_pass in (True,) if is_exact else (True, False):
            mismatches.clear()
            for member in hint.members:
                try:
                    return self.decode(member, value, path, is_exact=is_exact_pass)
                except Mismatch as mismatch:
                    mismatches.append(mismatch)
        raise merge_mismatches(mismatches, value, path)


def read_arguments(
    tool_name: str,
    arguments_text: str,
    read: Callable[[dict[str, object]], dict[str, object]],
) -> dict[str, object]:
    """Parse arguments, read them with `read`, and report every mismatch in one form.

    Raises:
        ToolExecutionError: The text is not a JSON object, or `read` raised a `Mismatch`.
    """
    try:
        return read(_parse(arguments_text))
    except Mismatch as mismatch:
        reason = mismatch.text()
        cause = mismatch.__cause__
    except RecursionError:
        reason = "arguments are nested too deeply"
        cause = None
    raise ToolExecutionError(f"invalid arguments for {tool_name}: {reason}") from cause


def _parse(text: str) -> dict[str, object]:
    text = replace_lone_surrogates(text)
    if not text.strip():
        return {}
    try:
        parsed: object = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_parse_finite_float
        )
    except ValueError:
        raise Mismatch((), "arguments are not valid JSON") from None
    if not isinstance(parsed, dict):
        raise Mismatch((), "arguments must be a JSON object")
    # Only an escape can bring a surrogate back.
    clean = _clean(cast(object, parsed)) if "\\u" in text else cast(object, parsed)
    return cast("dict[str, object]", clean)


def _refuse_constant(name: str) -> NoReturn:
    raise Mismatch((), f"{name} is not a JSON number")


def _parse_finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Mismatch((), "arguments hold a number that is out of range")
    return number


def _clean(value: object) -> object:
    if isinstance(value, str):
        return replace_lone_surrogates(value)
    if isinstance(value, list):
        return [_clean(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return {replace_lone_surrogates(key): _clean(item) for key, item in members.items()}
    return value


def _decode_scalar(hint: ScalarHint, value: object, path: Path, *, is_exact: bool) -> object:
    kind = json_kind(value)
    if kind == hint.kind:
        return value
    if not is_exact and hint.kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if not is_exact and hint.kind == "number" and kind == "integer":
        try:
            return float(cast(int, value))
        except OverflowError:
            raise Mismatch(path, "the number is out of range") from None
    raise wrong_type((KIND_TEXTS[hint.kind],), value, path)


def _decode_choice(hint: ChoiceHint, value: object, path: Path, *, is_exact: bool) -> object:
    for json_value, python_value in hint.choices:
        if type(json_value) is type(value) and json_value == value:
            return python_value
    for json_value, python_value in () if is_exact else hint.choices:
        if is_json_equal(json_value, value):
            return python_value
    raise wrong_type((one_of([choice for choice, _ in hint.choices]),), value, path)


def check_names(
    given: Iterable[str],
    required: Iterable[str],
    path: Path,
    accepted: Iterable[str] | None = None,
) -> None:
    """Refuse missing and unknown names together: a misspelt name is both."""
    noun = "key" if path else "argument"
    present = set(given)
    known = None if accepted is None else list(accepted)
    reasons: list[str] = []
    if missing := [name for name in required if name not in present]:
        reasons.append(f"missing {noun}{'s' * (len(missing) > 1)} {quote_all(missing)}")
    if known is not None and (unknown := [name for name in given if name not in known]):
        reasons.append(
            f"unknown {noun}{'s' * (len(unknown) > 1)} {quote_all(unknown)}, "
            f"accepted: {', '.join(known) or 'none'}"
        )
    if reasons:
        raise Mismatch(path, "; ".join(reasons))


def wrong_type(expected: tuple[str, ...], value: object, path: Path) -> Mismatch:
    """Describe a value whose type or choice is wrong, such as `expected null, got a string`."""
    *others, last = expected
    wanted = f"{', '.join(others)} or {last}" if others else last
    return Mismatch(path, f"expected {wanted}, got {KIND_TEXTS[json_kind(value)]}", expected)


def merge_mismatches(mismatches: Sequence[Mismatch], value: object, path: Path) -> Mismatch:
    """Describe a value that fits no alternative by the alternatives that came closest to it."""
    closer = [entry for entry in mismatches if not entry.expected or entry.path != path]
    if not closer:
        expected = dict.fromkeys(text for entry in mismatches for text in entry.expected)
        return wrong_type(tuple(expected), value, path)
    closest = max(closer, key=lambda entry: len(entry.path)).path
    reasons = dict.fromkeys(entry.reason for entry in closer if entry.path == closest)
    return Mismatch(closest, "; or ".join(reasons))


def one_of(choices: Sequence[object]) -> str:
    """List the allowed values as JSON."""
    texts = [json.dumps(choice, ensure_ascii=False) for choice in choices]
    return texts[0] if len(texts) == 1 else f"one of {', '.join(texts)}"


def quote_all(names: Iterable[str]) -> str:
    """List names that the model chose."""
    return ", ".join(quote_name(name) for name in names)


def is_json_equal(left: object, right: object) -> bool:
    """Compare as JSON does: 1 equals 1.0, and true does not equal 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        pairs = (cast("list[object]", left), cast("list[object]", right))
        return len(pairs[0]) == len(pairs[1]) and all(map(is_json_equal, *pairs))
    if isinstance(left, dict) and isinstance(right, dict):
        ours, theirs = cast("dict[str, object]", left), cast("dict[str, object]", right)
        return ours.keys() == theirs.keys() and all(
            is_json_equal(item, theirs[name]) for name, item in ours.items()
        )
    return left == right


def is_container(value: object) -> bool:
    """Tell whether a parsed value is an array or an object."""
    return isinstance(value, list | dict)


def as_array(value: object, path: Path) -> list[object]:
    """Return a parsed array, or raise the `Mismatch` that says it is none."""
    if not isinstance(value, list):
        raise wrong_type((KIND_TEXTS["array"],), value, path)
    return cast("list[object]", value)


def as_object(value: object, path: Path) -> dict[str, object]:
    """Return a parsed object, or raise the `Mismatch` that says it is none."""
    if not isinstance(value, dict):
        raise wrong_type((KIND_TEXTS["object"],), value, path)
    return cast("dict[str, object]", value)


def _shorten(text: str) -> str:
    if len(text) <= _REASON_CHARACTERS:
        return text
    return text[: _REASON_CHARACTERS - 1] + "…"
