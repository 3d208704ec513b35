# twin: source
"""The embedded engine: durable sessions inside your process, on one file."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from dex_agents.engine.clock import Clock, SystemClock
from dex_agents.engine.embedded.client import EmbeddedClient
from dex_agents.engine.embedded.loop import EngineLoop
from dex_agents.engine.store.file import Durability, Store
from dex_agents.errors import EngineStoppedError
from dex_agents.session.agent_session import AgentSession
from dex_agents.session.client import AgentSessionClient, HasAgentSession


class EmbeddedEngine:
    """Run sessions inside this process, on one file that survives it.

    Use it as a context manager, or call `start` and `close`. One process owns the file at a time.

    Attributes:
        path: The engine file.
        clock: Where its time comes from.
        client: The client port of this engine.
        on_commit: Called before and after each commit, if set before the start; tests cut there.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        durability: Durability = Durability.PROCESS_CRASH,
        clock: Clock | None = None,
        drain_seconds: float = 10.0,
        retain_closed: timedelta | None = None,
        reuses_snapshots: bool = True,
        seed: int | None = None,
    ) -> None:
        """Describe an engine; nothing is opened before `start`.

        Args:
            path: The engine file, created when absent; `:memory:` for one that ends with the
                engine.
            durability: What an acknowledged change survives.
            clock: The time; a `VirtualClock` in tests.
            drain_seconds: How long `close` waits for running calls.
            retain_closed: How long a closed run is kept before it is deleted with its history and
                events; `None` keeps all.
            reuses_snapshots: See `EngineCore`; for tests.
            seed: Makes run and message IDs repeatable; for tests.
        """
        self.path = path
        self.clock: Clock = clock or SystemClock()
        self.client = EmbeddedClient(self)
        self.on_commit: Callable[[str, int], None] | None = None
        self._durability = Durability(durability)
        self._drain_seconds = drain_seconds
        self._retain_closed = retain_closed
        self._reuses_snapshots = reuses_snapshots
        self._seed = seed
        self._loop: EngineLoop | None = None

    async def start(self) -> Self:
        """Open the file and begin; sessions go on once their `serve` is called.

        Raises:
            EngineFileInUseError: Another engine owns the file.
            EngineFileVersionError: A newer release wrote the file, or it is something else.
            EngineStorageError: The file cannot be opened or written.
            RuntimeError: The engine was started before.
        """
        if self._loop is not None:
            raise RuntimeError("this engine was started before; create a new EmbeddedEngine")
        store = Store(self.path, self._durability)
        store.on_commit = self.on_commit
        try:
            self._loop = EngineLoop(
                store,
                self.clock,
                seed=self._seed,
                reuses_snapshots=self._reuses_snapshots,
                retain_closed=self._retain_closed,
            )
        except Exception:
            store.abandon()
            raise
        return self

    async def __aenter__(self) -> Self:
        """Start the engine."""
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the engine; after an error without waiting for calls."""
        await self.close(0.0 if kind is not None else None)

    async def close(self, drain_seconds: float | None = None) -> None:
        """Stop: hand out nothing more, let running calls finish for a while, close the file.

        A call that is still running then is cancelled, and its attempt counts as interrupted when
        the file is opened again. Closing twice does nothing.

        Args:
            drain_seconds: How long to wait for running calls; `None` takes the engine's setting.
        """
        if self._loop is not None and self._loop.is_of_this_process:
            await self._loop.stop(self._drain_seconds if drain_seconds is None else drain_seconds)

    def serve(self, session: AgentSession | HasAgentSession) -> AgentSessionClient:
        """Run a session's Steps here, and return a client for its sessions.

        Args:
            session: What to run, of this package; its Flow type must be new to this engine.

        Raises:
            TypeError: It is no `AgentSession` of this package.
            ValueError: The engine already serves this Flow type.
        """
        served: object = getattr(session, "session", session)
        if not isinstance(served, AgentSession):
            raise TypeError(
                f"serve needs an AgentSession of this package ({AgentSession.__module__}), not "
                f"{type(served).__module__}.{type(served).__qualname__}; define the agent with the "
                "package that runs it"
            )
        self.loop.add(served)
        return AgentSessionClient(self.client, served)

    @property
    def loop(self) -> EngineLoop:
        """The running loop; for the client and the testing kit.

        Raises:
            EngineStoppedError: The engine was never started.
        """
        if self._loop is None:
            raise EngineStoppedError(
                "the engine is not started; use it as a context manager, or call start()"
            )
        return self._loop

    @property
    def commits(self) -> int:
        """How many transactions the engine has made since it started."""
        return self.loop.commits

    @property
    def refused_commits(self) -> int:
        """How many transactions the disk has refused since the engine started."""
        return self.loop.refused_commits
