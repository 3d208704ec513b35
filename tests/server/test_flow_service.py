# twin: async-only
"""The calls that the SDK's clients do not make, and forms of those they do."""

import asyncio

import grpc
import grpc.aio
import pytest
from dex.dexpb import dex_pb2 as pb

from tests.server.scripted import (
    COMPLETE,
    FLOW_TYPE,
    Caller,
    Stream,
    running_engine,
    sub_status,
)

pytestmark = pytest.mark.usefixtures("real_sdk")


async def opened(caller: Caller) -> Stream:
    """Open a stream."""
    return await Stream(caller.channel, "w1", FLOW_TYPE).open()


async def test_attributes_are_set_and_read_from_outside_also_when_closed() -> None:
    async with running_engine() as caller:
        await caller.start()
        request = pb.SetAttributesRequest(flow_id="flow")
        request.attributes.add(key="A", value=pb.Value(int_value=2**62))
        request.attributes.add(key="Map/one", value=pb.Value(double_value=0.1))
        request.attributes.add(key="B", value=pb.Value(bool_value=False))
        await caller.call("SetAttributes", request)
        await caller.call("StopFlow", pb.StopFlowRequest(flow_id="flow"))
        everything = pb.GetAttributesRequest(flow_id="flow", all_keys=True)
        found = (await caller.call("GetAttributes", everything)).attributes
        assert [(kv.key, kv.value.WhichOneof("kind")) for kv in found] == [
            ("A", "int_value"),
            ("B", "bool_value"),
            ("Map/one", "double_value"),
        ]
        assert (found[0].value.int_value, found[2].value.double_value) == (2**62, 0.1)
        some = pb.GetAttributesRequest(flow_id="flow", keys=["B", "missing"])
        assert [kv.key for kv in (await caller.call("GetAttributes", some)).attributes] == ["B"]
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await caller.call("SetAttributes", request)
        assert sub_status(caught.value) == pb.ERROR_SUB_STATUS_FLOW_NOT_EXISTS


async def test_messages_are_published_listed_and_deleted_from_outside() -> None:
    async with running_engine() as caller:
        await caller.start()
        publish = pb.PublishToChannelRequest(flow_id="flow")
        for text in ("one", "two"):
            publish.messages.add(channel_name="c", value=pb.Value(string_value=text))
        await caller.call("PublishToChannel", publish)
        listing = pb.GetChannelMessagesRequest(flow_id="flow", channel_name="c")
        messages = (await caller.call("GetChannelMessages", listing)).messages
        assert [message.value.string_value for message in messages] == ["one", "two"]
        delete = pb.DeleteChannelMessageRequest(
            flow_id="flow", channel_name="c", message_id=messages[0].message_id
        )
        await caller.call("DeleteChannelMessage", delete)
        messages = (await caller.call("GetChannelMessages", listing)).messages
        assert [message.value.string_value for message in messages] == ["two"]
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await caller.call("DeleteChannelMessage", delete)
        assert sub_status(caught.value) == pb.ERROR_SUB_STATUS_CHANNEL_MESSAGE_NOT_FOUND


async def test_history_is_read_in_pages_and_waited_for() -> None:
    async with running_engine() as caller:
        stream = await opened(caller)
        await caller.start()
        move = pb.StepMovement(step_type="Next", step_options=pb.StepOptions(skip_wait_for=True))
        await stream.finish(await stream.task(), next_steps=[move])
        await stream.finish(await stream.task(), close_decision=COMPLETE)
        await caller.call("WaitForFlow", pb.WaitForFlowRequest(flow_id="flow"))
        request = pb.GetHistoryEventsRequest(flow_id="flow", estimate_page_size=2)
        first = await caller.call("GetHistoryEvents", request)
        request.next_page_token = first.next_page_token
        second = await caller.call("GetHistoryEvents", request)
        events = [*first.events, *second.events]
        assert [event.WhichOneof("payload") for event in events] == [
            "flow_started_or_continued",
            "step_execute_completed",
            "step_execute_completed",
            "flow_closed",
        ]
        step = events[2].step_execute_completed.context
        assert (step.step_execution_id, step.from_step_execution_id) == ("Next-1", "Work-1")
        assert (step.final_attempt, second.next_page_token) == (1, b"")
        wait = pb.WaitForHistoryEventRequest(flow_id="flow", next_internal_event_id=4)
        found = await caller.call("WaitForHistoryEvent", wait)
        assert found.event_available
        assert found.flow_status == pb.FLOW_STATUS_COMPLETED


