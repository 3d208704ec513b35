# twin: seam
"""The main function of a Worker child process, on threads."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dex_agents.testing.worker_process import WorkerSurroundings

if TYPE_CHECKING:
    import dex


def run_agent_worker(flows: "Sequence[dex.Flow[Any]]", *, parallel_steps: int = 64) -> None:
    """Serve Flows in a Worker child of `AgentTestStack`, until it is stopped or killed.

    Args:
        flows: The Flows, made with this package.
        parallel_steps: How many model and tool calls may run in this Worker at once.

    Raises:
        RuntimeError: No `AgentTestStack` has started this process.
    """
    # The SDK takes time to load.
    from dex_agents_sync.sdk.worker import serve

    surroundings = WorkerSurroundings()
    serve(
        flows,
        server_address=surroundings.server_address,
        parallel_steps=parallel_steps,
        on_ready=surroundings.mark_ready,
    )
