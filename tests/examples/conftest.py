# twin: shared
"""Servers for the tests of the examples."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.examples.servers import EXAMPLES, Chat, ExampleServer, new_chat, running_example


@pytest.fixture(scope="module", params=EXAMPLES)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ExampleServer]:
    """Run an example for the tests of one module, each with a session of its own."""
    with running_example(request.param, tmp_path_factory.mktemp(request.param)) as server:
        yield server


@pytest.fixture(params=EXAMPLES)
def own_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ExampleServer]:
    """Run an example for one test, which may kill it."""
    with running_example(request.param, tmp_path) as server:
        yield server


@pytest.fixture
def http(server: ExampleServer) -> Iterator[httpx.Client]:
    """Talk to the module's example."""
    with httpx.Client(base_url=server.base_url, timeout=30) as client:
        yield client


@pytest.fixture
def chat(http: httpx.Client) -> Chat:
    """Have a conversation that is not stored yet."""
    return new_chat(http)


@pytest.fixture
def own_chat(own_server: ExampleServer) -> Iterator[Chat]:
    """Have a conversation with a server that may be killed."""
    with httpx.Client(base_url=own_server.base_url, timeout=30) as client:
        yield new_chat(client)
