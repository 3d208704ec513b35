# twin: shared
"""A `StepIO` on plain mappings that collects what a method writes.

The embedded engine runs every Step and RPC on it, and a unit test reads from it what one of them
wrote.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

from dex_agents.session.ports import MapLoad, PendingMessage, RecoveryError

ChannelKey: TypeAlias = tuple[str, str | None]
"""A Channel's name, or a ChannelMap's name and the key of one instance."""

ItemKey: TypeAlias = tuple[str, str]
"""An AttributeMap's name and the key of one instance."""


@dataclass(slots=True)
class RecordedWrites:
    """What one method wrote, nothing that left a value as it was; `None` deletes.

    Attributes:
        attributes: New values by Attribute name.
        items: New values by AttributeMap name and key.
        published: Channel, key or `None`, and value, in order.
        deleted_messages: Channel, key or `None`, and message ID, in order.
    """

    attributes: dict[str, str | None] = field(default_factory=dict[str, str | None])
    items: dict[ItemKey, str | None] = field(default_factory=dict[ItemKey, str | None])
    published: list[tuple[str, str | None, str]] = field(
        default_factory=list[tuple[str, str | None, str]]
    )
    deleted_messages: list[tuple[str, str | None, str]] = field(
        default_factory=list[tuple[str, str | None, str]]
    )

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to commit."""
        return not (self.attributes or self.items or self.published or self.deleted_messages)


class RecordingStepIO:
    """What one method call sees of its Flow, and what it writes.

    The mappings are read as they are and never copied, so they must not change while the method
    runs. A mount moves `now` on before it lets a Step settle a call, because the call may have
    taken long.

    Args:
        attributes: The Flow's Attributes.
        maps: Instances by AttributeMap name; it may hold more than `loaded_maps` names.
        loaded_maps: What the method may read of `maps`.
        channel_sizes: How many messages wait in each Channel; absent means none.
        pending: The waiting messages of the Channels that the method loads.
        wait_results: What the finished wait consumed.
        fired_timers: The indexes of the wait's timers that fired.
        max_load_bytes: What Steps may load at most; `None` says that there is no limit.
    """

    __slots__ = (
        "_attributes",
        "_channel_sizes",
        "_fired_timers",
        "_loaded_maps",
        "_maps",
        "_pending",
        "_wait_results",
        "attempt",
        "flow_id",
        "heartbeat_checkpoint",
        "max_load_bytes",
        "now",
        "recovery_error",
        "run_id",
        "step_execution_id",
        "writes",
    )

    def __init__(
        self,
        *,
        flow_id: str,
        now: datetime,
        run_id: str = "",
        step_execution_id: str = "",
        attempt: int = 1,
        attributes: Mapping[str, str],
        maps: Mapping[str, Mapping[str, str]],
        loaded_maps: Collection[MapLoad] = (),
        channel_sizes: Mapping[ChannelKey, int] | None = None,
        pending: Mapping[ChannelKey, Sequence[PendingMessage]] | None = None,
        wait_results: Mapping[ChannelKey, Sequence[str]] | None = None,
        fired_timers: Collection[int] = (),
        recovery_error: RecoveryError | None = None,
        heartbeat_checkpoint: str | None = None,
        max_load_bytes: int | None = None,
    ) -> None:
        self.flow_id = flow_id
        self.run_id = run_id
        self.step_execution_id = step_execution_id
        self.attempt = attempt
        self.now = now
        self.recovery_error = recovery_error
        self.heartbeat_checkpoint = heartbeat_checkpoint
        self.max_load_bytes = max_load_bytes
        self.writes = RecordedWrites()
        self._attributes = attributes
        self._maps = maps
        self._loaded_maps = loaded_maps
        self._channel_sizes = channel_sizes
        self._pending = pending
        self._wait_results = wait_results
        self._fired_timers = fired_timers

    def get(self, attribute: str) -> str | None:
        """Return an Attribute's value, this call's own write first."""
        written = self.writes.attributes
        if attribute in written:
            return written[attribute]
        return self._attributes.get(attribute)

    def set(self, attribute: str, value: str) -> None:
        """Write an Attribute, unless that is its value already."""
        if self._attributes.get(attribute) == value:
            self.writes.attributes.pop(attribute, None)
        else:
            self.writes.attributes[attribute] = value

    def delete(self, attribute: str) -> None:
        """Delete an Attribute, if it is set."""
        if attribute in self._attributes:
            self.writes.attributes[attribute] = None
        else:
            self.writes.attributes.pop(attribute, None)

    def get_item(self, map_name: str, key: str) -> str | None:
        """Return the value of a map instance, this call's own write first.

        Raises:
            LookupError: The method neither loaded nor wrote the instance.
        """
        items = self.writes.items
        if items and (map_name, key) in items:
            return items[map_name, key]
        if not self._is_loaded(map_name, key):
            raise LookupError(
                f"{map_name}/{key} is not loaded by {self.step_execution_id or 'RPC'}"
            )
        return self._maps.get(map_name, _NO_ITEMS).get(key)

    def set_item(self, map_name: str, key: str, value: str) -> None:
        """Write a map instance, unless that is its value already."""
        if self._maps.get(map_name, _NO_ITEMS).get(key) == value:
            self.writes.items.pop((map_name, key), None)
        else:
            self.writes.items[map_name, key] = value

    def delete_item(self, map_name: str, key: str) -> None:
        """Delete a map instance, if it is set or not known to be absent."""
        is_stored = key in self._maps.get(map_name, _NO_ITEMS)
        if is_stored or not self._is_loaded(map_name, key):
            self.writes.items[map_name, key] = None
        else:
            self.writes.items.pop((map_name, key), None)

    def item_keys(self, map_name: str) -> Sequence[str]:
        """Return the keys of the loaded instances, with this call's own writes, in order.

        Raises:
            LookupError: The method loaded nothing of the map.
        """
        return [key for key, _ in self.items(map_name)]

    def items(self, map_name: str) -> Sequence[tuple[str, str]]:
        """Return the loaded instances as key and value, with this call's own writes, in order.

        Raises:
            LookupError: The method loaded nothing of the map.
        """
        wanted = [load.key for load in self._loaded_maps if load.map_name == map_name]
        if not wanted:
            raise LookupError(f"{map_name} is not loaded by {self.step_execution_id or 'RPC'}")
        stored = self._maps.get(map_name, _NO_ITEMS)
        pairs = list(stored.items())
        if None not in wanted:
            pairs = [(key, text) for key, text in pairs if key in wanted]
        written = {key: text for (name, key), text in self.writes.items.items() if name == map_name}
        if written:
            pairs = [(key, text) for key, text in pairs if key not in written]
            pairs.extend((key, text) for key, text in written.items() if text is not None)
        pairs.sort()
        return pairs

    def publish(self, channel: str, value: str, key: str | None = None) -> None:
        """Append a message to a Channel."""
        self.writes.published.append((channel, key, value))

    def channel_size(self, channel: str, key: str | None = None) -> int:
        """Return how many messages wait, with this call's own writes."""
        sizes = self._channel_sizes
        size = 0 if sizes is None else sizes.get((channel, key), 0)
        writes = self.writes
        size += sum(1 for name, item, _ in writes.published if name == channel and item == key)
        size -= sum(
            1 for name, item, _ in writes.deleted_messages if name == channel and item == key
        )
        return size

    def pending_messages(self, channel: str, key: str | None = None) -> Sequence[PendingMessage]:
        """Return the waiting messages of a loaded Channel, oldest first.

        Messages that this call publishes have no ID yet and are not among them.

        Raises:
            LookupError: The method does not load the Channel.
        """
        messages = None if self._pending is None else self._pending.get((channel, key))
        if messages is None:
            raise LookupError(f"{channel} is not loaded by {self.step_execution_id or 'RPC'}")
        deleted = {
            message_id
            for name, item, message_id in self.writes.deleted_messages
            if name == channel and item == key
        }
        return [m for m in messages if m.message_id not in deleted] if deleted else messages

    def delete_message(self, channel: str, message_id: str, key: str | None = None) -> None:
        """Delete one waiting message of a Channel."""
        self.writes.deleted_messages.append((channel, key, message_id))

    def wait_results(self, channel: str, key: str | None = None) -> Sequence[str]:
        """Return what the finished wait consumed from a Channel."""
        results = self._wait_results
        return () if results is None else results.get((channel, key), ())

    def has_timer_fired(self, index: int = 0) -> bool:
        """Tell whether the wait's `index`-th timer has fired."""
        return index in self._fired_timers

    def _is_loaded(self, map_name: str, key: str) -> bool:
        # A plain loop: a Step that reads a thousand messages comes here as often.
        for load in self._loaded_maps:
            if load.map_name == map_name and (load.key is None or load.key == key):
                return True
        return False


_NO_ITEMS: Final[Mapping[str, str]] = {}
