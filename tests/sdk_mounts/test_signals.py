# twin: shared
"""`serve` ends at SIGTERM and SIGINT, after its running calls; a second signal does not wait."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from dex_agents.testing.blocking import GateFiles, InvocationLog
from dex_agents_sync.engine.local import LocalEngine
from dex_agents_sync.sdk import AgentSessionFlow, DexConnection
from dex_agents_sync.testing import wait_until
from tests.sdk_mounts.served import ServingChild
from tests.sync.support import wait_for_turn_end

FLOW = AgentSessionFlow.remote("TestAgent")
COLOURS = {
    "async": ("dex_agents", "tests.aio"),
    "threads": ("dex_agents_sync", "tests.sync"),
}
Served = tuple[ServingChild, DexConnection]


@pytest.fixture(params=list(COLOURS))
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    """Return a child that serves, and a connection to its engine."""
    with (
        LocalEngine(tmp_path / "agents.db", drain_seconds=1.0) as engine,
        DexConnection([FLOW], server_address=engine.address) as connection,
    ):
        child = ServingChild(*COLOURS[request.param], engine.address, tmp_path)
        try:
            yield child, connection
        finally:
            child.process.kill()
            child.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_worker_ends_at_once(served: Served, number: signal.Signals) -> None:
    child, _ = served
    child.send(number)
    assert child.wait() == 0
    assert child.has_returned


def test_a_running_tool_may_finish(served: Served, tmp_path: Path) -> None:
    child, connection = served
    sessions = connection.sessions(FLOW)
    sessions.start_session("s-1", "look")
    gate = GateFiles(tmp_path, "look")
    wait_until("the tool to run", lambda: gate.is_reached)
    child.send(signal.SIGTERM)
    gate.release()
    assert child.wait() == 0
    assert child.has_returned
    child = ServingChild(*COLOURS["threads"], connection.server_address, tmp_path)
    try:
        wait_for_turn_end(sessions, "s-1")
    finally:
        child.process.kill()
        child.wait()
    assert InvocationLog(tmp_path / "ledger.jsonl").count("look") == 1


def test_a_second_signal_ends_the_process(served: Served, tmp_path: Path) -> None:
    child, connection = served
    connection.sessions(FLOW).start_session("s-1", "look")
    gate = GateFiles(tmp_path, "look")
    wait_until("the tool to run", lambda: gate.is_reached)
    child.send(signal.SIGTERM)
    # The first one is handled when the Worker takes no more work, which only shows in its end.
    wait_until("the end of the child", lambda: _sent_again(child))
    assert not child.has_returned
    assert child.wait() == -signal.SIGTERM


def _sent_again(child: ServingChild) -> bool:
    child.send(signal.SIGTERM)
    return child.process.poll() is not None
