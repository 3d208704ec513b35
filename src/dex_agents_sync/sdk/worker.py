# twin: generated from src/dex_agents/sdk/worker.py by tools/twin; do not edit.
"""Run a Worker of the SDK for sessions, from its start to a clean end."""

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import dex

from dex_agents_sync._seam.sdk import OTHER_PACKAGE, SdkWorker, new_registry, run_worker
from dex_agents.sdk.blob_cache import opened_blob_cache
from dex_agents_sync.sdk.flow import AgentSessionFlow
from dex_agents.sdk.options import (
    DEFAULT_DRAIN,
    DEFAULT_PARALLEL_STEPS,
    DEFAULT_RPC_SLOTS,
    DEFAULT_SERVER_ADDRESS,
    worker_options,
)
from dex_agents.sdk.stop import WorkerStop
from dex_agents.session.definition import SessionDefinition

_logger: Final = logging.getLogger("dex_agents.sdk")


def serve(
    flows: Sequence[dex.Flow[Any]],
    *,
    server_address: str = DEFAULT_SERVER_ADDRESS,
    parallel_steps: int = DEFAULT_PARALLEL_STEPS,
    rpc_slots: int = DEFAULT_RPC_SLOTS,
    drain: timedelta = DEFAULT_DRAIN,
    blob_cache_folder: str | Path | None = None,
    credential: dex.Credential | None = None,
    stop: WorkerStop | None = None,
    on_ready: Callable[[], None] | None = None,
    handles_signals: bool = True,
) -> None:
    """Serve the sessions of these Flows until SIGTERM, SIGINT or a stop; then drain and return.

    A second signal ends the process at once; what then still runs counts as interrupted.

    Args:
        flows: One `AgentSessionFlow` per agent, and other Flows of the application, if any.
        server_address: The engine, as `host:port`.
        parallel_steps: How many model and tool calls of all sessions may run here at once.
        rpc_slots: What is kept free besides for messages, decisions and snapshots.
        drain: How long running calls may finish after the request to stop.
        blob_cache_folder: Where values that a Dex Server stores apart are kept, one folder per
            process; a temporary one unless given.
        credential: Proves to the engine who this is.
        stop: Ends it from elsewhere.
        on_ready: Called once when the engine has accepted this Worker.
        handles_signals: Whether the two signals end it; they do in the main thread only.

    Raises:
        RuntimeError: The engine cannot be reached, or refused this Worker.
        TypeError: A Flow is made with the other package.
        ValueError: A Flow is one that only talks to sessions, or there is none.
    """
    checked = _checked_flows(flows)
    names = ", ".join(flow.get_flow_type() for flow in checked)
    options = worker_options(
        server_address,
        parallel_steps=parallel_steps,
        rpc_slots=rpc_slots,
        drain=drain,
        credential=credential,
    )

    def ready() -> None:
        _logger.info("serving %s for the engine at %s", names, server_address)
        if on_ready is not None:
            on_ready()

    with opened_blob_cache(blob_cache_folder) as cache:
        worker = SdkWorker(new_registry(checked), cache, options)
        try:
            run_worker(
                worker, stop or WorkerStop(), on_ready=ready, handles_signals=handles_signals
            )
        except RuntimeError as error:
            error.add_note(
                f"This Worker serves {names} for the engine at {server_address}; is one running "
                "there? Start one with: dex-agents engine --db agents.db "
                f"--address {server_address}"
            )
            raise
    _logger.info("stopped serving %s", names)


def _checked_flows(flows: Sequence[dex.Flow[Any]]) -> list[dex.Flow[Any]]:
    if not flows:
        raise ValueError("serve needs at least one Flow")
    for flow in flows:
        if isinstance(flow, AgentSessionFlow):
            if flow.is_remote:
                raise ValueError(
                    f"AgentSessionFlow.remote({flow.get_flow_type()!r}) only talks to sessions; "
                    "serve the AgentSessionFlow that is made with the agent's runner"
                )
        elif isinstance(getattr(flow, "session", None), SessionDefinition):
            raise TypeError(
                f"the Flow {flow.get_flow_type()!r} is made with {OTHER_PACKAGE}; serve it with "
                f"{OTHER_PACKAGE}.sdk.serve"
            )
    return list(flows)
