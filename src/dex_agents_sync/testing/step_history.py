# twin: generated from src/dex_agents/testing/step_history.py by tools/twin; do not edit.
"""Read which Steps of a session completed, from its engine's history."""

from dex_agents_sync.engine.embedded.client import EmbeddedClient
from dex_agents.testing.history_values import StepHistoryEntry, step_entries


def read_step_history(client: EmbeddedClient, flow_id: str) -> list[StepHistoryEntry]:
    """Return the finished Step methods of a session, oldest first.

    Raises:
        dex.FlowNotFoundError: There is no such session.
    """
    return step_entries(client.read_history(flow_id))
