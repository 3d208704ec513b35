# twin: async-only
"""Pull mode frame by frame: spares, rejects, retiring streams, dying Workers, silence."""

import grpc
import grpc.aio
import pytest
from dex.dexpb import dex_pb2 as pb

from dex_agents.engine.kernel.messages import NOT_STARTED_ERROR_TYPE
from tests.server.scripted import (
    COMPLETE,
    FLOW_TYPE,
    NO_CAPACITY,
    UNKNOWN_STEP,
    Caller,
    Stream,
    running_engine,
)

pytestmark = pytest.mark.usefixtures("real_sdk")
ONE_ATTEMPT = pb.RetryPolicy(maximum_attempts=1)


async def opened(caller: Caller, worker_id: str = "w1", queue: str = FLOW_TYPE) -> Stream:
    """Open a stream."""
    return await Stream(caller.channel, worker_id, queue).open()


async def status(caller: Caller, flow_id: str = "flow") -> pb.FlowResult:
    """Wait for a Flow's end."""
    request = pb.WaitForFlowRequest(flow_id=flow_id, wait_time_seconds=10)
    result: pb.FlowResult = await caller.call("WaitForFlow", request)
    return result


async def test_only_one_stream_per_queue_is_registered_until_there_is_more_to_do() -> None:
    async with running_engine() as caller:
        first = await opened(caller)
        await first.registered()
        spare = await opened(caller)
        assert await spare.is_quiet()
        await caller.start("one")
        task = await first.task()
        assert await spare.is_quiet()
        await caller.start("two")
        await spare.registered()
        await spare.finish(await spare.task(), close_decision=COMPLETE)
        await first.finish(task, close_decision=COMPLETE)
        assert (await status(caller, "two")).flow_status == pb.FLOW_STATUS_COMPLETED
        assert (await status(caller, "one")).flow_status == pb.FLOW_STATUS_COMPLETED


async def test_a_spare_is_registered_when_the_registered_stream_ends() -> None:
    async with running_engine() as caller:
        first = await opened(caller)
        await first.registered()
        spare = await opened(caller)
        await first.half_close()
        assert await first.read() is None, "an idle stream that closes is let go at once"
        await spare.registered()


async def test_a_task_on_a_closing_stream_keeps_its_attempt_number() -> None:
    async with running_engine() as caller:
        retiring = await opened(caller)
        await retiring.registered()
        await caller.start()
        assert (await retiring.task()).execute.context.attempt == 1
        await retiring.half_close()
        other = await opened(caller)
        task = await other.task()
        assert task.execute.context.attempt == 1
        await other.finish(task, close_decision=COMPLETE)
        await status(caller)


async def test_a_task_of_a_dead_worker_is_a_spent_attempt() -> None:
    async with running_engine() as caller:
        dying = await opened(caller)
        await caller.start()
        await dying.task()
        dying.disconnect()
        other = await opened(caller, "w2")
        task = await other.task()
        assert task.execute.context.attempt == 2


async def test_a_task_that_was_answered_before_its_stream_closed_is_a_spent_attempt() -> None:
    async with running_engine() as caller:
        closing = await opened(caller)
        await caller.start()
        await closing.beat(await closing.task())
        await closing.half_close()
        other = await opened(caller, "w2")
        context = (await other.task()).execute.context
        assert (context.attempt, context.last_heartbeat_value.string_value) == (2, "saved")


async def test_a_full_worker_is_asked_again_and_costs_no_attempt() -> None:
    async with running_engine() as caller:
        stream = await opened(caller)
        await caller.start()
        for _ in range(4):
            task = await stream.task()
            assert task.execute.context.attempt == 1
            await stream.reject(task, NO_CAPACITY)
        await stream.finish(await stream.task(), close_decision=COMPLETE)
        assert (await status(caller)).flow_status == pb.FLOW_STATUS_COMPLETED


async def test_a_worker_that_does_not_know_a_step_is_not_asked_again() -> None:
    async with running_engine(dispatch_wait=0.4) as caller:
        stream = await opened(caller)
        await caller.start(execute_retry_policy=ONE_ATTEMPT)
        await stream.reject(await stream.task(), UNKNOWN_STEP)
        result = await status(caller)
        assert result.flow_status == pb.FLOW_STATUS_FAILED
        assert "no Worker of Scripted knows the Step Work" in result.error_message


async def test_another_worker_gets_what_one_does_not_know() -> None:
    async with running_engine() as caller:
        old = await opened(caller, "old")
        await caller.start()
        await old.reject(await old.task(), UNKNOWN_STEP)
        new = await opened(caller, "new")
        await new.finish(await new.task(), close_decision=COMPLETE)
        assert (await status(caller)).flow_status == pb.FLOW_STATUS_COMPLETED


async def test_the_worker_that_served_a_flow_is_asked_first() -> None:
    async with running_engine() as caller:
        one = await opened(caller, "one", "one")
        await caller.start()
        first = await one.task()
        two = await opened(caller, "two", "two")
        await two.registered()
        move = pb.StepMovement(step_type="Work", step_options=pb.StepOptions(skip_wait_for=True))
        await one.finish(first, next_steps=[move])
        for _ in range(3):
            await one.finish(await one.task(), next_steps=[move])
        assert await two.is_quiet()


