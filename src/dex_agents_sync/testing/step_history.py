# twin: generated from src/dex_agents/testing/step_history.py by tools/twin; do not edit.
"""Read which Steps of a session completed, from its engine's history."""

from dex_agents_sync.engine.embedded.client import EmbeddedClient
from dex_agents.testing.history_values import StepHistoryEntry, step_entries


def read_step_history(engine: EmbeddedClient | str, flow_id: str) -> list[StepHistoryEntry]:
    """Return the finished Step methods of a session, oldest first.

    Args:
        engine: The embedded engine's client, or the address of an engine as `host:port`.
        flow_id: The session.

    Raises:
        dex.FlowNotFoundError: There is no such session.
    """
    if not isinstance(engine, str):
        return step_entries(engine.read_history(flow_id))
    # The SDK takes time to load, and the embedded engine does without it.
    from dex_agents_sync.sdk.history import read_history

    return [
        StepHistoryEntry(
            event_type=line.event_type,
            step_type=line.step_type,
            step_execution_id=line.step_execution_id,
            final_attempt=line.final_attempt,
            detail=line.detail,
        )
        for line in read_history(engine, flow_id)
    ]
