# twin: source
"""What a session's client asks of an engine through the SDK's Client, and how errors come back."""

from collections.abc import Callable
from typing import Any

import dex
import grpc
import pytest
from dex.dexpb import dex_pb2 as pb

from dex_agents._seam.sdk import SdkClient, new_registry
from dex_agents.errors import InvalidAgentEventResumeTokenError
from dex_agents.model.requests import AgentSnapshot
from dex_agents.model.state import AgentState
from dex_agents.sdk import AgentSessionFlow, DexConnection
from dex_agents.sdk.blob_cache import opened_blob_cache
from dex_agents.session.client import AgentSessionClient
from dex_agents.session.client_port import ClientPort
from dex_agents.session.flow_values import ActiveStepSearchMode, FlowStatus, StreamMessagesPage
from dex_agents.ui_stream import read_agent_event_stream_snapshot, stream_agent_event_frames
from tests.sdk_server import (
    BAD_REQUEST,
    LOCKED,
    NOT_ACTIVE,
    NOTHING_YET,
    FakeFlowService,
    Refusal,
    stream_message,
    summary,
)

pytestmark = pytest.mark.usefixtures("real_sdk")

FLOW = AgentSessionFlow.remote("Support")
TRUE = pb.InvokeRPCResponse(output=pb.Value(string_value="true"))


def connected(service: FakeFlowService) -> DexConnection:
    return DexConnection([FLOW], server_address=service.address)


def port_of(connection: DexConnection) -> ClientPort:
    return connection.sessions(FLOW).client


async def test_a_start_is_searchable_pulled_and_repeatable(real_sdk: None) -> None:
    with FakeFlowService() as service:
        service.answer("StartFlow", pb.StartFlowResponse(run_id="run-1"))
        async with connected(service) as connection:
            sessions = connection.sessions(FLOW)
            assert await sessions.start_session("s-1", "Hi", request_id="r-1") == "run-1"
            await sessions.start_session("s-2")
        first, second = service.asked("StartFlow")
    assert (first.flow_id, first.flow_type, first.request_id) == ("s-1", "Support", "r-1")
    assert first.start_step_type == "StartAgentSession"
    assert first.step_input.string_value == '{"initial_message":"Hi"}'
    options = first.flow_start_options
    assert options.flow_already_started_options.ignore_already_started_error
    assert options.flow_config_override.worker_target.is_pull_mode
    assert (
        options.flow_config_override.active_step_search_mode
        == pb.ACTIVE_STEP_SEARCH_MODE_ENABLED_FOR_STEPS_WITH_WAIT_FOR
    )
    assert second.request_id
    already = second.flow_start_options.flow_already_started_options
    assert not already.ignore_already_started_error


async def test_a_client_made_by_hand_starts_pulled_flows_too(real_sdk: None) -> None:
    with FakeFlowService() as service, opened_blob_cache(None) as cache:
        service.answer("StartFlow", pb.StartFlowResponse(run_id="run-1"))
        options = dex.ClientOptions(server_address=service.address)
        client = SdkClient(new_registry([FLOW]), cache, options)
        try:
            await AgentSessionClient(client, FLOW).start_session("s-1")
        finally:
            await client.close()
        (request,) = service.asked("StartFlow")
    assert request.flow_start_options.flow_config_override.worker_target.is_pull_mode


async def test_a_taken_session_id_is_told(real_sdk: None) -> None:
    with FakeFlowService() as service:
        taken = Refusal(grpc.StatusCode.ALREADY_EXISTS, "FLOW_ALREADY_STARTED")
        service.answer("StartFlow", taken)
        async with connected(service) as connection:
            with pytest.raises(dex.FlowAlreadyStartedError):
                await connection.sessions(FLOW).start_session("s-1")


