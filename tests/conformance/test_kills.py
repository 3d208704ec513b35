# twin: async-only
"""Workers that die, hang or never come, and an engine that dies."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import dex
import pytest

from dex_agents.engine.kernel.messages import NOT_STARTED_ERROR_TYPE
from dex_agents_sync.engine.local import LocalEngine
from tests.conformance.conftest import World, until, worker_process


async def test_a_killed_worker_costs_its_attempt_and_no_more(
    distant: World, tmp_path: Path
) -> None:
    reached = tmp_path / "reached"
    with worker_process(distant.colour, distant.address) as first:
        flow_id = await distant.start("Retry", f"die|{reached}")
        await until(lambda: reached.exists() and reached.read_text() == str(first.pid))
        os.kill(first.pid, signal.SIGKILL)
    with worker_process(distant.colour, distant.address):
        assert await distant.output(flow_id) == "2|saved"


@pytest.mark.chosen_here
async def test_a_stopped_worker_gets_nothing_until_it_answers(
    distant: World, tmp_path: Path
) -> None:
    with worker_process(distant.colour, distant.address) as hung:
        reached = tmp_path / "reached"
        flow_id = await distant.start("Retry", f"die|{reached}")
        await until(reached.exists)
        os.kill(hung.pid, signal.SIGSTOP)
        with worker_process(distant.colour, distant.address) as other:
            assert await distant.output(flow_id) == "2|saved"
            for number in range(3):
                again = await distant.start("Retry", "quick", name=f"quick{number}")
                assert (await distant.output(again)).startswith("1|")
                assert await distant.call("Retry", "pid", again) == other.pid
            os.kill(hung.pid, signal.SIGCONT)


@pytest.fixture
async def impatient(
    real_sdk: None, anyio_backend: str, colour: str, tmp_path: Path
) -> AsyncIterator[World]:
    """Give a test an engine of its own that does not wait long for Workers."""
    with LocalEngine(tmp_path / "engine.db", dispatch_wait=0.3) as engine:
        found = World(colour, engine.address, tmp_path / "blobs")
        try:
            yield found
        finally:
            await found.close()


@pytest.mark.chosen_here
async def test_a_step_that_no_worker_ever_got_says_so(impatient: World) -> None:
    flow_id = await impatient.start("Retry", "quick")
    flaky = dex.StepExecutionId("Flaky", 1)
    options = dex.WaitForStepCompletionOptions()
    await impatient.client.wait_for_step_completion(flow_id, flaky, options)
    with worker_process(impatient.colour, impatient.address):
        _, error_type, detail, source = (await impatient.output(flow_id)).split("|")
    assert (error_type, source) == (NOT_STARTED_ERROR_TYPE, "Flaky-1")
    assert detail == "no Worker of Retry was there for Flaky within 0.3 s"


@pytest.mark.chosen_here
async def test_everything_goes_on_after_the_engine_was_killed(
    real_sdk: None, anyio_backend: str, colour: str, tmp_path: Path
) -> None:
    engine = LocalEngine(tmp_path / "engine.db").start()
    try:
        world = World(colour, engine.address, tmp_path / "blobs")
        with worker_process(colour, engine.address):
            reached = tmp_path / "reached"
            waiting = await world.start("Chat", 3600, name="waiting")
            running = await world.start("Retry", f"die|{reached}", name="running")
            await until(reached.exists)
            await world.call("Chat", "queue", waiting, "kept")
            engine.kill()
            with pytest.raises(dex.DexServiceError):
                await world.call("Chat", "look", waiting)
            engine.start()
            # The old connection waits before it tries again; a new one does not.
            await world.close()
            world = World(colour, engine.address, tmp_path / "more blobs")
            assert await world.output(running) == "2|saved"
            await world.call("Chat", "send", waiting, "hello")
            assert (await world.output(waiting)).startswith("hello|")
            assert (await world.call("Chat", "look", waiting)).queued == ["kept"]
        await world.close()
    finally:
        engine.close()
