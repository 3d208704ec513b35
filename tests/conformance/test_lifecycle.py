# twin: async-only
"""Start, reuse, describe, stop and search Flows; read and write Streams."""

import asyncio
from datetime import timedelta

import dex
import grpc
import pytest

from tests.conformance.conftest import World
from tests.conformance.flows import events, state

_SECOND = timedelta(seconds=1)


async def test_a_repeated_request_returns_its_run(world: World) -> None:
    options = dex.StartFlowOptions(request_id="one", ignore_already_started=True)
    options = options.with_attribute(state, "first")
    chat, flow_id = world.flows["Chat"], world.flow_id()
    run_id = await world.client.start_flow(chat, flow_id, 60, options)
    assert await world.client.start_flow(chat, flow_id, 60, options) == run_id
    with pytest.raises(dex.FlowAlreadyStartedError) as caught:
        await world.client.start_flow(chat, flow_id, 60)
    assert caught.value.code is grpc.StatusCode.ALREADY_EXISTS
    found = await world.client.describe_flow(flow_id)
    assert (found.run_id, found.flow_type) == (run_id, "Chat")
    assert found.status is dex.FlowStatus.RUNNING
    await world.client.stop_flow(flow_id)


async def test_a_flow_id_is_used_again_as_its_policy_says(world: World) -> None:
    chat = world.flows["Chat"]
    flow_id = await world.start("Chat", 60)
    first = (await world.client.describe_flow(flow_id)).run_id
    reuse = dex.IdReusePolicy
    terminate = dex.StartFlowOptions(id_reuse_policy=reuse.ALLOW_TERMINATE_IF_RUNNING)
    second = await world.client.start_flow(chat, flow_id, 60, terminate)
    assert second != first
    await world.client.stop_flow(flow_id, dex.StopFlowOptions(dex.StopType.TERMINATE))
    assert (await world.client.wait_for_flow(flow_id)).status is dex.FlowStatus.TERMINATED
    after_failure = dex.StartFlowOptions(id_reuse_policy=reuse.ALLOW_IF_PREVIOUS_FAILED)
    await world.client.start_flow(chat, flow_id, 60, after_failure)
    await world.call("Chat", "send", flow_id, "done")
    await world.output(flow_id)
    with pytest.raises(dex.FlowAlreadyStartedError):
        await world.client.start_flow(chat, flow_id, 60, after_failure)


async def test_force_fail_fails_the_flow_with_its_reason(world: World) -> None:
    flow_id = await world.start("WaitForms", "force_fail")
    await world.call("WaitForms", "put", flow_id, [1])
    result = await world.client.wait_for_flow(flow_id)
    assert result.status is dex.FlowStatus.FAILED
    assert result.error_type is dex.FlowErrorType.STEP_DECISION_FAILED
    assert (result.error_message, result.completions) == ("by choice", ())


async def test_a_wait_for_a_running_flow_gives_up(world: World) -> None:
    flow_id = await world.start("Chat", 60)
    with pytest.raises(dex.LongPollTimeoutError):
        await world.client.wait_for_flow(flow_id, _SECOND)
    await world.client.stop_flow(flow_id)


async def test_flows_are_found_by_their_active_steps_and_indexes(world: World) -> None:
    mode = dex.ActiveStepSearchMode
    config = dex.FlowConfig(active_step_search_mode=mode.ALL)
    flow_id = await world.start("Chat", 60, config_override=config)
    found = await world.client.search_flows('ActiveStepTypes = "AwaitMessage"', 50)
    assert flow_id in [flow.flow_id for flow in found.flows]
    word = f"greens{flow_id}"
    await world.call("Chat", "set_topic", flow_id, word)
    query = f'topic = "{word}" AND FlowType = "Chat"'
    (flow,) = (await world.client.search_flows(query, 50)).flows
    assert flow.flow_id == flow_id
    assert flow.indexed_attributes["topic"].data == word
    hidden = dex.FlowConfig(active_step_search_mode=mode.DISABLED)
    await world.client.update_flow_config(flow_id, hidden)
    found = await world.client.search_flows('ActiveStepTypes = "AwaitMessage"', 50)
    assert flow_id not in [flow.flow_id for flow in found.flows]
    await world.client.stop_flow(flow_id)


async def test_search_results_come_in_pages(world: World) -> None:
    names = [await world.start("Chat", 60, name=f"page{number}") for number in range(3)]
    query = " OR ".join(f'FlowId = "{name}"' for name in names)
    first = await world.client.search_flows(query, 2)
    assert [flow.flow_id for flow in first.flows] == [names[2], names[1]]
    rest = await world.client.search_flows(query, 2, first.next_page_token)
    assert ([flow.flow_id for flow in rest.flows], rest.next_page_token) == ([names[0]], "")
    with pytest.raises(dex.DexServiceError) as caught:
        await world.client.search_flows("no query at all", 2)
    assert caught.value.code is grpc.StatusCode.INVALID_ARGUMENT
    for name in names:
        await world.client.stop_flow(name)


async def test_a_stream_is_read_on_from_a_token(world: World) -> None:
    flow_id = await world.start("Retry", "stream")
    await world.output(flow_id)
    token, seen = "", []
    for _ in range(3):
        message = await world.client.read_stream(flow_id, events, token, _SECOND)
        token = message.resume_token
        seen.append((message.value, message.source))
    assert seen == [(f"event {number}", "#Flaky-1") for number in range(3)]
    with pytest.raises(dex.LongPollTimeoutError):
        await world.client.read_stream(flow_id, events, token, _SECOND)
    reading = asyncio.create_task(world.client.read_stream(flow_id, events, token, 10 * _SECOND))
    await asyncio.sleep(0.05)
    await world.client.write_stream(flow_id, events, "a client", "the last")
    assert (await reading).source == "a client"
    with pytest.raises(dex.DexServiceError) as caught:
        await world.client.read_stream(world.flow_id("other"), events, token, _SECOND)
    assert caught.value.code is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_stream_is_listed_newest_first(world: World) -> None:
    flow_id = await world.start("Retry", "stream")
    await world.output(flow_id)
    page = await world.client.list_stream_messages(flow_id, events, 2)
    assert [message.value for message in page.messages] == ["event 2", "event 1"]
    page = await world.client.list_stream_messages(flow_id, events, 2, page.next_page_token)
    assert [message.value for message in page.messages] == ["event 0"]
    assert page.next_page_token == ""


@pytest.mark.chosen_here
async def test_what_is_left_out_is_named(world: World) -> None:
    flow_id = await world.start("Chat", 60)
    beginning = dex.TimeTravelOptions(dex.TimeTravelType.BEGINNING)
    with pytest.raises(dex.DexServiceError, match=r"time travel .* a Dex Server has it") as caught:
        await world.client.time_travel(flow_id, beginning)
    assert caught.value.code is grpc.StatusCode.UNIMPLEMENTED
    with pytest.raises(dex.DexServiceError, match="a Flow timeout is not part"):
        await world.start("Chat", 60, name="timed", timeout=_SECOND)
    await world.client.stop_flow(flow_id)
