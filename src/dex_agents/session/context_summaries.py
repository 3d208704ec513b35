# twin: shared
"""What of a session's messages is summarized; a model call needs only those after it."""

from dex_agents.session.ports import StepIO
from dex_agents.session.schema import CONTEXT_SUMMARY


def summarized_through(io: StepIO) -> int:
    """Return the sequence of the last summarized message, 0 without a summary.

    Raises:
        StoredValueError: The stored summary cannot be read.
    """
    summary = CONTEXT_SUMMARY.get(io)
    return 0 if summary is None else summary.last_sequence
