# twin: async-only
"""FlowService: run RPC handlers on Workers."""

from functools import partial

from dex.dexpb import dex_pb2 as pb
from grpc import StatusCode

from dex_agents.engine.core import EngineCore
from dex_agents.engine.refusals import InvalidRequest
from dex_agents.engine.requests import RpcCall, RpcRequest
from dex_agents.engine.server.errors import ServiceError
from dex_agents.engine.server.frames import LARGEST_MESSAGE_BYTES
from dex_agents.engine.server.host import EngineHost
from dex_agents.engine.server.responses import read_rpc
from dex_agents.engine.server.rpc_runs import RpcTimes, run_on_worker

_LONGEST_SECONDS = 60.0


class FlowRpcs:
    """The one call that goes through a Worker."""

    def __init__(self, host: EngineHost) -> None:
        """Serve a host."""
        self._host = host

    async def InvokeRPC(self, request: pb.InvokeRPCRequest) -> pb.InvokeRPCResponse:
        """Run a handler on a Worker, and apply what it wants written as one commit."""
        if not request.rpc_name:
            raise InvalidRequest("an RPC name is required")
        if request.timeout_seconds < 0:
            raise InvalidRequest(f"a timeout of {request.timeout_seconds} s")
        if any(not key for key in request.lock_attribute_keys):
            raise InvalidRequest("a lock names no Attribute")
        wanted = _rpc_request(request)
        begun: list[RpcCall] = []
        is_finished = False
        try:
            await self._host.waves.ask(lambda core: begun.append(core.begin_rpc(wanted)))
            response = await self._run(begun[-1], request)
            is_finished = True
            return response
        finally:
            # Also when the caller went away, at whatever moment: then nothing is written, and the
            # locks are free.
            for call in () if is_finished else begun:
                self._host.waves.post(partial(_abandon, call))

    async def _run(self, call: RpcCall, request: pb.InvokeRPCRequest) -> pb.InvokeRPCResponse:
        timeout = min(float(request.timeout_seconds) or _LONGEST_SECONDS, _LONGEST_SECONDS)
        times = RpcTimes(timeout, min(timeout, self._host.dispatch_wait))
        answer = await run_on_worker(self._host, call, request.input, times)
        size = answer.output.ByteSize()
        if size > LARGEST_MESSAGE_BYTES:
            raise ServiceError(
                StatusCode.RESOURCE_EXHAUSTED,
                f"RPC {request.rpc_name} returned {size:,} bytes, and the SDK takes "
                f"{LARGEST_MESSAGE_BYTES:,}; nothing of it was applied",
            )
        effects = read_rpc(answer, self._host.index_types)

        def finish(core: EngineCore) -> None:
            core.finish_rpc(call, effects)

        await self._host.waves.ask(finish)
        return pb.InvokeRPCResponse(output=answer.output)


def _abandon(call: RpcCall, core: EngineCore) -> None:
    core.abandon_rpc(call)


def _rpc_request(request: pb.InvokeRPCRequest) -> RpcRequest:
    return RpcRequest(
        flow_id=request.flow_id,
        run_id=request.run_id,
        rpc_name=request.rpc_name,
        locks=tuple(sorted(set(request.lock_attribute_keys))),
        is_transactional=request.is_transactional,
        load_attributes=tuple(sorted(set(request.load_attribute_map_instances))),
        load_channels=tuple(
            sorted({*request.load_channel_names, *request.load_channel_map_instances})
        ),
    )
