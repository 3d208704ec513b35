# twin: async-only
"""FlowService: Streams of events."""

from dex.dexpb import dex_pb2 as pb
from google.protobuf.empty_pb2 import Empty

from dex_agents.engine.core import EngineCore
from dex_agents.engine.embedded.tokens import decode_token, encode_token
from dex_agents.engine.refusals import InvalidRequest
from dex_agents.engine.server.errors import long_poll_timeout
from dex_agents.engine.server.flow_states import timestamp
from dex_agents.engine.server.flow_waits import poll_seconds
from dex_agents.engine.server.host import EngineHost
from dex_agents.engine.server.values import read_value, write_value
from dex_agents.engine.store.streams import StreamKey, StreamRow
from dex_agents.errors import InvalidAgentEventResumeTokenError

_LARGEST_PAGE = 1000


class EventStreams:
    """Append to Streams and read them."""

    def __init__(self, host: EngineHost) -> None:
        """Serve a host."""
        self._host = host

    async def WriteStream(self, request: pb.WriteStreamRequest) -> Empty:
        """Append an event."""
        key = _key(request)
        if not request.source:
            raise InvalidRequest("an event needs a source")
        value = read_value(request.value)
        await self._host.waves.ask(
            lambda core: core.append_event(
                key, request.source, value, request.stream_capacity_bytes
            )
        )
        return Empty()

    async def ReadStream(self, request: pb.ReadStreamRequest) -> pb.ReadStreamResponse:
        """Return the next event after a token, waiting for it."""
        key = _key(request)
        after = _decoded(key, request.resume_token)
        seconds = poll_seconds(request.wait_time_seconds)

        def probe(core: EngineCore) -> StreamRow | None:
            return core.store.streams.after(key, after)

        row = await self._host.waves.poll(key, probe, seconds)
        if row is None:
            raise long_poll_timeout("no event came in time")
        return pb.ReadStreamResponse(message=_message(key, row))

    async def ListStreamMessages(
        self, request: pb.ListStreamMessagesRequest
    ) -> pb.ListStreamMessagesResponse:
        """Return the newest events first, a page at a time."""
        key = _key(request)
        if request.page_size < 1:
            raise InvalidRequest(f"a page of {request.page_size} events")
        limit = min(request.page_size, _LARGEST_PAGE)
        token = request.before_page_token
        before = _decoded(key, token) if token else None
        rows = await self._host.waves.ask(
            lambda core: core.store.streams.before(key, before, limit + 1)
        )
        messages = [_message(key, row) for row in rows[:limit]]
        following = messages[-1].resume_token if len(rows) > limit else ""
        return pb.ListStreamMessagesResponse(messages=messages, next_page_token=following)


def _key(
    request: pb.WriteStreamRequest | pb.ReadStreamRequest | pb.ListStreamMessagesRequest,
) -> StreamKey:
    if not (request.flow_type and request.stream_name and request.flow_id):
        raise InvalidRequest("a Stream needs a Flow type, a name and a Flow ID")
    return StreamKey(request.flow_type, request.stream_name, request.flow_id)


def _decoded(key: StreamKey, token: str) -> int:
    try:
        return decode_token(key, token)
    except InvalidAgentEventResumeTokenError as error:
        raise InvalidRequest(str(error)) from None


def _message(key: StreamKey, row: StreamRow) -> pb.StreamMessage:
    return pb.StreamMessage(
        value=write_value(row.value),
        resume_token=encode_token(key, row.message_id),
        created_time=timestamp(row.created_at),
        source=row.source,
    )
