# twin: generated from src/dex_agents/sdk/connection.py by tools/twin; do not edit.
"""A connection to an engine, for processes that talk to sessions."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import dex

from dex_agents_sync._seam.sdk import SdkClient, new_registry
from dex_agents.sdk.blob_cache import opened_blob_cache
from dex_agents_sync.sdk.flow import AgentSessionFlow
from dex_agents.sdk.options import DEFAULT_SERVER_ADDRESS, client_options
from dex_agents_sync.session.client import AgentSessionClient


class DexConnection:
    """A Client of the SDK with all that belongs to it: Registry, cache and options.

    Use it as a context manager, or call `start` and `close`. Nothing is sent before the first
    call, so it can be made while the engine is not there yet.
    """

    def __init__(
        self,
        flows: Sequence[dex.Flow[Any]],
        *,
        server_address: str = DEFAULT_SERVER_ADDRESS,
        blob_cache_folder: str | Path | None = None,
        credential: dex.Credential | None = None,
    ) -> None:
        """Describe a connection.

        Args:
            flows: The Flows to talk to; those of `AgentSessionFlow.remote` are enough.
            server_address: The engine, as `host:port`.
            blob_cache_folder: Where values that a Dex Server stores apart are kept, one folder
                per process; a temporary one unless given.
            credential: Proves to the engine who this is.
        """
        self._flows = tuple(flows)
        self._folder = blob_cache_folder
        self._options = client_options(server_address, credential=credential)
        self._cache = ExitStack()
        self._client: SdkClient | None = None

    def start(self) -> Self:
        """Open the Client.

        Raises:
            RuntimeError: The connection was started before.
        """
        if self._client is not None:
            raise RuntimeError("this connection was started before; create a new DexConnection")
        registry = new_registry(self._flows)
        cache = self._cache.enter_context(opened_blob_cache(self._folder))
        self._client = SdkClient(registry, cache, self._options)
        return self

    def __enter__(self) -> Self:
        """Open the Client."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the Client."""
        self.close()

    def close(self) -> None:
        """Close the Client; closing twice does nothing."""
        with self._cache:
            if self._client is not None:
                self._client.close()

    @property
    def server_address(self) -> str:
        """Return the address of the engine."""
        return self._options.server_address

    @property
    def client(self) -> SdkClient:
        """Return the SDK's Client.

        Raises:
            RuntimeError: The connection was never started.
        """
        if self._client is None:
            raise RuntimeError(
                "the connection is not open; use it as a context manager, or call start()"
            )
        return self._client

    def sessions(self, flow: AgentSessionFlow) -> AgentSessionClient:
        """Return the client of one agent's sessions.

        Args:
            flow: One of the Flows that this connection was made with.

        Raises:
            RuntimeError: The connection was never started.
            ValueError: The Flow is another one.
        """
        if not any(flow is one for one in self._flows):
            raise ValueError(
                f"this connection was made without this Flow object of {flow.get_flow_type()!r}; "
                "the SDK tells Flows apart by identity"
            )
        return AgentSessionClient(self.client, flow)
