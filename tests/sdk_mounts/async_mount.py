# twin: async-only
"""A local engine and an AsyncWorker of this process, in the shape of an embedded engine.

The promise tests ask for an `EmbeddedEngine`; given this instead, they run on the SDK unchanged.
"""

import asyncio
import contextlib
import tempfile
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from dex_agents._seam.sdk import SdkClient, new_registry
from dex_agents.engine.clock import Clock
from dex_agents.engine.kernel.transition import HistoryEvent
from dex_agents.engine.local import LocalEngine
from dex_agents.sdk import AgentSessionFlow, WorkerStop, client_options, serve
from dex_agents.sdk.blob_cache import opened_blob_cache
from dex_agents.sdk.client import SdkClientPort
from dex_agents.sdk.history import read_history
from dex_agents.session.agent_session import AgentSession
from dex_agents.session.client import AgentSessionClient
from tests.sdk_mounts.histories import history_events


class MountedClient(SdkClientPort):
    """The port, with the history that the embedded client offers besides."""

    async def read_history(self, flow_id: str) -> list[HistoryEvent]:
        address = self.sdk_client.options.server_address
        return history_events(await read_history(address, flow_id))


class MountedEngine:
    """What the tests use of an `EmbeddedEngine`; the clock is always the real one."""

    def __init__(self, path: str | Path = ":memory:", *, clock: Clock | None = None) -> None:
        self._opened = contextlib.AsyncExitStack()
        self._stop = WorkerStop()
        self._serving: asyncio.Task[None] | None = None
        self._client: MountedClient | None = None
        self._address = ""

    async def __aenter__(self) -> Self:
        folder = self._opened.enter_context(tempfile.TemporaryDirectory())
        engine = LocalEngine(Path(folder) / "agents.db", drain_seconds=2.0)
        await self._opened.enter_async_context(engine)
        self._address = engine.address
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.request()
        try:
            if self._serving is not None:
                await self._serving
        finally:
            await self._opened.aclose()

    @property
    def client(self) -> MountedClient:
        return self._client or self._connect(AgentSessionFlow.remote("Nobody"))

    def serve(self, session: AgentSession) -> AgentSessionClient:
        flow = AgentSessionFlow.of(session)
        self._serving = asyncio.create_task(
            serve(
                [flow],
                server_address=self._address,
                drain=timedelta(seconds=5),
                stop=self._stop,
                handles_signals=False,
            )
        )
        return AgentSessionClient(self._connect(flow), session)

    def _connect(self, flow: AgentSessionFlow) -> MountedClient:
        cache = self._opened.enter_context(opened_blob_cache(None))
        client = SdkClient(new_registry([flow]), cache, client_options(self._address))
        self._opened.push_async_callback(client.close)
        self._client = MountedClient(client, flow)
        return self._client