async def test_an_rpc_sends_its_input_loads_and_locks(real_sdk: None) -> None:
    with FakeFlowService() as service:
        snapshot = AgentSnapshot(state=AgentState())
        text = pb.InvokeRPCResponse(output=pb.Value(string_value=snapshot.to_text()))
        service.answer("InvokeRPC", TRUE, text)
        async with connected(service) as connection:
            sessions = connection.sessions(FLOW)
            assert await sessions.resolve_interrupt("s-1", "call-1", approved=True)
            assert await sessions.get_agent_snapshot("s-1") == snapshot
        resolve, read = service.asked("InvokeRPC")
    assert (resolve.flow_id, resolve.rpc_name) == ("s-1", "resolve_interrupt")
    assert resolve.input.string_value == '{"interrupt_id":"call-1","approved":true}'
    assert resolve.is_transactional
    assert list(resolve.lock_attribute_keys) == ["PendingInterrupts"]
    assert read.input.HasField("null_value")
    assert not read.is_transactional
    assert "AgentToolCalls/" in read.load_attribute_map_instances
    assert list(read.load_channel_names) == ["QueuedUserMessages"]


async def test_a_lock_conflict_is_tried_again(real_sdk: None) -> None:
    with FakeFlowService() as service:
        service.answer("InvokeRPC", LOCKED, LOCKED, LOCKED, TRUE)
        async with connected(service) as connection:
            assert await connection.sessions(FLOW).resolve_interrupt("s-1", "c", approved=True)
        assert len(service.asked("InvokeRPC")) == 4


async def test_a_lock_that_is_held_for_too_long_is_told(real_sdk: None) -> None:
    with FakeFlowService() as service:
        service.answer("InvokeRPC", LOCKED)
        async with connected(service) as connection:
            port = port_of(connection)
            with pytest.raises(dex.RpcLockConflictError):
                await port.invoke_rpc(FLOW.session, "resolve_interrupt", "s-1", "{}")
            assert len(service.asked("InvokeRPC")) == 1
            with pytest.raises(dex.RpcLockConflictError):
                await port.invoke_rpc(
                    FLOW.session, "resolve_interrupt", "s-1", "{}", lock_wait_seconds=0.5
                )
            assert len(service.asked("InvokeRPC")) > 2


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (NOT_ACTIVE, dex.FlowNotActiveOrNotFoundError),
        (
            Refusal(
                grpc.StatusCode.FAILED_PRECONDITION, "WORKER_API_ERROR", worker_error="bad value"
            ),
            dex.WorkerInvocationError,
        ),
        (Refusal(grpc.StatusCode.UNAVAILABLE), dex.DexServiceError),
    ],
)
async def test_other_errors_of_an_rpc_are_the_sdks_own(
    real_sdk: None, refusal: Refusal, error: type[Exception]
) -> None:
    with FakeFlowService() as service:
        service.answer("InvokeRPC", refusal)
        async with connected(service) as connection:
            with pytest.raises(error):
                await connection.sessions(FLOW).resolve_interrupt("s-1", "c", approved=True)
        assert len(service.asked("InvokeRPC")) == 1


async def test_an_event_is_read_with_its_token_and_time(real_sdk: None) -> None:
    with FakeFlowService() as service:
        service.answer("ReadStream", pb.ReadStreamResponse(message=stream_message("{}", "t-2")))
        async with connected(service) as connection:
            message = await port_of(connection).read_stream(
                FLOW.session, "s-1", resume_token="t-1", wait_seconds=1.2
            )
        (request,) = service.asked("ReadStream")
    assert message is not None
    assert (message.value, message.resume_token, message.source) == ("{}", "t-2", "#RunModel-1")
    assert message.created_at.isoformat() == "2026-12-01T12:00:00+00:00"
    assert (request.flow_id, request.flow_type, request.stream_name) == (
        "s-1",
        "Support",
        "AgentEvents",
    )
    assert (request.resume_token, request.wait_time_seconds) == ("t-1", 2)


