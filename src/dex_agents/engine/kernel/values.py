# twin: shared
"""Values that travel through the kernel unread."""

from enum import StrEnum
from typing import NamedTuple


class ValueKind(StrEnum):
    """The forms a value can have on the `dex` protocol."""

    NULL = "null"
    STRING = "string"
    BOOL = "bool"
    INT = "int"
    DOUBLE = "double"
    OBJECT = "object"


class Value(NamedTuple):
    """One opaque value.

    `data` is text for every kind but OBJECT, whose bytes `encoding` names. Text stays a `str`, so
    that all readers share one object and its hash is computed once.
    """

    kind: ValueKind
    encoding: str
    data: str | bytes

    @property
    def columns(self) -> tuple[str, str, str | bytes]:
        """The parts of the value as plain types."""
        return (self.kind.value, self.encoding, self.data)

    @property
    def size_bytes(self) -> int:
        """The size of the data, in bytes of UTF-8."""
        return len(self.data if isinstance(self.data, bytes) else self.data.encode())


NULL = Value(ValueKind.NULL, "", "")


class IndexEntry(NamedTuple):
    """A value that a run can be searched by; NULL takes it out of the search.

    Attributes:
        key: The name to search by.
        value: What a search result shows.
        terms: What a query is compared with; several for a list of keywords.
    """

    key: str
    value: Value
    terms: tuple[str | float, ...]


def text_value(text: str | None) -> Value:
    """Return the value of a text, or NULL for `None`."""
    return NULL if text is None else Value(ValueKind.STRING, "", text)


def value_text(value: Value) -> str | None:
    """Return the text of a STRING or NULL value.

    Raises:
        ValueError: The value is of another kind.
    """
    if value.kind is ValueKind.NULL:
        return None
    if value.kind is not ValueKind.STRING or not isinstance(value.data, str):
        raise ValueError(f"expected text, got a value of kind {value.kind}")
    return value.data
