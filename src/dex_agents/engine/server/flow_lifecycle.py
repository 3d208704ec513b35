# twin: async-only
"""FlowService: start, describe, stop, search and configure Flows."""

import math
import socket

from dex.dexpb import dex_pb2 as pb
from google.protobuf.empty_pb2 import Empty

from dex_agents._version import __version__
from dex_agents.engine.core import EngineCore
from dex_agents.engine.kernel.messages import StepMovement
from dex_agents.engine.kernel.state import RunStatus, SearchMode
from dex_agents.engine.refusals import InvalidRequest
from dex_agents.engine.requests import IdReuse, StartRequest
from dex_agents.engine.server.errors import not_part_of_it
from dex_agents.engine.server.flow_states import read_search_mode, search_entry, summary
from dex_agents.engine.server.host import EngineHost
from dex_agents.engine.server.options import read_movement, read_name
from dex_agents.engine.server.responses import read_effects
from dex_agents.engine.server.values import INDEX_TYPES
from dex_agents.engine.store.search import SearchQueryError, parse_query

_DEFAULT_PAGE = 1000
_LARGEST_PAGE = 1000
_ID_REUSE = {
    pb.ID_REUSE_POLICY_UNSPECIFIED: IdReuse.REFUSE,
    pb.ID_REUSE_POLICY_DISALLOW_REUSE: IdReuse.REFUSE,
    pb.ID_REUSE_POLICY_ALLOW_IF_NO_RUNNING: IdReuse.IF_CLOSED,
    pb.ID_REUSE_POLICY_ALLOW_IF_PREVIOUS_EXISTS_ABNORMALLY: IdReuse.IF_NOT_COMPLETED,
    pb.ID_REUSE_POLICY_ALLOW_TERMINATE_IF_RUNNING: IdReuse.TERMINATE,
}
_STOP_STATUSES = {
    pb.STOP_TYPE_UNSPECIFIED: RunStatus.CANCELED,
    pb.STOP_TYPE_CANCEL: RunStatus.CANCELED,
    pb.STOP_TYPE_TERMINATE: RunStatus.TERMINATED,
    pb.STOP_TYPE_FAIL: RunStatus.FAILED,
}


