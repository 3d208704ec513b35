# twin: shared
"""Values that every engine's client answers with; field names are the `dex` SDK's."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class FlowStatus(StrEnum):
    """The lifecycle of a Flow run."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    TERMINATED = "terminated"


class ActiveStepSearchMode(StrEnum):
    """Which active Steps of a Flow a search finds: all, those that wait, or none."""

    ALL = "all"
    WITH_WAIT_FOR = "with_wait_for"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowInfo:
    """What a Flow's latest run is. `error` holds the reason of a failed run."""

    flow_id: str
    run_id: str
    flow_type: str
    status: FlowStatus
    started_at: datetime
    closed_at: datetime | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class SearchFlowsPage:
    """One page of a search, newest first; `next_page_token` is empty on the last page."""

    flows: tuple[FlowInfo, ...]
    next_page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamMessage:
    """One event of a Stream and the token that continues after it."""

    value: str
    resume_token: str
    created_at: datetime
    source: str


@dataclass(frozen=True, slots=True)
class StreamMessagesPage:
    """Events of a Stream, newest first; `next_page_token` is empty when there is nothing older."""

    messages: tuple[StreamMessage, ...] = field(default=())
    next_page_token: str = ""
