# twin: async-only
"""RPCs: transactions, locks, cancellation, errors, and what a closed Flow still answers."""

import asyncio
from datetime import timedelta

import dex
import grpc
import pytest

from tests.conformance.conftest import World
from tests.conformance.flows import Snapshot, balance, state


async def test_steps_hold_their_locks_and_an_rpc_conflicts(world: World) -> None:
    flow_id = await world.start("Locks", 0.4)
    first = dex.StepExecutionId("BeginLocks", 1)
    await world.client.wait_for_step_completion(flow_id, first, dex.WaitForStepCompletionOptions())
    await asyncio.sleep(0.1)
    with pytest.raises(dex.RpcLockConflictError) as caught:
        await world.call("Locks", "add", flow_id, 5)
    assert caught.value.code is grpc.StatusCode.ABORTED
    assert await world.call("Locks", "read", flow_id) == 0, "a read without a lock goes on"
    wanted = dex.AttributeMatch.greater_than(1)
    options = dex.WaitForAttributeOptions()
    assert await world.client.wait_for_attribute_match(flow_id, balance, wanted, options) == 2
    assert await world.call("Locks", "add", flow_id, 5) == 7
    await world.client.stop_flow(flow_id)


async def test_a_wait_for_an_attribute_ends_with_its_callers_time(world: World) -> None:
    flow_id = await world.start("Locks", 0.0)
    options = dex.WaitForAttributeOptions(request_timeout=timedelta(seconds=1))
    with pytest.raises(dex.RequestTimeoutError):
        never = dex.AttributeMatch.equal_to(99)
        await world.client.wait_for_attribute_match(flow_id, balance, never, options)
    await world.client.stop_flow(flow_id)


async def until_told_to_stop(world: World, flow_id: str) -> None:
    """Wait until the Worker has told the long Step to stop."""
    for _ in range(500):
        if await world.call("Cancel", "was_told_to_stop", flow_id):
            return
        await asyncio.sleep(0.02)
    pytest.fail("nobody told the Step to stop")


async def test_an_rpc_cancels_steps_and_starts_others(world: World) -> None:
    flow_id = await world.start("Cancel", "rpc")
    first = dex.StepExecutionId("BeginCancel", 1)
    await world.client.wait_for_step_completion(flow_id, first, dex.WaitForStepCompletionOptions())
    await asyncio.sleep(0.2)
    assert await world.call("Cancel", "cancel", flow_id, "stopped") is True
    assert await world.output(flow_id) == "stopped|__rpc/cancel"
    await until_told_to_stop(world, flow_id)


async def test_a_step_cancels_siblings_but_not_its_own_children(world: World) -> None:
    flow_id = await world.start("Cancel", "siblings")
    result = await world.client.wait_for_flow(flow_id)
    found = sorted((end.step_execution_id, end.decode(str)) for end in result.completions)
    assert result.status is dex.FlowStatus.COMPLETED
    assert found == [
        ("Finish-1", "one|Winner-1"),
        ("Finish-2", "two|Winner-1"),
        ("Parked-2", "parked:own"),
    ]
    await until_told_to_stop(world, flow_id)


async def test_a_handlers_exception_reaches_the_caller(world: World) -> None:
    flow_id = await world.start("Chat", 60)
    with pytest.raises(dex.WorkerInvocationError) as caught:
        await world.call("Chat", "fail", flow_id)
    error = caught.value
    assert error.code is grpc.StatusCode.FAILED_PRECONDITION
    assert error.worker_error_type == "builtins.KeyError"
    assert error.worker_error_detail == "'a fault of the handler'"
    assert error.worker_code is grpc.StatusCode.UNKNOWN
    await world.client.stop_flow(flow_id)


