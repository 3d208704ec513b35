# twin: shared
"""The `StepIO` of a method that the SDK called."""

from collections.abc import Sequence
from datetime import UTC, datetime

import dex

from dex_agents.model.limits import MAX_LOAD_BYTES
from dex_agents.sdk.compat import attempt_progress
from dex_agents.sdk.persistence import ATTRIBUTE_MAPS, ATTRIBUTES, CHANNEL_MAPS, CHANNELS
from dex_agents.session.ports import PendingMessage, RecoveryError
from dex_agents.session.recording_io import RecordedWrites


def utc_now() -> datetime:
    """Return this Worker's time."""
    return datetime.now(UTC)


class SdkStepIO:
    """What one method call sees of its Flow through the SDK's Context, and what it writes.

    Writes are collected here and staged in the Context by `commit`: the SDK cannot take a staged
    write back that a later one makes superfluous, and does not show a method its own write to a
    map instance that it has not loaded. A method that ends in an error stages nothing.

    One limit is the SDK's: `item_keys` needs a load of the whole map, and refuses one of single
    instances.
    """

    __slots__ = ("_context", "_writes", "now", "recovery_error")

    def __init__(self, context: dex.Context) -> None:
        """Look at the Flow through a Context, in the thread or task that the SDK called."""
        self._context = context
        self._writes = RecordedWrites()
        # A Worker whose clock is behind must not see a deadline as later than its engine does.
        self.now = max(utc_now(), context.first_attempt_at)
        error = context.recovery_error
        self.recovery_error = (
            None
            if error is None
            else RecoveryError(error.detail, error.error_type, attempt_progress(error))
        )

    @property
    def flow_id(self) -> str:
        """Return the session ID."""
        return self._context.flow_id

    @property
    def run_id(self) -> str:
        """Return the ID of the Flow's run."""
        return self._context.run_id

    @property
    def step_execution_id(self) -> str:
        """Return `<Step>-<n>`; empty in an RPC."""
        return self._context.step_execution_id

    @property
    def attempt(self) -> int:
        """Return the attempt, from 1; an engine may leave it out for an RPC."""
        return max(1, self._context.attempt)

    @property
    def max_load_bytes(self) -> int:
        """Return how much a Step may load: its task is one gRPC message."""
        return MAX_LOAD_BYTES

    @property
    def heartbeat_checkpoint(self) -> str | None:
        """Return what an earlier attempt of this call saved last, if anything."""
        return self._context.get_last_heartbeat_value(str)

    # -- Attributes ----------------------------------------------------------------------------

    def get(self, attribute: str) -> str | None:
        """Return an Attribute's value, this call's own write first."""
        written = self._writes.attributes
        return written[attribute] if attribute in written else self._stored(attribute)

    def set(self, attribute: str, value: str) -> None:
        """Write an Attribute, unless that is its value already."""
        if self._stored(attribute) == value:
            self._writes.attributes.pop(attribute, None)
        else:
            self._writes.attributes[attribute] = value

    def delete(self, attribute: str) -> None:
        """Delete an Attribute, if it is set."""
        if self._stored(attribute) is None:
            self._writes.attributes.pop(attribute, None)
        else:
            self._writes.attributes[attribute] = None

    def _stored(self, attribute: str) -> str | None:
        # Whatever its annotation says, `get` answers None for text that is not set.
        stored: str | None = ATTRIBUTES[attribute].get(self._context)
        return stored

    # -- AttributeMaps -------------------------------------------------------------------------

    def get_item(self, map_name: str, key: str) -> str | None:
        """Return the value of a map instance, this call's own write first.

        Raises:
            LookupError: The method neither loaded nor wrote the instance.
        """
        written = self._writes.items
        if (map_name, key) in written:
            return written[map_name, key]
        return self._stored_item(map_name, key)

    def set_item(self, map_name: str, key: str, value: str) -> None:
        """Write a map instance, unless that is known to be its value already."""
        if self._known_item(map_name, key) == (True, value):
            self._writes.items.pop((map_name, key), None)
        else:
            self._writes.items[map_name, key] = value

    def delete_item(self, map_name: str, key: str) -> None:
        """Delete a map instance, if it is set or not known to be absent."""
        if self._known_item(map_name, key) == (True, None):
            self._writes.items.pop((map_name, key), None)
        else:
            self._writes.items[map_name, key] = None

    def item_keys(self, map_name: str) -> Sequence[str]:
        """Return the map's keys, with this call's own writes, in ascending order.

        Raises:
            LookupError: The method did not load the whole map.
        """
        try:
            keys = set(ATTRIBUTE_MAPS[map_name].get_all_instance_keys(self._context))
        except dex.AttributeMapNotLoadedError:
            raise self._not_loaded(f"all of {map_name}") from None
        for (name, key), value in self._writes.items.items():
            if name == map_name:
                if value is None:
                    keys.discard(key)
                else:
                    keys.add(key)
        return sorted(keys)

    def items(self, map_name: str) -> Sequence[tuple[str, str]]:
        """Return the map's keys and values, with this call's own writes, in order of the keys.

        Raises:
            LookupError: The method did not load the whole map.
        """
        pairs = [(key, self.get_item(map_name, key)) for key in self.item_keys(map_name)]
        return [(key, value) for key, value in pairs if value is not None]

    def _stored_item(self, map_name: str, key: str) -> str | None:
        try:
            stored: str | None = ATTRIBUTE_MAPS[map_name].get(self._context, key)
        except dex.AttributeMapNotLoadedError:
            raise self._not_loaded(f"{map_name}/{key}") from None
        return stored

    def _known_item(self, map_name: str, key: str) -> tuple[bool, str | None]:
        """Return whether the instance is loaded, and its value."""
        try:
            return True, self._stored_item(map_name, key)
        except LookupError:
            return False, None

    # -- Channels, waits -----------------------------------------------------------------------

    def publish(self, channel: str, value: str, key: str | None = None) -> None:
        """Append a message to a Channel."""
        self._writes.published.append((channel, key, value))

    def channel_size(self, channel: str, key: str | None = None) -> int:
        """Return how many messages wait, with this call's own writes."""
        writes, place = self._writes, (channel, key)
        if key is None:
            size = CHANNELS[channel].size(self._context)
        else:
            size = CHANNEL_MAPS[channel].size(self._context, key)
        size += sum(1 for name, item, _ in writes.published if (name, item) == place)
        return size - sum(1 for name, item, _ in writes.deleted_messages if (name, item) == place)

    def pending_messages(self, channel: str, key: str | None = None) -> Sequence[PendingMessage]:
        """Return the waiting messages of a loaded Channel, oldest first.

        Messages that this call publishes have no ID yet and are not among them.

        Raises:
            LookupError: The method does not load the Channel.
        """
        try:
            if key is None:
                messages = CHANNELS[channel].pending_messages(self._context)
            else:
                messages = CHANNEL_MAPS[channel].pending_messages(self._context, key)
        except dex.ChannelMessagesNotLoadedError:
            raise self._not_loaded(channel) from None
        deleted = {
            message_id
            for name, item, message_id in self._writes.deleted_messages
            if (name, item) == (channel, key)
        }
        return [
            PendingMessage(message.message_id, message.value)
            for message in messages
            if message.message_id not in deleted
        ]

    def delete_message(self, channel: str, message_id: str, key: str | None = None) -> None:
        """Delete one waiting message of a Channel."""
        self._writes.deleted_messages.append((channel, key, message_id))

    def wait_results(self, channel: str, key: str | None = None) -> Sequence[str]:
        """Return what the finished wait consumed from a Channel."""
        if key is None:
            return CHANNELS[channel].results(self._context)
        return CHANNEL_MAPS[channel].results(self._context, key)

    def has_timer_fired(self, index: int = 0) -> bool:
        """Tell whether the wait's `index`-th timer has fired."""
        return self._context.has_timer_fired(index)

    # -- the end -------------------------------------------------------------------------------

    def commit(self) -> None:
        """Stage what was written; the SDK sends it with the method's result."""
        context, writes = self._context, self._writes
        for name, value in writes.attributes.items():
            if value is None:
                ATTRIBUTES[name].delete(context)
            else:
                ATTRIBUTES[name].set(context, value)
        for (name, item), value in writes.items.items():
            if value is None:
                ATTRIBUTE_MAPS[name].delete(context, item)
            else:
                ATTRIBUTE_MAPS[name].set(context, item, value)
        for name, key, message_id in writes.deleted_messages:
            if key is None:
                CHANNELS[name].delete(context, message_id)
            else:
                CHANNEL_MAPS[name].delete(context, key, message_id)
        for name, key, message in writes.published:
            if key is None:
                CHANNELS[name].publish(context, message)
            else:
                CHANNEL_MAPS[name].publish(context, key, message)

    def _not_loaded(self, what: str) -> LookupError:
        return LookupError(f"{what} is not loaded by {self.step_execution_id or 'RPC'}")
