# twin: shared
"""Encode what a function tool returned into the text that the model reads."""

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import cast

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_KEY_CHARACTERS = 60

Path = tuple[str | int, ...]


def encode_tool_result(value: object) -> str:
    """Encode a tool's return value as its output text.

    A string is the output itself. Anything else becomes compact JSON: dataclasses, enums (by
    value), mappings with string or integer keys, sequences, numbers, booleans and None. Lone
    surrogates become U+FFFD, because no UTF-8 transport carries them.

    Args:
        value: What the tool returned.

    Returns:
        The output text.

    Raises:
        ValueError: The value has no JSON form; the text names the place and the type.
    """
    if isinstance(value, str):
        # The base method: str() of an Enum that is also a str would give the member's name.
        return replace_lone_surrogates(str.__str__(value))
    plain = to_json_value(value)
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def to_json_value(value: object) -> object:
    """Convert a Python value into what `json.dumps` takes, strictly.

    Args:
        value: Dataclasses, enums, mappings, sequences and JSON scalars, nested at will.

    Returns:
        Only `dict` with `str` keys, `list`, `str`, `int`, finite `float`, `bool`
        and `None`, without lone surrogates.

    Raises:
        ValueError: Something in the value has no JSON form.
    """
    try:
        return _convert(value, ())
    except RecursionError:
        raise ValueError("the value refers to itself or is nested too deeply for JSON") from None


def replace_lone_surrogates(text: str) -> str:
    """Replace every lone surrogate by U+FFFD.

    Args:
        text: Any text; a string that came from JSON may hold surrogates.

    Returns:
        The same text, encodable as UTF-8.
    """
    return _LONE_SURROGATE.sub("\ufffd", text)


def render_path(path: Path) -> str:
    """Show the place of a nested value, such as `items[2].price`.

    Args:
        path: Keys and list positions, outermost first.

    Returns:
        The readable path; empty for the outermost value.
    """
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _IDENTIFIER.fullmatch(step) and len(step) <= _KEY_CHARACTERS:
            text += f".{step}" if text else step
        else:
            text += f"[{quote_name(step)}]"
    return text


def quote_name(name: str) -> str:
    """Quote a name that the model chose, cut to a length fit for a message."""
    return repr(name if len(name) <= _KEY_CHARACTERS else name[: _KEY_CHARACTERS - 1] + "…")


def _convert(value: object, path: Path) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _convert(cast(object, value.value), path)
    if isinstance(value, str):
        return replace_lone_surrogates(str.__str__(value))
    if isinstance(value, int | float):
        return _convert_number(value, path)
    if _is_dataclass_value(value):
        return _convert_dataclass(value, path)
    if isinstance(value, Mapping):
        return _convert_mapping(cast("Mapping[object, object]", value), path)
    if isinstance(value, bytes | bytearray | memoryview):
        raise _no_json_form(path, "is bytes (return text)")
    if isinstance(value, Sequence):
        items = cast("Sequence[object]", value)
        return [_convert(item, (*path, index)) for index, item in enumerate(items)]
    raise _no_json_form(path, f"is {_describe_type(value)}")


def _is_dataclass_value(value: object) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _convert_dataclass(value: object, path: Path) -> dict[str, object]:
    # Not asdict: it copies every leaf and keeps enums as they are.
    fields = dataclasses.fields(cast("type", value))
    present = [field.name for field in fields if hasattr(value, field.name)]
    return {name: _convert(getattr(value, name), (*path, name)) for name in present}


def _convert_mapping(value: Mapping[object, object], path: Path) -> dict[str, object]:
    converted: dict[str, object] = {}
    for key, item in value.items():
        name = _key_text(key, path)
        if name in converted:
            raise _no_json_form(path, f"has two keys that are both {quote_name(name)} in JSON")
        converted[name] = _convert(item, (*path, name))
    return converted


def _key_text(key: object, path: Path) -> str:
    plain: object = key.value if isinstance(key, Enum) else key
    if isinstance(plain, str):
        return replace_lone_surrogates(str.__str__(plain))
    if isinstance(plain, int) and not isinstance(plain, bool):
        return str(_convert_number(plain, path))
    raise _no_json_form(path, f"has a key that is {_describe_type(key)}; keys must be str or int")


def _convert_number(value: float, path: Path) -> float:
    """Return a plain number; a subclass could print itself in a form that is not JSON."""
    if isinstance(value, int):
        try:
            str(int(value))
        except ValueError:
            raise _no_json_form(path, "is an int with too many digits") from None
        return int(value)
    if not math.isfinite(value):
        raise _no_json_form(path, f"is {float(value)}")
    return float(value)


def _describe_type(value: object) -> str:
    if isinstance(value, set | frozenset):
        return "a set (return a list)"
    return f"of type {type(value).__module__}.{type(value).__qualname__}"


def _no_json_form(path: Path, what: str) -> ValueError:
    return ValueError(f"{render_path(path) or 'the value'} {what}, which JSON cannot express")
