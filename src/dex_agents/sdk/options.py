# twin: shared
"""The SDK's options as sessions need them: Workers that fetch work and run tools in parallel."""

from datetime import timedelta
from typing import Final

import dex

from dex_agents.sdk.compat import pull_client_options, pull_worker_options

DEFAULT_SERVER_ADDRESS: Final = "localhost:8801"
DEFAULT_PARALLEL_STEPS: Final = 64
DEFAULT_RPC_SLOTS: Final = 4
DEFAULT_DRAIN: Final = timedelta(seconds=30)


def worker_options(
    server_address: str = DEFAULT_SERVER_ADDRESS,
    *,
    parallel_steps: int = DEFAULT_PARALLEL_STEPS,
    rpc_slots: int = DEFAULT_RPC_SLOTS,
    drain: timedelta = DEFAULT_DRAIN,
    credential: dex.Credential | None = None,
) -> dex.WorkerOptions:
    """Return the options of a Worker that serves sessions.

    The SDK's own defaults wait for an engine that dials the Worker, and run as many Steps at once
    as there are processors: the tool calls of one model response would take turns.

    Args:
        server_address: The engine, as `host:port`.
        parallel_steps: How many model and tool calls of all sessions may run in this Worker at
            once; at least the largest batch of tool calls that a model asks for.
        rpc_slots: What is kept free besides for messages, decisions and snapshots.
        drain: How long a Worker that stops lets its running calls finish.
        credential: Proves to the engine who this is.

    Raises:
        ValueError: A number is less than one, or the time is negative.
    """
    for name, number in (("parallel_steps", parallel_steps), ("rpc_slots", rpc_slots)):
        if number < 1:
            raise ValueError(f"{name} must be at least 1, got {number}")
    return pull_worker_options(
        server_address,
        task_slots=parallel_steps + rpc_slots,
        reserved_rpc_slots=rpc_slots,
        drain=drain,
        credential=credential,
    )


def client_options(
    server_address: str = DEFAULT_SERVER_ADDRESS, *, credential: dex.Credential | None = None
) -> dex.ClientOptions:
    """Return the options of a Client whose sessions are served by such Workers.

    Args:
        server_address: The engine, as `host:port`.
        credential: Proves to the engine who this is.
    """
    return pull_client_options(server_address, credential=credential)
