# twin: async-only
"""What the services of one engine share."""

import itertools
import os
from dataclasses import dataclass, field

from dex_agents.engine.server.pool import WorkerPool
from dex_agents.engine.server.waves import WaveLoop


@dataclass(slots=True)
class EngineHost:
    """One running engine.

    Attributes:
        waves: The core.
        pool: The Workers.
        dispatch_wait: How long work waits for a Worker, in seconds.
        index_types: The names that Attributes are indexed by, and the type of each.
    """

    waves: WaveLoop
    pool: WorkerPool
    dispatch_wait: float
    index_types: dict[str, str] = field(default_factory=dict[str, str])
    _task_ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    # A Worker may outlive an engine and must not take one's task for another's.
    _engine_id: str = field(default_factory=lambda: os.urandom(6).hex())

    def new_task_id(self) -> str:
        """Return a name for a hand-out that was never used before."""
        return f"{self._engine_id}-{next(self._task_ids)}"
