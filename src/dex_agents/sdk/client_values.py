# twin: shared
"""Values of the SDK's Clients as the values that every engine answers with."""

from typing import Final

import dex

from dex_agents.session.flow_values import (
    ActiveStepSearchMode,
    FlowInfo,
    FlowStatus,
    StreamMessage,
)

_STATUSES: Final = {
    dex.FlowStatus.RUNNING: FlowStatus.RUNNING,
    dex.FlowStatus.COMPLETED: FlowStatus.COMPLETED,
    dex.FlowStatus.FAILED: FlowStatus.FAILED,
    dex.FlowStatus.CANCELED: FlowStatus.CANCELED,
    dex.FlowStatus.TERMINATED: FlowStatus.TERMINATED,
    # The server's own last resort; a session has no Flow timeout.
    dex.FlowStatus.SERVER_SIDE_TIMEOUT_INTERNAL_ONLY: FlowStatus.FAILED,
    # The session goes on in the run that followed.
    dex.FlowStatus.CONTINUED_AS_NEW: FlowStatus.RUNNING,
}


def search_mode(mode: ActiveStepSearchMode) -> dex.ActiveStepSearchMode:
    """Return the SDK's value of a search mode."""
    return dex.ActiveStepSearchMode(mode.value)


def described_flow(info: dex.FlowInfo, *, error: str | None) -> FlowInfo:
    """Return what a description says of a Flow."""
    return FlowInfo(
        flow_id=info.flow_id,
        run_id=info.run_id,
        flow_type=info.flow_type,
        status=_STATUSES[info.status],
        started_at=info.started_at,
        error=error,
    )


def found_flow(entry: dex.SearchFlowEntry) -> FlowInfo:
    """Return what a search says of a Flow."""
    return FlowInfo(
        flow_id=entry.flow_id,
        run_id=entry.run_id,
        flow_type=entry.flow_type,
        status=_STATUSES[entry.status],
        started_at=entry.started_at,
        closed_at=entry.closed_at,
    )


def stream_message(message: dex.StreamMessage[str]) -> StreamMessage:
    """Return an event as every engine has it."""
    return StreamMessage(
        value=message.value,
        resume_token=message.resume_token,
        created_at=message.created_time,
        source=message.source,
    )
