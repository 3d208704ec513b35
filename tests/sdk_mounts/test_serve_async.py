# twin: async-only
"""`serve` in a program of one's own: its handle, and what its callback raises."""

import asyncio
from pathlib import Path

import pytest

from dex_agents.engine.local import LocalEngine
from dex_agents.sdk import AgentSessionFlow, WorkerStop, serve
from tests.aio.support import build_session, echo

FLOW = AgentSessionFlow.of(build_session(echo))


async def test_a_worker_that_is_ready_can_be_stopped(real_sdk: None, tmp_path: Path) -> None:
    stop = WorkerStop()
    async with LocalEngine(tmp_path / "agents.db") as engine:
        for _ in range(2):
            await serve([FLOW], server_address=engine.address, stop=stop, on_ready=stop.request)


async def test_a_callback_that_raises_ends_it(real_sdk: None, tmp_path: Path) -> None:
    def refuse() -> None:
        raise ValueError("not today")

    async with LocalEngine(tmp_path / "agents.db") as engine:
        with pytest.raises(ValueError, match="not today"):
            await serve([FLOW], server_address=engine.address, on_ready=refuse)


async def test_a_task_that_is_cancelled_ends_its_worker(real_sdk: None, tmp_path: Path) -> None:
    ready = asyncio.Event()
    async with LocalEngine(tmp_path / "agents.db") as engine:
        task = asyncio.create_task(serve([FLOW], server_address=engine.address, on_ready=ready.set))
        await ready.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
