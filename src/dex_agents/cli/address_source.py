# twin: shared
"""Read Flows from an engine at an address, through the protocol of the `dex` SDK."""

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

import grpc

from dex_agents.cli import protocol_reads
from dex_agents.cli.lines import FlowLine, HistoryEntry
from dex_agents.errors import DexAgentsError

_PAGE = 1000
# Long enough for an engine with much to do; a wrong address answers, or does not, at once.
_CALL_SECONDS = 30.0


class AddressSource:
    """An engine at `host:port`: the local engine, or a Dex Server."""

    def __init__(self, address: str) -> None:
        """Open a channel; nothing is sent before the first question."""
        self._address = address
        self._channel = grpc.insecure_channel(address)

    def __enter__(self) -> Self:
        """Return the open channel."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self._channel.close()

    def flows(self, query: str, limit: int) -> Iterable[FlowLine]:
        """Return the newest runs that match a query."""
        token, left = "", limit
        while left > 0:
            request = protocol_reads.search_request(query, min(left, _PAGE), token)
            found, token = protocol_reads.found_flows(
                self._call(protocol_reads.SEARCH_FLOWS, request)
            )
            yield from found[:left]
            left -= len(found)
            if not token or not found:
                return

    def history(self, flow_id: str, run_id: str) -> Iterable[HistoryEntry]:
        """Return the history of a Flow's latest run or of the one named, oldest first."""
        return list(self._history(flow_id, run_id))

    def _history(self, flow_id: str, run_id: str) -> Iterator[HistoryEntry]:
        token = b""
        while True:
            request = protocol_reads.history_request(flow_id, run_id, _PAGE, token)
            page, token = protocol_reads.history_entries(
                self._call(protocol_reads.GET_HISTORY_EVENTS, request)
            )
            yield from page
            if not token:
                return

    def _call(self, path: str, request: bytes) -> bytes:
        # Without serializers it takes and gives bytes.
        method: grpc.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(path)
        try:
            return method(request, timeout=_CALL_SECONDS)
        except grpc.RpcError as error:
            raise self._error(error) from None

    def _error(self, error: grpc.RpcError) -> DexAgentsError:
        # The classes of calls that failed have these; their common base does not.
        code = getattr(error, "code", lambda: None)()
        detail = getattr(error, "details", lambda: None)() or str(error)
        if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
            return DexAgentsError(
                f"no engine answers at {self._address}; start one with dex-agents engine, or name "
                "another with --address, or a file with --db"
            )
        return DexAgentsError(f"{self._address}: {detail}")
