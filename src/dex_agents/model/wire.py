# twin: shared
"""The JSON form of everything that is stored or sent.

A wire type is a frozen dataclass that inherits `WireValue`. Its fields are the JSON keys. What a
newer release wrote and this one does not know is kept and written back, so that processes of both
releases can serve one session.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Final, Self, TypeAlias, TypeVar, Union, cast, get_args, get_origin

from dex_agents.errors import StoredValueError
from dex_agents.model.text import clean_text

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
JsonObject: TypeAlias = Mapping[str, JsonValue]

T = TypeVar("T")

_ABSENT: Final = object()
# Wire values hold no cycles, so the encoder need not look for them.
_encode_json = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
).encode


def json_text(value: object) -> str:
    """Return compact JSON text, with lone surrogates as U+FFFD.

    Raises:
        TypeError: The value holds something that JSON has no form for.
        ValueError: It holds a number that JSON has no form for.
    """
    return clean_text(_encode_json(value))


def parse_json(text: str, what: str) -> Any:
    """Return the value of JSON text.

    Raises:
        StoredValueError: The text is not JSON; the message starts with `what`.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise StoredValueError(f"{what}: not valid JSON ({error})") from None


def time_text(moment: datetime) -> str:
    """Return a moment as ISO 8601 in UTC, with microseconds and a trailing `+00:00`.

    Raises:
        ValueError: The moment is naive.
    """
    if moment.tzinfo is not UTC:
        if moment.tzinfo is None:
            raise ValueError("a stored time must say its offset")
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class WireValue:
    """The base of all wire types."""

    _extra: JsonObject | None = field(default=None, repr=False, compare=False)

    def to_json(self) -> dict[str, JsonValue]:
        """Return the JSON object: fields that are `None` left out, unknown keys put back."""
        data = _codec_of(type(self)).encode(self)
        if self._extra is not None:
            for key, value in self._extra.items():
                data.setdefault(key, value)
        return data

    def to_text(self) -> str:
        """Return the compact JSON text."""
        return json_text(self.to_json())

    @classmethod
    def from_json(cls, data: JsonObject) -> Self:
        """Return the value of a JSON object.

        Raises:
            StoredValueError: A field is missing or of a wrong type; the message names both.
        """
        return cast(Self, _codec_of(cls).decode(data))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the value of JSON text.

        Raises:
            StoredValueError: It is not JSON, or not the JSON of this type.
        """
        return cast(Self, _codec_of(cls).decode(parse_json(text, cls.__name__)))


class _WrongTypeError(Exception):
    """Carry what a field expected up to the codec that knows the field's name."""


@dataclass(frozen=True, slots=True)
class _ValueCodec:
    """How one field type is read and written.

    `exact_class` is the class of JSON values that need no decoding. `encode` is `None` when the
    value is its own JSON form.
    """

    exact_class: type | None
    decode: Callable[[Any], Any]
    encode: Callable[[Any], JsonValue] | None = None


@dataclass(frozen=True, slots=True)
class _FieldCodec:
    name: str
    value: _ValueCodec
    is_optional: bool
    is_required: bool


@dataclass(frozen=True, slots=True)
class _Codec:
    """How one wire type is read and written; built once from its field types."""

    wire_type: type[Any]
    field_codecs: tuple[_FieldCodec, ...]
    names: frozenset[str]

    def encode(self, value: WireValue) -> dict[str, JsonValue]:
        data: dict[str, JsonValue] = {}
        for codec in self.field_codecs:
            item = getattr(value, codec.name)
            if item is not None:
                encode = codec.value.encode
                data[codec.name] = item if encode is None else encode(item)
        return data

    def decode(self, data: object) -> Any:
        if not isinstance(data, Mapping):
            raise StoredValueError(
                f"{self.wire_type.__name__}: expected an object, found {_json_kind(data)}"
            )
        mapping = cast(JsonObject, data)
        values: dict[str, Any] = {}
        known_count = 0
        for codec in self.field_codecs:
            raw = mapping.get(codec.name, _ABSENT)
            if raw is _ABSENT:
                if codec.is_required:
                    raise StoredValueError(f"{self.wire_type.__name__}.{codec.name}: is missing")
                continue
            known_count += 1
            if raw.__class__ is codec.value.exact_class:
                values[codec.name] = raw
            elif raw is not None or not codec.is_optional:
                values[codec.name] = self._decode_field(codec, raw)
        if known_count != len(mapping):
            values["_extra"] = {k: v for k, v in mapping.items() if k not in self.names}
        return self.wire_type(**values)

    def _decode_field(self, codec: _FieldCodec, raw: object) -> Any:
        try:
            return codec.value.decode(raw)
        except _WrongTypeError as error:
            raise StoredValueError(
                f"{self.wire_type.__name__}.{codec.name}: expected {error}, found {_json_kind(raw)}"
            ) from None
        except StoredValueError as error:
            raise StoredValueError(f"{self.wire_type.__name__}.{codec.name}: {error}") from None


