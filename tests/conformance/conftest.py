# twin: async-only
"""An engine, a Client for each test, and a Worker of either colour in a process of its own."""

import asyncio
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import dex
import pytest

from dex_agents_sync.engine.local import LocalEngine
from tests.conformance.flows import all_flows, registry

SERVER_VARIABLE = "DEX_AGENTS_SERVER"
_WAIT = timedelta(seconds=20)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark for what no document of a Dex Server says."""
    config.addinivalue_line(
        "markers", "chosen_here: a choice of the local engine; another server may differ"
    )


@pytest.fixture(autouse=True)
def _skip_choices_elsewhere(request: pytest.FixtureRequest) -> None:
    if os.environ.get(SERVER_VARIABLE) and request.node.get_closest_marker("chosen_here"):
        pytest.skip("a choice of the local engine, never checked against a Dex Server")


@pytest.fixture(scope="session")
def server_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Name the server that `DEX_AGENTS_SERVER` asks for, or start a local engine."""
    named = os.environ.get(SERVER_VARIABLE)
    if named:
        yield named
        return
    with LocalEngine(tmp_path_factory.mktemp("engine") / "engine.db") as engine:
        yield engine.address


@dataclass
class World:
    """One test's Client, and the Flows of its Worker.

    Attributes:
        colour: Of the Worker.
        address: The server's.
        flows: By Flow type.
        client: An AsyncClient.
    """

    colour: str
    address: str
    folder: Path
    flows: dict[str, Any] = field(init=False)
    client: dex.AsyncClient = field(init=False)

    def __post_init__(self) -> None:
        self.flows = all_flows(self.colour)
        self.registry = registry(self.colour, self.flows)
        self.cache = dex.open_blob_cache(dex.BlobCacheConfig(str(self.folder), 1 << 20))
        options = dex.ClientOptions(self.address, dex.WorkerTarget(pull=True))
        self.client = dex.AsyncClient(self.registry, self.cache, options)
        self._unique = uuid.uuid4().hex[:10]

    def flow_id(self, name: str = "flow") -> str:
        """Return a Flow ID of this test's own."""
        return f"{name}-{self._unique}"

    async def start(
        self, flow_type: str, start_input: Any, name: str = "flow", **options: Any
    ) -> str:
        """Start a Flow and return its ID."""
        flow_id = self.flow_id(name)
        found = dex.StartFlowOptions(**options)
        await self.client.start_flow(self.flows[flow_type], flow_id, start_input, found)
        return flow_id

    async def call(
        self, flow_type: str, rpc_name: str, flow_id: str, *arguments: Any, **more: Any
    ) -> Any:
        """Invoke an RPC."""
        rpc = getattr(self.flows[flow_type], rpc_name)
        return await self.client.invoke_rpc(rpc, flow_id, *arguments, **more)

    async def output(self, flow_id: str) -> str:
        """Wait for a Flow and return its only output."""
        result = await self.client.wait_for_flow(flow_id, _WAIT)
        return result.single_output(str)

    async def close(self) -> None:
        """Give the connection back."""
        await self.client.close()


@pytest.fixture(scope="module", params=["async", "threaded"])
def colour(request: pytest.FixtureRequest) -> str:
    """Name the Worker's colour."""
    found: str = request.param
    return found


@contextmanager
def worker_process(colour: str, address: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a Worker in a process of its own, until it is registered and then to the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.conformance.worker_process", colour, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def worker(server_address: str, colour: str) -> Iterator[None]:
    """Run a Worker of the colour while the module's tests of that colour run."""
    with worker_process(colour, server_address):
        yield


@pytest.fixture
async def distant(
    real_sdk: None, anyio_backend: str, server_address: str, colour: str, tmp_path: Path
) -> AsyncIterator[World]:
    """Give a test a Client without a Worker."""
    found = World(colour, server_address, tmp_path / "blobs")
    try:
        yield found
    finally:
        await found.close()


@pytest.fixture
async def world(worker: None, distant: World) -> World:
    """Give a test a Client while a Worker runs."""
    return distant


async def until(probe: Any, seconds: float = 10.0) -> Any:
    """Look until a probe finds something, and return that."""
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + seconds
    while True:
        found = probe()
        if found:
            return found
        assert loop.time() < give_up_at, "waited too long"
        await asyncio.sleep(0.01)
