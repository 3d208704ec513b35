# twin: async-only
"""Values between the protocol and the kernel, which does not look into them."""

import json
import math
from datetime import UTC, datetime

from dex.dexpb import dex_pb2 as pb

from dex_agents.engine.kernel.values import NULL, IndexEntry, Value, ValueKind
from dex_agents.engine.refusals import InvalidRequest

_TRUE = "true"


def read_value(message: pb.Value) -> Value:
    """Return the kernel's form of a protocol value; one without a kind is NULL.

    Raises:
        InvalidRequest: It points to a blob store, which this engine does not have.
    """
    kind = message.WhichOneof("kind")
    if kind is None or kind == "null_value":
        return NULL
    if kind == "string_value":
        return Value(ValueKind.STRING, "", message.string_value)
    if kind == "obj_value":
        return Value(ValueKind.OBJECT, message.obj_value.encoding, message.obj_value.payload)
    if kind == "int_value":
        return Value(ValueKind.INT, "", str(message.int_value))
    if kind == "bool_value":
        return Value(ValueKind.BOOL, "", _TRUE if message.bool_value else "")
    if kind == "double_value":
        return Value(ValueKind.DOUBLE, "", repr(message.double_value))
    raise InvalidRequest("a value points to a blob; the local engine takes values inline")


def fill_value(message: pb.Value, value: Value) -> None:
    """Write a kernel value into an empty protocol value."""
    kind, encoding, data = value
    if kind is ValueKind.STRING and isinstance(data, str):
        message.string_value = data
    elif kind is ValueKind.OBJECT and isinstance(data, bytes):
        message.obj_value.encoding = encoding
        message.obj_value.payload = data
    elif kind is ValueKind.INT:
        message.int_value = int(data)
    elif kind is ValueKind.BOOL:
        message.bool_value = bool(data)
    elif kind is ValueKind.DOUBLE:
        message.double_value = float(data)
    else:
        message.null_value = 0  # type: ignore[assignment]  # the enum's only member


def write_value(value: Value) -> pb.Value:
    """Return the protocol's form of a kernel value."""
    message = pb.Value()
    fill_value(message, value)
    return message


INDEX_TYPES = {
    pb.INDEX_TYPE_KEYWORD: "keyword",
    pb.INDEX_TYPE_TEXT: "text",
    pb.INDEX_TYPE_KEYWORD_ARRAY: "keyword_array",
    pb.INDEX_TYPE_INT: "int",
    pb.INDEX_TYPE_DOUBLE: "double",
    pb.INDEX_TYPE_BOOL: "bool",
    pb.INDEX_TYPE_DATETIME: "datetime",
}


def index_entry(key: str, index_type: str, value: Value) -> IndexEntry:
    """Return what a run is searched by.

    Raises:
        InvalidRequest: The value is not of the index's type.
    """
    if value.kind is ValueKind.NULL:
        return IndexEntry(key, NULL, ())
    try:
        return IndexEntry(key, value, _terms(index_type, value))
    except (ValueError, TypeError):
        raise InvalidRequest(
            f"index {key!r} is of type {index_type}, and the value is not"
        ) from None


def _terms(index_type: str, value: Value) -> tuple[str | float, ...]:
    if value.kind is ValueKind.OBJECT:
        found: object = json.loads(value.data)
        if not isinstance(found, list):
            raise TypeError
        terms = tuple(str(term) for term in found)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        # A run with an empty list still shows its value; an empty keyword marks its place.
        return terms or ("",)
    text = str(value.data)
    if index_type in ("int", "double"):
        number = float(text)
        if math.isnan(number):
            raise ValueError
        return (number,)
    if index_type == "bool":
        return (float(bool(text)),)
    if index_type == "datetime":
        moment = datetime.fromisoformat(text)
        return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp(),)
    return (text,)