async def test_the_state_of_a_flow_shows_its_steps_and_messages() -> None:
    async with running_engine() as caller:
        await caller.start()
        publish = pb.PublishToChannelRequest(flow_id="flow")
        publish.messages.add(channel_name="c", value=pb.Value(string_value="one"))
        await caller.call("PublishToChannel", publish)
        found = await caller.call("GetFlowState", pb.GetFlowStateRequest(flow_id="flow"))
        (step,) = found.active_step_executions
        assert (step.step_execution_id, step.from_step_execution_id) == ("Work-1", "__start__")
        assert step.phase == pb.ACTIVE_STEP_PHASE_ACTIVE
        assert len(found.pending_channel_messages["c"].messages) == 1


async def test_force_complete_ends_the_other_steps_at_once() -> None:
    async with running_engine() as caller:
        stream = await opened(caller)
        spare = await opened(caller)
        await caller.start()
        moves = [
            pb.StepMovement(step_type=name, step_options=pb.StepOptions(skip_wait_for=True))
            for name in ("Left", "Right")
        ]
        await stream.finish(await stream.task(), next_steps=moves)
        one, other = await stream.task(), await spare.task()
        close = pb.CloseDecision(
            close_decision_type=pb.CLOSE_DECISION_TYPE_FORCE_COMPLETE,
            close_input=pb.Value(string_value="out"),
        )
        await stream.finish(one, close_decision=close)
        assert (await spare.read()).cancel_task.task_id == other.task_id
        request = pb.WaitForFlowRequest(flow_id="flow", needs_results=True)
        result = await caller.call("WaitForFlow", request)
        assert result.flow_status == pb.FLOW_STATUS_COMPLETED
        assert [out.completed_step_output.string_value for out in result.results] == ["out"]


async def test_a_start_delay_holds_the_first_step_back() -> None:
    async with running_engine() as caller:
        stream = await opened(caller)
        await stream.registered()
        request = pb.StartFlowRequest(
            flow_id="flow", flow_type=FLOW_TYPE, request_id="r", start_step_type="Work"
        )
        request.flow_start_options.flow_start_delay_seconds = 1
        await caller.call("StartFlow", request)
        assert await stream.is_quiet(0.5)
        assert (await stream.task()).wait_for.context.step_execution_id == "Work-1"


async def test_a_caller_that_goes_away_leaves_no_lock_behind() -> None:
    async with running_engine(dispatch_wait=0.3) as caller:
        await caller.start()
        rpc = pb.InvokeRPCRequest(flow_id="flow", rpc_name="r", lock_attribute_keys=["A"])
        for wait in (0.0, 0.001, 0.002, 0.005, 0.1):
            going = asyncio.ensure_future(caller.call("InvokeRPC", rpc))
            await asyncio.sleep(wait)
            going.cancel()
        await asyncio.sleep(0.05)
        with pytest.raises(grpc.aio.AioRpcError, match="no Worker of Scripted") as caught:
            await caller.call("InvokeRPC", rpc)
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION


SEARCHES = [
    ('word = "green"', True),
    ('word != "green"', False),
    ('word != "red"', True),
    ("number > 6 AND number <= 7", True),
    ("number IN (1, 2)", False),
    ('tags = "b"', True),
    ('tags = "c"', False),
    ("flag = true", True),
    ("flag = false", False),
    ('moment > "2026-01-01T00:00:00Z"', True),
    ('moment < "2026-01-01T00:00:00Z"', False),
]


@pytest.mark.parametrize(("query", "is_found"), SEARCHES)
async def test_indexed_attributes_are_compared_by_their_type(query: str, is_found: bool) -> None:
    async with running_engine() as caller:
        types = {
            "word": pb.INDEX_TYPE_KEYWORD,
            "number": pb.INDEX_TYPE_INT,
            "tags": pb.INDEX_TYPE_KEYWORD_ARRAY,
            "flag": pb.INDEX_TYPE_BOOL,
            "moment": pb.INDEX_TYPE_DATETIME,
        }
        indexes = pb.SyncAttributeIndexRequest(attribute_indexes=types)
        await caller.call("SyncAttributeIndexes", indexes)
        values = {
            "word": pb.Value(string_value="green"),
            "number": pb.Value(int_value=7),
            "tags": pb.Value(obj_value=pb.EncodedObject(encoding="json", payload=b'["a","b"]')),
            "flag": pb.Value(bool_value=True),
            "moment": pb.Value(string_value="2026-12-01T12:00:00+00:00"),
        }
        request = pb.StartFlowRequest(flow_id="flow", flow_type=FLOW_TYPE, request_id="r")
        for key, value in values.items():
            request.flow_start_options.attributes.add(key=key, value=value)
        await caller.call("StartFlow", request)
        found = await caller.call("SearchFlows", pb.SearchFlowsRequest(query=query))
        assert [run.flow_id for run in found.flow_runs] == (["flow"] if is_found else [])
        if is_found:
            shown = {kv.key: kv.value for kv in found.flow_runs[0].indexed_attributes}
            assert shown == values
