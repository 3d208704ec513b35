# twin: async-only
"""The gRPC services: which method answers what, and errors in the form that the SDK reads."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
from dex.dexpb import dex_pb2 as pb
from google.protobuf import message_factory
from google.protobuf.message import Message

from dex_agents.engine.server.errors import not_part_of_it, service_error
from dex_agents.engine.server.event_streams import EventStreams
from dex_agents.engine.server.flow_data import FlowData
from dex_agents.engine.server.flow_lifecycle import FlowLifecycle
from dex_agents.engine.server.flow_rpcs import FlowRpcs
from dex_agents.engine.server.flow_waits import FlowWaits
from dex_agents.engine.server.host import EngineHost
from dex_agents.engine.server.task_service import TaskService

logger = logging.getLogger("dex_agents.engine")

_Method = Callable[[Any], Awaitable[Message]]
_Context = grpc.aio.ServicerContext[Any, Any]

# What is left out, as a person would call it.
_LEFT_OUT = {"ResetFlow": "time travel (ResetFlow)"}


def service_handlers(host: EngineHost) -> list[grpc.GenericRpcHandler]:
    """Return the handlers of both services."""
    parts: tuple[object, ...] = (
        FlowLifecycle(host),
        FlowRpcs(host),
        FlowWaits(host),
        EventStreams(host),
        FlowData(host),
    )
    methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
    for method in pb.DESCRIPTOR.services_by_name["FlowService"].methods:
        found = [getattr(part, method.name) for part in parts if hasattr(part, method.name)]
        behaviour: _Method = found[0] if found else _left_out(method.name)
        methods[method.name] = grpc.unary_unary_rpc_method_handler(
            _answering(method.name, behaviour),
            request_deserializer=message_factory.GetMessageClass(method.input_type).FromString,
            response_serializer=_serialized,
        )
    poll = grpc.stream_stream_rpc_method_handler(
        TaskService(host).poll,
        request_deserializer=pb.PollWorkerTaskRequest.FromString,
        response_serializer=_serialized,
    )
    return [
        grpc.method_handlers_generic_handler("dex.FlowService", methods),
        grpc.method_handlers_generic_handler("dex.WorkerTaskService", {"PollWorkerTask": poll}),
    ]


def _serialized(message: Message) -> bytes:
    return message.SerializeToString()


def _left_out(name: str) -> _Method:
    async def refuse(_: object) -> Message:
        raise not_part_of_it(_LEFT_OUT.get(name, name))

    return refuse


def _answering(name: str, method: _Method) -> Callable[[Any, _Context], Awaitable[Message]]:
    async def answer(request: Any, context: _Context) -> Message:
        try:
            return await method(request)
        except Exception as error:
            found = service_error(error)
            if found.code is grpc.StatusCode.INTERNAL:
                logger.error("%s failed: %s", name, error, exc_info=error)
            # `from None` does not reach the caller; what matters of the error is in the status.
            status = found.status()
        await context.abort_with_status(status)

    return answer
