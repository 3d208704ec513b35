# twin: sync-only
"""`serve` in a program of one's own: its handle, and what its callback raises."""

from pathlib import Path

import pytest

from dex_agents_sync.engine.local import LocalEngine
from dex_agents_sync.sdk import AgentSessionFlow, WorkerStop, serve
from tests.sync.support import build_session, echo

FLOW = AgentSessionFlow.of(build_session(echo))


def test_a_worker_that_is_ready_can_be_stopped(real_sdk: None, tmp_path: Path) -> None:
    stop = WorkerStop()
    with LocalEngine(tmp_path / "agents.db") as engine:
        for _ in range(2):
            serve([FLOW], server_address=engine.address, stop=stop, on_ready=stop.request)


def test_a_callback_that_raises_ends_it(real_sdk: None, tmp_path: Path) -> None:
    def refuse() -> None:
        raise ValueError("not today")

    with (
        LocalEngine(tmp_path / "agents.db") as engine,
        pytest.raises(ValueError, match="not today"),
    ):
        serve([FLOW], server_address=engine.address, on_ready=refuse)
