# twin: shared
"""What differs between releases of the SDK, and what it does not offer publicly, in one place.

Not public, and why it is used all the same:

- `dex.dexpb.dex_pb2`, the protocol's messages, and the path of `GetHistoryEvents`: the SDK's
  Clients have no method that reads a history, and the testing kit needs one. The commands that
  look at Flows read through `cli.protocol_reads`, which needs no Registry of theirs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Final

import dex
import grpc
from dex.dexpb import dex_pb2 as pb

GET_HISTORY_EVENTS: Final = "/dex.FlowService/GetHistoryEvents"

_STEP_EVENTS: Final = (
    "step_wait_for_completed",
    "step_wait_for_failed",
    "step_execute_completed",
    "step_execute_failed",
)
_HISTORY_PAGE_EVENTS: Final = 1000


def attempt_progress(error: dex.RecoveryErrorInfo) -> str | None:
    """Return how far the failed call got, such as `NOT_STARTED`, where the SDK says so.

    Releases before 1.35 have no such attribute. `None` means "it may have run".
    """
    progress: object = getattr(error, "attempt_progress", None)
    if isinstance(progress, Enum):
        return progress.name
    return progress if isinstance(progress, str) else None


def pull_worker_options(
    server_address: str,
    *,
    task_slots: int,
    reserved_rpc_slots: int,
    drain: timedelta,
    credential: dex.Credential | None,
) -> dex.WorkerOptions:
    """Return the options of a Worker that fetches its work.

    Releases before 1.25 listen for work unless they are told to pull.
    """
    pull = dex.PullWorkerOptions(
        max_concurrent_tasks=task_slots,
        reserved_rpc_tasks=reserved_rpc_slots,
        stop_drain_timeout=drain,
    )
    return dex.WorkerOptions(server_address=server_address, pull=pull, credential=credential)


def pull_client_options(
    server_address: str, *, credential: dex.Credential | None
) -> dex.ClientOptions:
    """Return the options of a Client whose Flows are served by Workers that fetch their work."""
    if hasattr(dex, "WorkerTarget"):
        return dex.ClientOptions(
            server_address=server_address,
            worker_target=dex.WorkerTarget(pull=True),
            credential=credential,
        )
    return dex.ClientOptions(server_address=server_address, credential=credential)


def flow_config(options: dex.ClientOptions, mode: dex.ActiveStepSearchMode) -> dex.FlowConfig:
    """Return the configuration that a Flow starts with.

    Without a target of its Client's, it is served by Workers that fetch their work; since 1.25
    there is no other kind, and no target either.
    """
    if hasattr(dex, "WorkerTarget") and options.worker_target is None:
        target = dex.WorkerTarget(pull=True)
        return dex.FlowConfig(active_step_search_mode=mode, worker_target=target)
    return dex.FlowConfig(active_step_search_mode=mode)


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One method of a Step execution that ended: the name of its event, and what it holds."""

    event_type: str
    step_type: str
    step_execution_id: str
    final_attempt: int
    detail: str


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """The Steps' lines of one page of a history; the token is empty on the last page."""

    lines: tuple[HistoryLine, ...]
    next_page_token: bytes


def history_request(flow_id: str, page_token: bytes = b"") -> bytes:
    """Return a request for one page of the history of a Flow's latest run."""
    request = pb.GetHistoryEventsRequest(
        flow_id=flow_id,
        estimate_page_size=_HISTORY_PAGE_EVENTS,
        next_page_token=page_token,
    )
    return request.SerializeToString()


def history_page(response: bytes) -> HistoryPage:
    """Read the answer to such a request."""
    read: Callable[[bytes], pb.GetHistoryEventsResponse] = pb.GetHistoryEventsResponse.FromString
    page = read(response)
    return HistoryPage(tuple(_history_lines(page)), page.next_page_token)


def _history_lines(page: pb.GetHistoryEventsResponse) -> Iterator[HistoryLine]:
    for event in page.events:
        kind = event.WhichOneof("payload")
        if kind not in _STEP_EVENTS:
            continue
        payload = getattr(event, kind)
        context = payload.context
        yield HistoryLine(
            event_type=kind,
            step_type=context.step_type,
            step_execution_id=context.step_execution_id,
            final_attempt=context.final_attempt,
            detail=failure_detail(payload) if kind.endswith("_failed") else "",
        )


def failure_detail(payload: pb.StepExecuteFailedEvent | pb.StepWaitForFailedEvent) -> str:
    """Return the text of a method's failure, as its Worker gave it."""
    failure = payload.output.failure
    details = failure.details
    return details.original_worker_error_detail or details.detail or failure.backend_error


def history_error(error: grpc.RpcError, flow_id: str) -> dex.DexServiceError:
    """Return the SDK's exception for a history that an engine did not give."""
    # The classes of calls that failed have these; their common base does not.
    code: grpc.StatusCode = getattr(error, "code", lambda: grpc.StatusCode.UNKNOWN)()
    detail: str = getattr(error, "details", lambda: "")() or str(error)
    is_missing = code is grpc.StatusCode.NOT_FOUND
    kind = dex.FlowNotFoundError if is_missing else dex.DexServiceError
    status = dex.ErrorSubStatus.FLOW_NOT_EXISTS if is_missing else dex.ErrorSubStatus.UNCATEGORIZED
    return kind(code, status, detail, "read_history", flow_id)