async def test_a_poll_that_ends_empty_returns_nothing(real_sdk: None) -> None:
    with FakeFlowService() as service:
        service.answer("ReadStream", NOTHING_YET)
        async with connected(service) as connection:
            port = port_of(connection)
            assert await port.read_stream(FLOW.session, "s-1", wait_seconds=130) is None
        waits = [request.wait_time_seconds for request in service.asked("ReadStream")]
    assert waits == [60, 60, 10]


async def test_a_look_without_waiting_does_not_wait(real_sdk: None) -> None:
    """The protocol's shortest wait is a second, and zero means a minute."""
    with FakeFlowService() as service:
        one = pb.ListStreamMessagesResponse(messages=[stream_message("{}", "t-1")])
        service.answer("ListStreamMessages", pb.ListStreamMessagesResponse(), one)
        service.answer("ReadStream", pb.ReadStreamResponse(message=stream_message("{}", "t-1")))
        async with connected(service) as connection:
            port = port_of(connection)
            assert await port.read_stream(FLOW.session, "s-1") is None
            assert await port.read_stream(FLOW.session, "s-1", resume_token="t-1") is None
            assert service.asked("ReadStream") == []
            assert await port.read_stream(FLOW.session, "s-1") is not None
            (request,) = service.asked("ReadStream")
            assert request.wait_time_seconds == 1


async def test_a_foreign_token_is_told_as_such(real_sdk: None) -> None:
    with FakeFlowService() as service:
        empty = pb.ListStreamMessagesResponse()
        service.answer("ListStreamMessages", empty, empty, BAD_REQUEST)
        service.answer("ReadStream", BAD_REQUEST)
        async with connected(service) as connection:
            port = port_of(connection)
            with pytest.raises(InvalidAgentEventResumeTokenError, match="cannot be read"):
                await port.read_stream(FLOW.session, "s-1", resume_token="t")
            with pytest.raises(InvalidAgentEventResumeTokenError):
                await stream_agent_event_frames(
                    connection.client, FLOW, "s-1", resume_token="t", poll_timeout=1
                )
            with pytest.raises(InvalidAgentEventResumeTokenError):
                await port.list_stream_messages(FLOW.session, "s-1", before_page_token="t")
            with pytest.raises(dex.DexServiceError):
                await port.list_stream_messages(FLOW.session, "s-1")


async def test_events_are_listed_in_pages(real_sdk: None) -> None:
    with FakeFlowService() as service:
        page = pb.ListStreamMessagesResponse(
            messages=[stream_message("b", "t-2"), stream_message("a", "t-1")], next_page_token="t-1"
        )
        service.answer("ListStreamMessages", page)
        async with connected(service) as connection:
            port = port_of(connection)
            found = await port.list_stream_messages(FLOW.session, "s-1", page_size=2)
            with pytest.raises(ValueError, match="page_size must be from 1 to 1000"):
                await port.list_stream_messages(FLOW.session, "s-1", page_size=0)
    assert [message.value for message in found.messages] == ["b", "a"]
    assert found.next_page_token == "t-1"


@pytest.mark.parametrize(
    "code", [grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.FAILED_PRECONDITION]
)
async def test_a_server_without_streams_has_no_events(
    real_sdk: None, code: grpc.StatusCode
) -> None:
    with FakeFlowService() as service:
        service.answer("ListStreamMessages", Refusal(code))
        service.answer("ReadStream", Refusal(code))
        text = pb.Value(string_value=AgentSnapshot(state=AgentState()).to_text())
        service.answer("InvokeRPC", pb.InvokeRPCResponse(output=text))
        async with connected(service) as connection:
            port = port_of(connection)
            assert await port.list_stream_messages(FLOW.session, "s-1") == StreamMessagesPage()
            read = await port.read_stream(FLOW.session, "s-1", wait_seconds=0.01)
            assert read is None
            page = await read_agent_event_stream_snapshot(connection.client, FLOW, "s-1")
            assert page.resume_token == ""


