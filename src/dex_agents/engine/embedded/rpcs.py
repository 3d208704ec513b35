# twin: shared
"""Run an RPC inside the engine's loop: its handler is short and reads what it loads."""

import logging
from collections.abc import Sequence

from dex_agents.engine.core import EngineCore
from dex_agents.engine.embedded.failures import failure_of
from dex_agents.engine.embedded.mount import SessionMount
from dex_agents.engine.embedded.sdk_errors import handler_error
from dex_agents.engine.kernel.values import text_value
from dex_agents.engine.refusals import InvalidRequest
from dex_agents.engine.requests import RpcCall
from dex_agents.engine.store.streams import StreamKey
from dex_agents.session.definition import RpcDefinition
from dex_agents.session.ports import MapLoad
from dex_agents.session.schema import AGENT_EVENTS

logger = logging.getLogger("dex_agents.engine")


def run_rpc(
    mount: SessionMount,
    rpc: RpcDefinition,
    flow_id: str,
    rpc_input: str | None,
    loads: Sequence[MapLoad],
    core: EngineCore,
) -> str:
    """Run one RPC and return its output text.

    Raises:
        RequestRefused: The engine refuses it; see `EngineCore.begin_rpc` and `finish_rpc`.
        dex.WorkerInvocationError: The handler raised.
    """
    call = core.begin_rpc(mount.rpc_request(rpc, flow_id, loads))
    flow_type = call.state.run.flow_type
    if flow_type != mount.session.flow_type:
        core.abandon_rpc(call)
        raise InvalidRequest(
            f"session {flow_id!r} is one of {flow_type!r}, not of {mount.session.flow_type!r}; use "
            "the client of its own agent"
        )
    io = mount.rpc_io(call, core.now)
    try:
        result = rpc.handler(mount.session, io, rpc_input)
        response = mount.rpc_response(io, result)
    except Exception as error:  # the handler's error is the caller's answer
        core.abandon_rpc(call)
        logger.exception("RPC %s of %s failed", rpc.name, flow_id)
        failure = failure_of(error)
        raise handler_error(failure.detail, failure.error_type, rpc.name, flow_id) from error
    core.finish_rpc(call, response)
    _append_events(mount, core, call, result.events)
    return result.output


def _append_events(
    mount: SessionMount, core: EngineCore, call: RpcCall, events: tuple[str, ...]
) -> None:
    session = mount.session
    key = StreamKey(session.flow_type, AGENT_EVENTS.name, call.request.flow_id)
    for event in events:
        source = f"rpc/{call.request.rpc_name}"
        core.append_event(
            key, source, text_value(event), session.options.event_stream_capacity_bytes
        )