async def test_a_silent_worker_gets_nothing_until_it_answers_a_ping() -> None:
    async with running_engine() as caller:
        silent = await opened(caller)
        await silent.registered()
        await caller.start(heartbeat_timeout_seconds=1, execute_retry_policy=ONE_ATTEMPT)
        task = await silent.task()
        kinds = {(await silent.read()).WhichOneof("frame") for _ in range(2)}
        assert kinds == {"cancel_task", "ping"}
        await silent.fail(task, error_type="asyncio.exceptions.CancelledError", grpc_status=1)
        await caller.start("next")
        assert await silent.is_quiet()
        await silent.pong()
        assert (await silent.task()).execute.context.flow_id == "next"


async def test_late_frames_of_an_attempt_that_is_over_change_nothing() -> None:
    async with running_engine() as caller:
        stream = await opened(caller)
        await stream.registered()
        await caller.start()
        task = await stream.task()
        await caller.call("StopFlow", pb.StopFlowRequest(flow_id="flow"))
        assert (await stream.read()).cancel_task.task_id == task.task_id
        await stream.finish(task, close_decision=COMPLETE)
        await stream.finish(task, close_decision=COMPLETE)
        assert (await status(caller)).flow_status == pb.FLOW_STATUS_CANCELED
        await caller.start("next")
        assert (await stream.task()).execute.context.flow_id == "next"


async def test_a_sub_flow_fails_its_step_at_once_and_says_who_has_them() -> None:
    async with running_engine() as caller:
        stream = await opened(caller)
        request = pb.StartFlowRequest(
            flow_id="flow", flow_type=FLOW_TYPE, request_id="r", start_step_type="Work"
        )
        await caller.call("StartFlow", request)
        task = await stream.task()
        condition = pb.WaitingCondition(sub_flow_conditions=[pb.SubFlowCondition()])
        answer = pb.InvokeWaitForMethodResponse(waiting_condition=condition)
        output = pb.InvokeWaitForMethodOutput(result=answer)
        await stream._output(task, wait_for=output)
        result = await status(caller)
        assert result.flow_status == pb.FLOW_STATUS_FAILED
        assert "a Dex Server has them" in result.error_message


async def test_a_task_too_large_for_a_worker_never_started_and_is_named() -> None:
    async with running_engine() as caller:
        stream = await opened(caller)
        await stream.registered()
        value = pb.Value(string_value="x" * 4_300_000)
        request = pb.StartFlowRequest(
            flow_id="flow",
            flow_type=FLOW_TYPE,
            request_id="r",
            start_step_type="Work",
            step_input=pb.Value(string_value="small"),
        )
        request.flow_start_options.attributes.add(key="Huge", value=value)
        await caller.call("StartFlow", request)
        result = await status(caller)
        assert "Attribute 'Huge' with 4,300,0" in result.error_message
        await caller.start("next")
        assert (await stream.task()).execute.context.flow_id == "next"


async def test_what_may_have_run_is_never_called_not_started() -> None:
    async with running_engine(dispatch_wait=0.3) as caller:
        dying = await opened(caller)
        options = {
            "execute_retry_policy": pb.RetryPolicy(maximum_attempts=2),
            "execute_failure_policy": pb.EXECUTE_METHOD_FAILURE_POLICY_PROCEED_TO_CONFIGURED_STEP,
            "execute_failure_proceed_step_type": "Recover",
            "execute_failure_proceed_step_options": pb.StepOptions(skip_wait_for=True),
        }
        await caller.start("ran", **options)
        await dying.task()
        dying.disconnect()
        await caller.start("never", **options)
        for flow_id in ("ran", "never"):
            request = pb.WaitForStepCompletionRequest(
                flow_id=flow_id, step_type="Work", step_execution_number="1"
            )
            await caller.call("WaitForStepCompletion", request)
        late = await opened(caller, "late")
        errors = {}
        for _ in range(2):
            task = await late.task()
            context = task.execute.context
            errors[context.flow_id] = context.recovery_error.error_type
            await late.finish(task, close_decision=COMPLETE)
        assert errors == {"ran": "NO_WORKER_AVAILABLE", "never": NOT_STARTED_ERROR_TYPE}


async def test_a_checkpoint_between_two_commits_reaches_the_next_attempt() -> None:
    async with running_engine() as caller:
        dying = await opened(caller)
        await caller.start()
        task = await dying.task()
        for number in range(20):
            await dying.beat(task, f"saved {number}")
        await dying.fail(task, detail="broken", error_type="Fault")
        context = (await dying.task()).execute.context
        assert context.last_heartbeat_value.string_value == "saved 19"


async def test_a_full_disk_fails_the_caller_and_keeps_results_for_later() -> None:
    async with running_engine() as caller:
        stream = await opened(caller)
        await caller.start()
        task = await stream.task()
        database = caller.engine_database()
        pages = database.execute("PRAGMA page_count").fetchone()[0]
        database.execute(f"PRAGMA max_page_count = {pages}")
        request = pb.SetAttributesRequest(flow_id="flow")
        request.attributes.add(key="Big", value=pb.Value(string_value="x" * 100_000))
        with pytest.raises(grpc.aio.AioRpcError, match="free space") as caught:
            await caller.call("SetAttributes", request)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        write = pb.AttributeWrite(key="Big", value=pb.Value(string_value="y" * 100_000))
        await stream.finish(task, write, close_decision=COMPLETE)
        summary = pb.GetFlowSummaryRequest(flow_id="flow")
        found = await caller.call("GetFlowSummary", summary)
        assert found.flow_status == pb.FLOW_STATUS_RUNNING, "it serves what needs no room"
        database.execute("PRAGMA max_page_count = 1000000")
        assert (await status(caller)).flow_status == pb.FLOW_STATUS_COMPLETED
