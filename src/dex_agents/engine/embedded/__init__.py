# twin: source
"""The engine inside your process: one file, no port."""

from typing import TYPE_CHECKING

from dex_agents._door import lazy_door

if TYPE_CHECKING:
    from dex_agents.engine.clock import VirtualClock as VirtualClock
    from dex_agents.engine.embedded.client import EmbeddedClient as EmbeddedClient
    from dex_agents.engine.embedded.runtime import EmbeddedEngine as EmbeddedEngine
    from dex_agents.engine.store.file import Durability as Durability

__all__ = ["Durability", "EmbeddedClient", "EmbeddedEngine", "VirtualClock"]

_MODULES = {
    "Durability": "dex_agents.engine.store.file",
    "EmbeddedClient": "dex_agents.engine.embedded.client",
    "EmbeddedEngine": "dex_agents.engine.embedded.runtime",
    "VirtualClock": "dex_agents.engine.clock",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_door(__name__, _MODULES)
