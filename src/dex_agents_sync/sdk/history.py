# twin: generated from src/dex_agents/sdk/history.py by tools/twin; do not edit.
"""Read the Step history of a Flow from an engine in another process; for the testing kit."""

import grpc

from dex_agents_sync._seam.sdk import call_engine
from dex_agents.sdk.compat import (
    GET_HISTORY_EVENTS,
    HistoryLine,
    history_error,
    history_page,
    history_request,
)


def read_history(server_address: str, flow_id: str) -> list[HistoryLine]:
    """Return the finished Step methods of a Flow's latest run, oldest first.

    Raises:
        dex.FlowNotFoundError: There is no such Flow.
        dex.DexServiceError: The engine does not answer, or keeps no history.
    """
    lines: list[HistoryLine] = []
    token = b""
    while True:
        request = history_request(flow_id, token)
        try:
            answer = call_engine(server_address, GET_HISTORY_EVENTS, request)
        except grpc.RpcError as error:
            raise history_error(error, flow_id) from error
        page = history_page(answer)
        lines += page.lines
        token = page.next_page_token
        if not token:
            return lines
