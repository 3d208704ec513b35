# twin: async-only
"""FlowService: a Flow's Attributes, channels, state and history, read and written from outside."""

from dex.dexpb import dex_pb2 as pb
from google.protobuf.empty_pb2 import Empty

from dex_agents.engine.core import EngineCore
from dex_agents.engine.refusals import InvalidRequest
from dex_agents.engine.server.flow_states import (
    STATUSES,
    attribute_values,
    channel_messages,
    flow_state,
    history_event,
)
from dex_agents.engine.server.flow_waits import LONGEST_POLL_SECONDS
from dex_agents.engine.server.host import EngineHost
from dex_agents.engine.server.responses import read_effects
from dex_agents.engine.server.values import write_value

_DEFAULT_PAGE = 100
_LARGEST_PAGE = 1000


class FlowData:
    """What a Flow holds."""

    def __init__(self, host: EngineHost) -> None:
        """Serve a host."""
        self._host = host

    async def GetAttributes(self, request: pb.GetAttributesRequest) -> pb.GetAttributesResponse:
        """Return Attributes, of a closed run too."""

        def read(core: EngineCore) -> pb.GetAttributesResponse:
            found = attribute_values(core.inspect(request.flow_id, request.run_id))
            if not request.all_keys:
                found = {key: found[key] for key in sorted({*request.keys} & found.keys())}
            return pb.GetAttributesResponse(
                attributes=[pb.KV(key=key, value=write_value(v)) for key, v in found.items()]
            )

        return await self._host.waves.ask(read)

    async def SetAttributes(self, request: pb.SetAttributesRequest) -> Empty:
        """Write Attributes."""
        effects = read_effects(request.attributes, (), (), self._host.index_types)
        await self._host.waves.ask(
            lambda core: core.write(request.flow_id, effects, run_id=request.run_id)
        )
        return Empty()

    async def PublishToChannel(self, request: pb.PublishToChannelRequest) -> Empty:
        """Publish messages."""
        effects = read_effects((), (), request.messages, {})
        await self._host.waves.ask(
            lambda core: core.write(request.flow_id, effects, run_id=request.run_id)
        )
        return Empty()

    async def GetChannelMessages(
        self, request: pb.GetChannelMessagesRequest
    ) -> pb.GetChannelMessagesResponse:
        """Return what waits in a channel."""
        messages = await self._host.waves.ask(
            lambda core: channel_messages(
                core.inspect(request.flow_id, request.run_id), request.channel_name
            )
        )
        return pb.GetChannelMessagesResponse(messages=messages)

    async def DeleteChannelMessage(self, request: pb.DeleteChannelMessageRequest) -> Empty:
        """Remove a message."""
        deletion = pb.ChannelMessageDeletion(
            channel_name=request.channel_name, message_id=request.message_id
        )
        effects = read_effects((), (deletion,), (), {})
        await self._host.waves.ask(
            lambda core: core.write(request.flow_id, effects, run_id=request.run_id)
        )
        return Empty()

    async def GetFlowState(self, request: pb.GetFlowStateRequest) -> pb.GetFlowStateResponse:
        """Return everything that a run holds."""
        return await self._host.waves.ask(
            lambda core: flow_state(core.inspect(request.flow_id, request.run_id))
        )

    async def GetHistoryEvents(
        self, request: pb.GetHistoryEventsRequest
    ) -> pb.GetHistoryEventsResponse:
        """Return a page of a run's history, oldest first."""
        size = request.estimate_page_size
        if size < 0 or request.start_internal_event_id < 0:
            raise InvalidRequest("a page size and an event ID must not be negative")
        limit = min(size or _DEFAULT_PAGE, _LARGEST_PAGE)
        start = _page_start(request)

        def read(core: EngineCore) -> pb.GetHistoryEventsResponse:
            run = core.describe(request.flow_id, request.run_id)
            events = [e for e in core.store.read_history(run.run_id) if e.event_id >= start]
            page, rest = events[:limit], events[limit:]
            last = page[-1].event_id if page else max(start, 1) - 1
            return pb.GetHistoryEventsResponse(
                events=[history_event(event, run) for event in page],
                next_page_token=str(rest[0].event_id).encode() if rest else b"",
                next_internal_event_id=last + 1,
            )

        return await self._host.waves.ask(read)

    async def WaitForHistoryEvent(
        self, request: pb.WaitForHistoryEventRequest
    ) -> pb.WaitForHistoryEventResponse:
        """Wait until a run's history has an event."""
        wanted = request.next_internal_event_id

        def probe(core: EngineCore) -> pb.WaitForHistoryEventResponse | None:
            state = core.inspect(request.flow_id, request.run_id)
            newest = state.next_event - 1
            if newest < wanted and state.is_active:
                return None
            return pb.WaitForHistoryEventResponse(
                event_available=newest >= wanted,
                available_internal_event_id=newest,
                flow_status=STATUSES[state.run.status],
            )

        found = await self._host.waves.poll(request.flow_id, probe, LONGEST_POLL_SECONDS)
        if found is not None:
            return found
        run = await self._host.waves.ask(
            lambda core: core.describe(request.flow_id, request.run_id)
        )
        return pb.WaitForHistoryEventResponse(flow_status=STATUSES[run.status])

    async def LoadBlobs(self, request: pb.LoadBlobsRequest) -> pb.LoadBlobsResponse:
        """Refuse: the engine sends every value inline, so no blob can be asked for."""
        raise InvalidRequest("the local engine sends values inline and has no blobs")


def _page_start(request: pb.GetHistoryEventsRequest) -> int:
    token = request.next_page_token
    if not token:
        return request.start_internal_event_id
    if not token.isdigit() or len(token) > 18:
        raise InvalidRequest(f"unknown page token {token[:64]!r}")
    return int(token)
