# twin: source
"""Read which Steps of a session completed, from its engine's history."""

from dex_agents.engine.embedded.client import EmbeddedClient
from dex_agents.testing.history_values import StepHistoryEntry, step_entries


async def read_step_history(client: EmbeddedClient, flow_id: str) -> list[StepHistoryEntry]:
    """Return the finished Step methods of a session, oldest first.

    Raises:
        dex.FlowNotFoundError: There is no such session.
    """
    return step_entries(await client.read_history(flow_id))
