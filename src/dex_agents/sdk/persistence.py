# twin: shared
"""What a session stores, as the SDK's own objects; every value is text.

The SDK compares these objects by identity, so each exists once per process and serves all Flows of
both packages. Only the Stream belongs to one Flow: the SDK refuses one that two Flows share.
"""

from collections.abc import Mapping
from typing import Final

import dex

from dex_agents.session import schema

ATTRIBUTES: Final[Mapping[str, dex.Attribute[str]]] = {
    one.name: dex.Attribute(one.name, str) for one in schema.ATTRIBUTES
}
ATTRIBUTE_MAPS: Final[Mapping[str, dex.AttributeMap[str]]] = {
    one.name: dex.AttributeMap(one.name, str) for one in schema.ATTRIBUTE_MAPS
}
CHANNELS: Final[Mapping[str, dex.Channel[str]]] = {
    one.name: dex.Channel(one.name, str) for one in schema.CHANNELS
}
CHANNEL_MAPS: Final[Mapping[str, dex.ChannelMap[str]]] = {
    one.name: dex.ChannelMap(one.name, str) for one in schema.CHANNEL_MAPS
}


def new_event_stream(capacity_bytes: int) -> dex.Stream[str]:
    """Return the event Stream of one Flow; all sessions of the Flow type share its capacity."""
    return dex.Stream(schema.AGENT_EVENTS.name, str, capacity_bytes)


def persistence_schema(events: dex.Stream[str]) -> dex.PersistenceSchema:
    """Return everything that a session with this event Stream stores."""
    return dex.PersistenceSchema.of(
        *ATTRIBUTES.values(),
        *ATTRIBUTE_MAPS.values(),
        *CHANNELS.values(),
        *CHANNEL_MAPS.values(),
        events,
    )