async def test_a_transaction_that_deletes_a_missing_message_changes_nothing(world: World) -> None:
    flow_id = await world.start("Chat", 60)
    await world.call("Chat", "queue", flow_id, "one")
    message_id = await world.call("Chat", "first_id", flow_id)
    await world.call("Chat", "drop", flow_id, message_id)
    await world.call("Chat", "queue", flow_id, "two")
    with pytest.raises(dex.ChannelMessageNotFoundError):
        await world.call("Chat", "drop", flow_id, message_id)
    assert (await world.call("Chat", "look", flow_id)).queued == ["two"]
    await world.client.stop_flow(flow_id)


async def test_a_closed_flow_answers_reads_and_refuses_writes(world: World) -> None:
    flow_id = await world.start("Chat", 60)
    await world.call("Chat", "queue", flow_id, "kept")
    first = dex.WaitForAttributeOptions()
    waiting = dex.AttributeMatch.equal_to("waiting")
    await world.client.wait_for_attribute_match(flow_id, state, waiting, first)
    failing = dex.StopFlowOptions(dex.StopType.FAIL, "by an operator")
    await world.client.stop_flow(flow_id, failing)
    result = await world.client.wait_for_flow(flow_id)
    assert result.status is dex.FlowStatus.FAILED
    assert result.error_type is dex.FlowErrorType.CLIENT_API_FAILED
    assert result.error_message == "by an operator"
    assert await world.call("Chat", "look", flow_id) == Snapshot("waiting", ["kept"])
    for write in ("send", "send_now"):
        with pytest.raises(dex.FlowNotActiveOrNotFoundError):
            await world.call("Chat", write, flow_id, "too late")
    with pytest.raises(dex.FlowNotActiveOrNotFoundError):
        await world.client.stop_flow(flow_id)
    with pytest.raises(dex.FlowNotActiveOrNotFoundError):
        await world.call("Chat", "look", world.flow_id("never"))
    with pytest.raises(dex.FlowNotFoundError):
        await world.client.describe_flow(world.flow_id("never"))


async def test_values_of_all_kinds_come_back_the_same(world: World) -> None:
    flow_id = await world.start("WaitForms", "one")
    assert await world.call("WaitForms", "set_all", flow_id, b"\x00abc") == b"cba\x00"
    found = await world.call("WaitForms", "get_all", flow_id)
    assert found == ["b'\\x00abc'", "{'x-y': {'n': 1}}", "hidden"]
    await world.call("WaitForms", "drop_secret", flow_id)
    assert (await world.call("WaitForms", "get_all", flow_id))[2] == "None"
    await world.client.stop_flow(flow_id)


@pytest.mark.chosen_here
async def test_what_is_too_large_for_a_worker_is_named_and_locks_nobody_out(world: World) -> None:
    flow_id = await world.start("WaitForms", "one")
    await world.call("WaitForms", "grow", flow_id, 3_900_000)
    assert len((await world.call("WaitForms", "get_all", flow_id))[0]) > 3_900_000
    await world.call("WaitForms", "grow", flow_id, 4_200_000)
    other = await world.start("WaitForms", "one", name="other")
    with pytest.raises(dex.DexServiceError, match=r"Attribute 'blob' with 4,200,0") as caught:
        await world.call("WaitForms", "get_all", flow_id)
    assert caught.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    await world.call("WaitForms", "put", other, [1])
    assert await world.output(other) == "[1][] left 0", "the Worker is still there"
    await world.client.stop_flow(flow_id)


async def test_a_synchronous_client_does_the_same(world: World) -> None:
    def converse(flow_id: str) -> str:
        target = dex.ClientOptions(world.address, dex.WorkerTarget(pull=True))
        with dex.Client(world.registry, world.cache, target) as client:
            assert client.health_check()
            chat = world.flows["Chat"]
            client.start_flow(chat, flow_id, 60)
            client.invoke_rpc(chat.send, flow_id, "from a thread")
            found: str = client.wait_for_flow(flow_id).single_output(str)
            return found

    output = await asyncio.to_thread(converse, world.flow_id())
    assert output.startswith("from a thread|")