async def test_flows_are_searched(real_sdk: None) -> None:
    entry = pb.SearchFlowsResponseEntry(
        flow_id="s-1", run_id="run-1", flow_type="Support", flow_status=pb.FLOW_STATUS_CANCELED
    )
    entry.start_time.FromJsonString("2026-12-01T12:00:00Z")
    entry.close_time.FromJsonString("2026-12-01T12:30:00Z")
    with FakeFlowService() as service:
        service.answer(
            "SearchFlows",
            pb.SearchFlowsResponse(flow_runs=[entry], next_page_token="more"),
            BAD_REQUEST,
        )
        async with connected(service) as connection:
            port = port_of(connection)
            page = await port.search_flows('FlowType = "Support"', 5, "token")
            with pytest.raises(dex.DexServiceError, match="cannot be read"):
                await port.search_flows("nonsense")
        request = service.asked("SearchFlows")[0]
    (found,) = page.flows
    assert (found.flow_id, found.status) == ("s-1", FlowStatus.CANCELED)
    assert found.closed_at is not None
    assert page.next_page_token == "more"
    assert (request.query, request.page_size, request.next_page_token) == (
        'FlowType = "Support"',
        5,
        "token",
    )


async def test_a_flow_is_described(real_sdk: None) -> None:
    with FakeFlowService() as service:
        service.answer(
            "GetFlowSummary",
            summary(pb.FLOW_STATUS_RUNNING),
            summary(pb.FLOW_STATUS_FAILED),
            NOT_ACTIVE,
        )
        failed = pb.FlowResult(flow_status=pb.FLOW_STATUS_FAILED, error_message="it broke")
        service.answer("WaitForFlow", failed)
        async with connected(service) as connection:
            port = port_of(connection)
            running = await port.describe_flow("s-1")
            assert (running.status, running.error) == (FlowStatus.RUNNING, None)
            assert (await port.describe_flow("s-1")).error == "it broke"
            with pytest.raises(dex.FlowNotFoundError):
                await port.describe_flow("s-1")


async def test_a_flow_is_stopped_and_its_search_mode_changed(real_sdk: None) -> None:
    from google.protobuf.empty_pb2 import Empty

    with FakeFlowService() as service:
        service.answer("StopFlow", Empty(), NOT_ACTIVE)
        service.answer("UpdateFlowConfig", Empty(), NOT_ACTIVE)
        async with connected(service) as connection:
            port = port_of(connection)
            await port.stop_flow("s-1", reason="over")
            mode = ActiveStepSearchMode.DISABLED
            await port.update_flow_config("s-1", active_step_search_mode=mode)
            with pytest.raises(dex.FlowNotActiveOrNotFoundError):
                await port.stop_flow("s-1")
            with pytest.raises(dex.FlowNotActiveOrNotFoundError):
                await port.update_flow_config("s-1", active_step_search_mode=mode)
        stop, update = service.asked("StopFlow")[0], service.asked("UpdateFlowConfig")[0]
    assert (stop.reason, stop.stop_type) == ("over", pb.STOP_TYPE_CANCEL)
    config = update.flow_config
    assert config.active_step_search_mode == pb.ACTIVE_STEP_SEARCH_MODE_DISABLED


async def test_a_client_of_the_sdk_needs_the_flow_that_it_knows(real_sdk: None) -> None:
    with FakeFlowService() as service:
        async with connected(service) as connection:
            client: Any = connection.client
            with pytest.raises(TypeError, match="needs the AgentSessionFlow of this package"):
                AgentSessionClient(client, FLOW.session)
            other = AgentSessionFlow.remote("Support")
            with pytest.raises(ValueError, match="made without this Flow object of 'Support'"):
                connection.sessions(other)
            with pytest.raises(ValueError, match="this client port talks to 'Support' sessions"):
                await port_of(connection).invoke_rpc(other.session, "get_agent_snapshot", "s-1")


def test_a_connection_that_is_not_open_says_how_to_open_it() -> None:
    connection = DexConnection([FLOW])
    calls: list[Callable[[], object]] = [
        lambda: connection.client,
        lambda: connection.sessions(FLOW),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="use it as a context manager, or call start"):
            call()
