# twin: shared
"""The messages for the commands that look at Flows; `sdk.compat` says why they are used.

The commands read from any server, so what a message says counts, not who made it.
"""

from collections.abc import Callable
from typing import Final

from dex.dexpb import dex_pb2 as pb
from google.protobuf.timestamp_pb2 import Timestamp

from dex_agents.cli.lines import FlowLine, HistoryEntry
from dex_agents.sdk.compat import GET_HISTORY_EVENTS, failure_detail

__all__ = [
    "GET_HISTORY_EVENTS",
    "SEARCH_FLOWS",
    "found_flows",
    "history_entries",
    "history_request",
    "search_request",
]

SEARCH_FLOWS: Final = "/dex.FlowService/SearchFlows"

_STATUS_PREFIX: Final = "FLOW_STATUS_"


def search_request(query: str, page_size: int, page_token: str) -> bytes:
    """Return a request for one page of a search."""
    return pb.SearchFlowsRequest(
        query=query, page_size=page_size, next_page_token=page_token
    ).SerializeToString()


def found_flows(response: bytes) -> tuple[list[FlowLine], str]:
    """Read the answer to such a request, and the token of the next page."""
    read: Callable[[bytes], pb.SearchFlowsResponse] = pb.SearchFlowsResponse.FromString
    page = read(response)
    return [_flow_line(entry) for entry in page.flow_runs], page.next_page_token


def _flow_line(entry: pb.SearchFlowsResponseEntry) -> FlowLine:
    return FlowLine(
        flow_id=entry.flow_id,
        run_id=entry.run_id,
        flow_type=entry.flow_type,
        status=_status(entry.flow_status),
        started_at=_seconds(entry.start_time),
        closed_at=_seconds(entry.close_time) if entry.HasField("close_time") else None,
    )


def history_request(flow_id: str, run_id: str, page_size: int, page_token: bytes) -> bytes:
    """Return a request for one page of a history; without a run, of the latest one."""
    return pb.GetHistoryEventsRequest(
        flow_id=flow_id,
        run_id=run_id,
        estimate_page_size=page_size,
        next_page_token=page_token,
    ).SerializeToString()


def history_entries(response: bytes) -> tuple[list[HistoryEntry], bytes]:
    """Read the answer to such a request, and the token of the next page."""
    read: Callable[[bytes], pb.GetHistoryEventsResponse] = pb.GetHistoryEventsResponse.FromString
    page = read(response)
    return [_entry(event) for event in page.events], page.next_page_token


def _entry(event: pb.FlowHistoryEvent) -> HistoryEntry:
    kind = event.WhichOneof("payload") or "unknown"
    payload = getattr(event, kind, None)
    time = _seconds(event.event_time)
    if kind == "flow_started_or_continued":
        return HistoryEntry(event_id=event.event_id, time=time, kind="flow_started")
    if kind == "flow_closed":
        status = _status(event.flow_closed.flow_status)
        return HistoryEntry(event_id=event.event_id, time=time, kind=kind, detail=status)
    if kind == "rpc_execution_completed":
        name = event.rpc_execution_completed.rpc_name
        return HistoryEntry(event_id=event.event_id, time=time, kind="rpc_completed", detail=name)
    if not kind.startswith("step_") or payload is None:
        return HistoryEntry(event_id=event.event_id, time=time, kind=kind)
    context = payload.context
    return HistoryEntry(
        event_id=event.event_id,
        time=time,
        kind=kind.removeprefix("step_"),
        step_id=context.step_execution_id,
        source=context.from_step_execution_id,
        attempt=context.final_attempt,
        seconds=round(context.duration.ToMicroseconds() / 1e6, 3),
        detail=failure_detail(payload) if kind.endswith("_failed") else "",
    )


def _status(status: pb.FlowStatus) -> str:
    name: str = pb.FlowStatus.Name(status)
    return name.removeprefix(_STATUS_PREFIX).lower()


def _seconds(time: Timestamp) -> float:
    return time.ToMicroseconds() / 1e6
