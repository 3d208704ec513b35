# twin: async-only
"""Waits: which condition wins, and what it takes."""

import time

import dex
import pytest

from tests.conformance.conftest import World
from tests.conformance.flows import boxes


async def test_a_message_ends_a_wait_and_locals_reach_execute(world: World) -> None:
    flow_id = await world.start("Chat", 60)
    assert await world.call("Chat", "send", flow_id, "hello") is True
    expected = "hello|left by wait_for|__start__|AwaitMessage-1"
    assert await world.output(flow_id) == expected


async def test_a_timer_ends_a_wait_after_its_time(world: World) -> None:
    began = time.monotonic()
    flow_id = await world.start("Chat", 1)
    assert await world.output(flow_id) == "timer|left by wait_for"
    assert time.monotonic() - began > 0.9


async def test_a_skipped_timer_fires_at_once(world: World) -> None:
    flow_id = await world.start("Chat", 600)
    step = dex.StepExecutionId("AwaitMessage", 1)
    while True:
        try:
            await world.client.skip_timer(flow_id, step, dex.TimerId.by_condition_id("t"))
            break
        except dex.DexServiceError:  # the Step does not wait yet
            continue
    assert await world.output(flow_id) == "timer|left by wait_for"


async def test_steps_run_in_parallel_and_are_joined(world: World) -> None:
    flow_id = await world.start("Fan", ["a", "b c", "d-e"])
    expected = "a:0:isolated b c:1:isolated d-e:2:isolated = 33, left 0"
    assert await world.output(flow_id) == expected


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("skip", "[][] left 0"),
        ("at_most", "[0, 1, 2][] left 2"),
        ("proceed", "True|builtins.OSError|wait_for broke"),
    ],
)
async def test_a_wait_that_ends_by_itself(world: World, form: str, expected: str) -> None:
    assert await world.output(await world.start("WaitForms", form)) == expected


@pytest.mark.parametrize(
    ("form", "expected"),
    [("at_least", "[7, 8, 9][] left 0"), ("range", "[7, 8][] left 1"), ("one", "[7][] left 2")],
)
async def test_a_wait_takes_up_to_its_upper_bound(world: World, form: str, expected: str) -> None:
    flow_id = await world.start("WaitForms", form)
    await world.call("WaitForms", "put", flow_id, [7, 8, 9])
    assert await world.output(flow_id) == expected


async def test_a_combination_needs_all_its_conditions(world: World) -> None:
    flow_id = await world.start("WaitForms", "combination")
    await world.call("WaitForms", "put", flow_id, [1])
    await world.call("WaitForms", "put_letter", flow_id, "x")
    assert await world.output(flow_id) == "[1]['x'] left 0"


async def test_instances_of_a_channel_map_are_channels_of_their_own(world: World) -> None:
    flow_id = await world.start("WaitForms", "boxes")
    await world.call("WaitForms", "put_box", flow_id, "other")
    assert await world.call("WaitForms", "look_boxes", flow_id) == ["other"]
    load = dex.RPCInvokeOptions(load_channel_map_instances=(boxes.load_messages("other"),))
    found = await world.call("WaitForms", "look_box", flow_id, "other", options=load)
    assert found == ["for other"]
    with pytest.raises(dex.WorkerInvocationError) as caught:
        await world.call("WaitForms", "look_box", flow_id, "other")
    assert "ChannelMessagesNotLoadedError" in str(caught.value.worker_error_type)
    await world.call("WaitForms", "put_box", flow_id, "a 1")
    assert await world.output(flow_id) == "('for a 1',)()False"


async def test_a_flow_completes_only_when_its_channels_are_empty(world: World) -> None:
    flow_id = await world.start("WaitForms", "drain")
    await world.call("WaitForms", "put", flow_id, [1, 2, 3])
    assert await world.output(flow_id) == "drained"
