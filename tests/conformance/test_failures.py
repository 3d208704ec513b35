# twin: async-only
"""Failed attempts: retries, routes, checkpoints, time limits."""

import time

import pytest

from tests.conformance.conftest import World


async def test_the_last_failure_takes_its_route(world: World) -> None:
    flow_id = await world.start("Retry", "fail")
    expected = "fail|builtins.OSError|attempt 2 broke|Flaky-1"
    assert await world.output(flow_id) == expected


async def test_a_checkpoint_reaches_the_next_attempt(world: World) -> None:
    flow_id = await world.start("Retry", "checkpoint")
    assert await world.output(flow_id) == "2|{'offset': 5}"


async def test_a_failure_may_say_when_to_try_again(world: World) -> None:
    began = time.monotonic()
    flow_id = await world.start("Retry", "later")
    assert (await world.output(flow_id)).startswith("2|")
    assert time.monotonic() - began > 0.9


@pytest.mark.parametrize(
    ("kind", "error_type"), [("silent", "Heartbeat"), ("slow", "StartToClose")]
)
async def test_an_attempt_out_of_time_fails(world: World, kind: str, error_type: str) -> None:
    flow_id = await world.start("Retry", kind)
    found = (await world.output(flow_id)).split("|")
    assert (found[0], found[1], found[3]) == (kind, error_type, "Flaky-1")
