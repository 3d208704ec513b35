# twin: sync-only
"""A local engine and a threaded Worker of this process, in the shape of an embedded engine.

The promise tests ask for an `EmbeddedEngine`; given this instead, they run on the SDK unchanged.
"""

import contextlib
import tempfile
import threading
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dex_agents.engine.clock import Clock
from dex_agents.engine.kernel.transition import HistoryEvent
from dex_agents.sdk.blob_cache import opened_blob_cache
from dex_agents.session.flow_values import SearchFlowsPage
from dex_agents_sync._seam.sdk import SdkClient, new_registry
from dex_agents_sync.engine.local import LocalEngine
from dex_agents_sync.sdk import AgentSessionFlow, WorkerStop, client_options, serve
from dex_agents_sync.sdk.client import SdkClientPort
from dex_agents_sync.sdk.history import read_history
from dex_agents_sync.session.agent_session import AgentSession
from dex_agents_sync.session.client import AgentSessionClient
from tests.sdk_mounts.histories import history_events
from tests.sdk_mounts.shared_server import (
    SERVER_ADDRESS,
    PrefixedClient,
    flow_prefix,
    own_flows,
    rename_agent,
)


class MountedClient(SdkClientPort):
    """The port, with the history that the embedded client offers besides."""

    def read_history(self, flow_id: str) -> list[HistoryEvent]:
        address = self.sdk_client.options.server_address
        name = flow_prefix(self.sdk_client) + flow_id
        return history_events(read_history(address, name))

    def search_flows(
        self, query: str = "", page_size: int = 100, next_page_token: str = ""
    ) -> SearchFlowsPage:
        page = super().search_flows(query, page_size, next_page_token)
        return own_flows(page, flow_prefix(self.sdk_client))


class MountedEngine:
    """What the tests use of an `EmbeddedEngine`; the clock is always the real one."""

    def __init__(self, path: str | Path = ":memory:", *, clock: Clock | None = None) -> None:
        self._opened = contextlib.ExitStack()
        self._stop = WorkerStop()
        self._serving: threading.Thread | None = None
        self._client: MountedClient | None = None
        self._address = ""

    def __enter__(self) -> Self:
        if SERVER_ADDRESS:
            self._address = SERVER_ADDRESS
            return self
        folder = self._opened.enter_context(tempfile.TemporaryDirectory())
        engine = LocalEngine(Path(folder) / "agents.db", drain_seconds=2.0)
        self._opened.enter_context(engine)
        self._address = engine.address
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.request()
        try:
            if self._serving is not None:
                self._serving.join()
        finally:
            self._opened.close()

    @property
    def client(self) -> MountedClient:
        return self._client or self._connect(AgentSessionFlow.remote("Nobody"))

    def serve(self, session: AgentSession) -> AgentSessionClient:
        if SERVER_ADDRESS:
            rename_agent(session)
        flow = AgentSessionFlow.of(session)

        def run() -> None:
            serve(
                [flow],
                server_address=self._address,
                drain=timedelta(seconds=5),
                stop=self._stop,
                handles_signals=False,
            )

        self._serving = threading.Thread(target=run)
        self._serving.start()
        return AgentSessionClient(self._connect(flow), session)

    def _connect(self, flow: AgentSessionFlow) -> MountedClient:
        cache = self._opened.enter_context(opened_blob_cache(None))
        client = SdkClient(new_registry([flow]), cache, client_options(self._address))
        self._opened.callback(client.close)
        used: Any = PrefixedClient(client) if SERVER_ADDRESS else client
        self._client = MountedClient(used, flow)
        return self._client
