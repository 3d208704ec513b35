# twin: shared
"""Typed names of what a session stores: Attributes, AttributeMaps, Channels and the Stream.

Each is a durable name and a codec; the state itself is behind the `StepIO` of a call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from dex_agents.errors import StoredValueError
from dex_agents.model.wire import JsonObject, WireValue, json_text, parse_json
from dex_agents.session.ports import ChannelWait, MapLoad, StepIO

T = TypeVar("T")
WireT = TypeVar("WireT", bound=WireValue)


@dataclass(frozen=True, slots=True)
class TextCodec(Generic[T]):
    """How a value becomes stored text and back; `decode` raises `StoredValueError`."""

    encode: Callable[[T], str]
    decode: Callable[[str], T]


def _same_text(text: str) -> str:
    return text


PLAIN_TEXT = TextCodec(_same_text, _same_text)
"""For a value that is text already; it is stored as it is."""


def wire_codec(wire_type: type[WireT]) -> TextCodec[WireT]:
    """Return the codec of one wire type."""
    return TextCodec(wire_type.to_text, wire_type.from_text)


def wire_list_codec(wire_type: type[WireT]) -> TextCodec[tuple[WireT, ...]]:
    """Return the codec of a JSON list of one wire type."""

    def encode(values: tuple[WireT, ...]) -> str:
        return json_text([value.to_json() for value in values])

    def decode(text: str) -> tuple[WireT, ...]:
        items = parse_json(text, f"list of {wire_type.__name__}")
        if not isinstance(items, list):
            raise StoredValueError(f"list of {wire_type.__name__}: expected a list")
        return tuple(wire_type.from_json(item) for item in cast("list[JsonObject]", items))

    return TextCodec(encode, decode)


@dataclass(frozen=True, slots=True)
class Attribute(Generic[T]):
    """One stored value of a session; `name` is durable."""

    name: str
    codec: TextCodec[T]

    def get(self, io: StepIO) -> T | None:
        """Return the value, or `None` when it is not set.

        Raises:
            StoredValueError: The stored text is damaged; the message starts with the name.
        """
        text = io.get(self.name)
        return None if text is None else _decode(self.codec, text, self.name)

    def set(self, io: StepIO, value: T) -> None:
        """Write the value; nothing is stored when it is the same as before."""
        io.set(self.name, self.codec.encode(value))

    def delete(self, io: StepIO) -> None:
        """Delete the value, if it is set."""
        io.delete(self.name)


@dataclass(frozen=True, slots=True)
class AttributeMap(Generic[T]):
    """Stored values of a session by key; `name` is durable."""

    name: str
    codec: TextCodec[T]

    def get(self, io: StepIO, key: str) -> T | None:
        """Return the value of a loaded instance, or `None` when it is not set.

        Raises:
            LookupError: The method did not load the instance.
            StoredValueError: The stored text is damaged; the message starts with name and key.
        """
        text = io.get_item(self.name, key)
        return None if text is None else _decode(self.codec, text, f"{self.name}/{key}")

    def set(self, io: StepIO, key: str, value: T) -> None:
        """Write an instance; nothing is stored when it is the same as before."""
        io.set_item(self.name, key, self.codec.encode(value))

    def delete(self, io: StepIO, key: str) -> None:
        """Delete an instance."""
        io.delete_item(self.name, key)

    def keys(self, io: StepIO) -> Sequence[str]:
        """Return the keys of the loaded instances, in ascending order."""
        return io.item_keys(self.name)

    def items(self, io: StepIO) -> Sequence[tuple[str, T]]:
        """Return the loaded instances as key and value, in ascending order of their keys.

        Raises:
            LookupError: The method loaded nothing of the map.
            StoredValueError: A stored text is damaged; the message starts with name and key.
        """
        decode = self.codec.decode
        try:
            return [(key, decode(text)) for key, text in io.items(self.name)]
        except StoredValueError:
            # Find out which one it was.
            return [
                (key, _decode(self.codec, text, f"{self.name}/{key}"))
                for key, text in io.items(self.name)
            ]

    def load_all(self) -> MapLoad:
        """Return the load of every instance."""
        return MapLoad(self.name)

    def load_one(self, key: str) -> MapLoad:
        """Return the load of one instance."""
        return MapLoad(self.name, key)


@dataclass(frozen=True, slots=True)
class Waiting(Generic[T]):
    """One message that waits in a Channel."""

    message_id: str
    value: T


@dataclass(frozen=True, slots=True)
class Channel(Generic[T]):
    """A queue of a session; `name` is durable."""

    name: str
    codec: TextCodec[T]

    def publish(self, io: StepIO, value: T) -> None:
        """Append a message."""
        io.publish(self.name, self.codec.encode(value))

    def for_one(self) -> ChannelWait:
        """Wait for one message and consume it."""
        return ChannelWait(self.name)

    def for_n(self, count: int) -> ChannelWait:
        """Wait for exactly `count` messages and consume them."""
        return ChannelWait(self.name, at_least=count, at_most=count)

    def results(self, io: StepIO) -> tuple[T, ...]:
        """Return what the finished wait consumed, oldest first."""
        return tuple(_decode(self.codec, text, self.name) for text in io.wait_results(self.name))

    def pending(self, io: StepIO) -> tuple[Waiting[T], ...]:
        """Return the waiting messages of a loaded Channel, oldest first."""
        return tuple(
            Waiting(message.message_id, _decode(self.codec, message.value, self.name))
            for message in io.pending_messages(self.name)
        )

    def size(self, io: StepIO) -> int:
        """Return how many messages wait."""
        return io.channel_size(self.name)


@dataclass(frozen=True, slots=True)
class ChannelMap(Generic[T]):
    """Queues of a session by key; `name` is durable."""

    name: str
    codec: TextCodec[T]

    def publish(self, io: StepIO, key: str, value: T) -> None:
        """Append a message to one instance."""
        io.publish(self.name, self.codec.encode(value), key)

    def for_one(self, key: str) -> ChannelWait:
        """Wait for one message of one instance and consume it."""
        return ChannelWait(self.name, key)

    def results(self, io: StepIO, key: str) -> tuple[T, ...]:
        """Return what the finished wait consumed of one instance, oldest first."""
        what = f"{self.name}/{key}"
        return tuple(_decode(self.codec, text, what) for text in io.wait_results(self.name, key))


@dataclass(frozen=True, slots=True)
class EventStream(Generic[T]):
    """The live events of a session, one Stream per Flow type; `name` is durable."""

    name: str
    codec: TextCodec[T]


def _decode(codec: TextCodec[T], text: str, what: str) -> T:
    try:
        return codec.decode(text)
    except StoredValueError as error:
        raise StoredValueError(f"{what}: {error}") from None
