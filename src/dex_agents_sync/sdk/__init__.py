# twin: generated from src/dex_agents/sdk/__init__.py by tools/twin; do not edit.
"""Sessions on the `dex` SDK, for engines in a process of their own: Flow, Worker and Client.

Start at `AgentSessionFlow`, `serve` and `DexConnection`.
"""

from typing import TYPE_CHECKING

from dex_agents._door import lazy_door

if TYPE_CHECKING:
    from dex_agents_sync.sdk.connection import DexConnection as DexConnection
    from dex_agents_sync.sdk.flow import AgentSessionFlow as AgentSessionFlow
    from dex_agents.sdk.options import client_options as client_options
    from dex_agents.sdk.options import worker_options as worker_options
    from dex_agents.sdk.stop import WorkerStop as WorkerStop
    from dex_agents_sync.sdk.worker import serve as serve

__all__ = [
    "AgentSessionFlow",
    "DexConnection",
    "WorkerStop",
    "client_options",
    "serve",
    "worker_options",
]

_MODULES = {
    "AgentSessionFlow": "dex_agents_sync.sdk.flow",
    "DexConnection": "dex_agents_sync.sdk.connection",
    "WorkerStop": "dex_agents.sdk.stop",
    "client_options": "dex_agents.sdk.options",
    "serve": "dex_agents_sync.sdk.worker",
    "worker_options": "dex_agents.sdk.options",
}

__getattr__, __dir__ = lazy_door(__name__, _MODULES)
