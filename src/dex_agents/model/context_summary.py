# twin: shared
"""The summary that stands for the oldest messages of a session."""

from dataclasses import dataclass
from datetime import datetime

from dex_agents.model.wire import WireValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSummary(WireValue):
    """What a model reads instead of the messages up to `last_sequence`.

    Attributes:
        generation: How many summaries the session has had, this one included.
        first_sequence: The first summarized message; always 1.
        last_sequence: The last summarized message.
        text: The summary.
        created_at: When it was stored.
    """

    generation: int
    first_sequence: int
    last_sequence: int
    text: str
    created_at: datetime
