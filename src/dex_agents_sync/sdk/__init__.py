# twin: generated from src/dex_agents/sdk/__init__.py by tools/twin; do not edit.
"""Sessions on the `dex` SDK: the Flow that its Registry, Clients and Workers take."""

from typing import TYPE_CHECKING

from dex_agents._door import lazy_door

if TYPE_CHECKING:
    from dex_agents_sync.sdk.flow import AgentSessionFlow as AgentSessionFlow

__all__ = ["AgentSessionFlow"]

_MODULES = {"AgentSessionFlow": "dex_agents_sync.sdk.flow"}

__getattr__, __dir__ = lazy_door(__name__, _MODULES)