class FlowLifecycle:
    """The calls that start and end Flows, and those about the server itself."""

    def __init__(self, host: EngineHost) -> None:
        """Serve a host."""
        self._host = host

    async def GetServerInfo(self, request: Empty) -> pb.ServerInfo:
        """Tell which protocol versions are spoken."""
        return pb.ServerInfo(
            server_version=f"dex-agents {__version__}",
            minimum_supported_protocol_version=1,
            current_protocol_version=3,
            server_engine=pb.SERVER_ENGINE_ZD,
        )

    async def HealthCheck(self, request: Empty) -> pb.HealthInfo:
        """Tell that the engine answers."""
        return pb.HealthInfo(condition="OK", hostname=socket.gethostname())

    async def SyncAttributeIndexes(
        self, request: pb.SyncAttributeIndexRequest
    ) -> pb.SyncAttributeIndexResponse:
        """Take note of the names that Flows can be searched by."""
        types: dict[str, str] = {}
        for key, number in request.attribute_indexes.items():
            if number not in INDEX_TYPES or not key:
                raise InvalidRequest(f"index {key!r} has the unknown type {number}")
            types[key] = INDEX_TYPES[number]
        if types.items() - self._host.index_types.items():
            await self._host.waves.ask(lambda core: core.store.set_index_types(types))
            self._host.index_types.update(types)
        return pb.SyncAttributeIndexResponse()

    async def StartFlow(self, request: pb.StartFlowRequest) -> pb.StartFlowResponse:
        """Start a run."""
        start = self._start_request(request)
        run_id = await self._host.waves.ask(lambda core: core.start_flow(start))
        return pb.StartFlowResponse(run_id=run_id)

    def _start_request(self, request: pb.StartFlowRequest) -> StartRequest:
        options = request.flow_start_options
        if request.flow_timeout_seconds:
            raise not_part_of_it("a Flow timeout")
        if options.retry_policy.maximum_attempts > 1:
            raise not_part_of_it("a retry policy of a Flow")
        if options.id_reuse_policy not in _ID_REUSE:
            raise InvalidRequest(f"unknown ID reuse policy {options.id_reuse_policy}")
        if options.flow_start_delay_seconds < 0:
            raise InvalidRequest("a start delay must not be negative")
        movement: StepMovement | None = None
        if request.start_step_type:
            movement = read_movement(
                pb.StepMovement(
                    step_type=request.start_step_type,
                    step_input=request.step_input,
                    step_options=request.step_options,
                )
            )
        mode = read_search_mode(options.flow_config_override)
        return StartRequest(
            flow_id=read_name("a Flow ID", request.flow_id),
            flow_type=read_name("a Flow type", request.flow_type),
            movement=movement,
            request_id=request.request_id,
            search_mode=SearchMode.DISABLED if mode is None else mode,
            id_reuse=_ID_REUSE[options.id_reuse_policy],
            accepts_repeats=options.flow_already_started_options.ignore_already_started_error,
            effects=read_effects(options.attributes, (), (), self._host.index_types),
            delay=float(options.flow_start_delay_seconds),
        )

    async def StopFlow(self, request: pb.StopFlowRequest) -> Empty:
        """Close a run at once."""
        status = _STOP_STATUSES.get(request.stop_type)
        if status is None:
            raise InvalidRequest(f"unknown stop type {request.stop_type}")
        reason = request.reason
        if status is RunStatus.FAILED and not reason:
            reason = "a client failed the Flow"
        await self._host.waves.ask(
            lambda core: core.stop_flow(request.flow_id, status, reason, run_id=request.run_id)
        )
        return Empty()

    async def GetFlowSummary(self, request: pb.GetFlowSummaryRequest) -> pb.GetFlowSummaryResponse:
        """Describe a run."""
        run = await self._host.waves.ask(
            lambda core: core.describe(request.flow_id, request.run_id)
        )
        return summary(run)

    async def UpdateFlowConfig(self, request: pb.UpdateFlowConfigRequest) -> Empty:
        """Change how a run is searched for; nothing else of a configuration has an effect here."""
        mode = read_search_mode(request.flow_config)

        def update(core: EngineCore) -> None:
            run = core.describe(request.flow_id, request.run_id)
            core.update_search_mode(
                request.flow_id, run.search_mode if mode is None else mode, run_id=request.run_id
            )

        await self._host.waves.ask(update)
        return Empty()

    async def SkipTimer(self, request: pb.SkipTimerRequest) -> Empty:
        """Let a timer fire now."""
        timer: int | str = request.timer_condition_id
        if not timer:
            if not request.HasField("timer_condition_index"):
                raise InvalidRequest("which timer? Give its condition ID or its index")
            timer = request.timer_condition_index
        await self._host.waves.ask(
            lambda core: core.skip_timer(
                request.flow_id, request.step_execution_id, timer, run_id=request.run_id
            )
        )
        return Empty()

    async def SearchFlows(self, request: pb.SearchFlowsRequest) -> pb.SearchFlowsResponse:
        """Return the runs that match a query, newest first."""
        if request.page_size < 0:
            raise InvalidRequest(f"a page of {request.page_size} runs")
        limit = min(request.page_size or _DEFAULT_PAGE, _LARGEST_PAGE)
        before = _page_start(request.next_page_token)
        try:
            condition = parse_query(request.query, self._host.index_types)
        except SearchQueryError as error:
            raise InvalidRequest(str(error)) from None

        def search(core: EngineCore) -> pb.SearchFlowsResponse:
            runs, following = core.store.search(condition, limit, before)
            entries = [search_entry(run, core.store.indexed_values(run.run_id)) for run in runs]
            token = "" if following is None else str(following)
            return pb.SearchFlowsResponse(flow_runs=entries, next_page_token=token)

        return await self._host.waves.ask(search)

    async def TriggerContinueAsNew(self, request: pb.TriggerContinueAsNewRequest) -> Empty:
        """Do nothing: a history without a limit needs no new run to go on in."""
        await self._host.waves.ask(
            lambda core: core.write(request.flow_id, _NOTHING, run_id=request.run_id)
        )
        return Empty()


_NOTHING = read_effects((), (), (), {})


def _page_start(token: str) -> int | None:
    if not token:
        return None
    if not (token.isascii() and token.isdigit() and len(token) < math.ceil(math.log10(2**62))):
        raise InvalidRequest(f"unknown page token {token[:64]!r}")
    return int(token)