def _json_kind(value: object) -> str:
    """Name the kind of a JSON value; never the value, which may be private or large."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "an object" if isinstance(value, Mapping) else "a list"


def _refuse(expected: str) -> Callable[[Any], Any]:
    def refuse(raw: object) -> Any:
        raise _WrongTypeError(expected)

    return refuse


def _decode_float(raw: object) -> float:
    if type(raw) is int:
        return float(raw)
    raise _WrongTypeError("a number")


def _decode_time(raw: object) -> datetime:
    try:
        moment = datetime.fromisoformat(raw) if isinstance(raw, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise _WrongTypeError("a time in ISO 8601 with its offset")
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def _enum_codec(enum_type: type[Enum]) -> _ValueCodec:
    members = {member.value: member for member in enum_type}
    expected = "one of " + ", ".join(str(value) for value in members)

    def decode(raw: object) -> Enum:
        member = members.get(raw) if isinstance(raw, str) else None
        if member is None:
            raise _WrongTypeError(expected)
        return member

    return _ValueCodec(None, decode, lambda member: cast(JsonValue, member.value))


def _tuple_codec(item_type: object) -> _ValueCodec:
    item = _value_codec(item_type)
    exact_class, decode_item, encode_item = item.exact_class, item.decode, item.encode

    def decode(raw: object) -> tuple[Any, ...]:
        if not isinstance(raw, list):
            raise _WrongTypeError("a list")
        items = cast("list[object]", raw)
        return tuple(x if x.__class__ is exact_class else decode_item(x) for x in items)

    def encode(value: tuple[Any, ...]) -> JsonValue:
        return list(value) if encode_item is None else [encode_item(x) for x in value]

    return _ValueCodec(None, decode, encode)


_PLAIN_CODECS: Final[Mapping[object, _ValueCodec]] = {
    str: _ValueCodec(str, _refuse("a text")),
    int: _ValueCodec(int, _refuse("an integer")),
    bool: _ValueCodec(bool, _refuse("a boolean")),
    float: _ValueCodec(float, _decode_float),
    datetime: _ValueCodec(None, _decode_time, time_text),
    JsonObject: _ValueCodec(dict, _refuse("an object"), dict),
}


def _value_codec(value_type: object) -> _ValueCodec:
    plain = _PLAIN_CODECS.get(value_type)
    if plain is not None:
        return plain
    if get_origin(value_type) is tuple:
        item_type, ellipsis = get_args(value_type)
        if ellipsis is Ellipsis:
            return _tuple_codec(item_type)
    elif isinstance(value_type, type) and issubclass(value_type, Enum):
        return _enum_codec(value_type)
    elif isinstance(value_type, type) and issubclass(value_type, WireValue):
        return _ValueCodec(
            None,
            lambda raw: _codec_of(value_type).decode(raw),
            lambda value: cast(JsonValue, value.to_json()),
        )
    raise TypeError(f"a wire type cannot have a field of type {value_type!r}")


def _split_optional(field_type: object) -> tuple[object, bool]:
    if get_origin(field_type) not in (UnionType, Union):
        return field_type, False
    members = [member for member in get_args(field_type) if member is not NoneType]
    if len(members) != 1:
        raise TypeError(f"a wire type cannot have a field of type {field_type!r}")
    return members[0], True


_codecs: Final[dict[type[Any], _Codec]] = {}


def _codec_of(wire_type: type[Any]) -> _Codec:
    """Return the type's codec, built when the type is first used."""
    codec = _codecs.get(wire_type)
    if codec is None:
        codec = _codecs[wire_type] = _build_codec(wire_type)
    return codec


def _build_codec(wire_type: type[Any]) -> _Codec:
    codecs: list[_FieldCodec] = []
    for item in fields(wire_type):
        if item.name == "_extra":
            continue
        value_type, is_optional = _split_optional(item.type)
        is_required = item.default is MISSING and item.default_factory is MISSING
        codecs.append(_FieldCodec(item.name, _value_codec(value_type), is_optional, is_required))
    return _Codec(wire_type, tuple(codecs), frozenset(codec.name for codec in codecs))


def cached_decoder(
    decode: Callable[[str], T], *, max_entries: int, max_characters: int
) -> Callable[[str], T]:
    """Return a decoder that remembers immutable values by their text.

    Every Step of a session reads the same messages again. Longer texts are decoded each time, so
    that the memory stays bounded.
    """
    decode_cached = lru_cache(max_entries)(decode)

    def decode_text(text: str) -> T:
        return decode_cached(text) if len(text) <= max_characters else decode(text)

    return decode_text
