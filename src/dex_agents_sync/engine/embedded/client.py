# twin: generated from src/dex_agents/engine/embedded/client.py by tools/twin; do not edit.
"""The embedded engine's client: the client port, without a wire."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from dex_agents_sync._seam.concurrency import Event, sleep
from dex_agents.engine.core import EngineCore
from dex_agents_sync.engine.embedded.loop import EngineLoop
from dex_agents.engine.embedded.mount import SessionMount, aware_time
from dex_agents.engine.embedded.rpcs import run_rpc
from dex_agents.engine.embedded.sdk_errors import sdk_error
from dex_agents.engine.embedded.tokens import decode_token, encode_token
from dex_agents.engine.kernel.state import RunRecord, RunStatus, SearchMode
from dex_agents.engine.kernel.transition import HistoryEvent
from dex_agents.engine.kernel.values import value_text
from dex_agents.engine.refusals import InvalidRequest, LocksTaken, RequestRefused
from dex_agents.engine.requests import StartRequest
from dex_agents.engine.store.search import SearchQueryError, parse_query
from dex_agents.engine.store.streams import StreamKey, StreamRow
from dex_agents.session.definition import SessionDefinition
from dex_agents.session.flow_values import (
    ActiveStepSearchMode,
    FlowInfo,
    FlowStatus,
    SearchFlowsPage,
    StreamMessage,
    StreamMessagesPage,
)
from dex_agents.session.ports import MapLoad
from dex_agents.session.schema import AGENT_EVENTS

T = TypeVar("T")

# An RPC that met a held lock tries again at these intervals; Steps hold locks for a decision only.
_LOCK_RETRY_SECONDS = 0.005
_LARGEST_PAGE = 1000


class HasLoop(Protocol):
    """An engine whose loop runs once it is started."""

    @property
    def loop(self) -> EngineLoop:
        """The loop; raises `EngineStoppedError` before the start."""
        ...


class EmbeddedClient:
    """Start, call, read, search and stop the sessions of one embedded engine.

    Get it from `EmbeddedEngine.client`; `AgentSessionClient` is the comfortable way to use it.
    """

    def __init__(self, engine: HasLoop) -> None:
        """Speak to an engine."""
        self._engine = engine

    def start_flow(
        self,
        session: SessionDefinition,
        flow_id: str,
        start_input: str,
        *,
        request_id: str | None = None,
        active_step_search_mode: ActiveStepSearchMode = ActiveStepSearchMode.DISABLED,
    ) -> str:
        """Start a Flow and return its run ID.

        Raises:
            dex.FlowAlreadyStartedError: The Flow ID is taken by another request.
        """
        request = StartRequest(
            flow_id=flow_id,
            flow_type=session.flow_type,
            movement=SessionMount(session).start_movement(start_input),
            request_id=request_id or "",
            search_mode=SearchMode(active_step_search_mode.value),
        )
        return self._ask("start_flow", flow_id, lambda core: core.start_flow(request))

    def invoke_rpc(
        self,
        session: SessionDefinition,
        rpc_name: str,
        flow_id: str,
        rpc_input: str | None = None,
        *,
        lock_wait_seconds: float = 0.0,
        loads: Sequence[MapLoad] = (),
    ) -> str:
        """Run an RPC handler of a Flow and return its output text.

        Raises:
            dex.FlowNotActiveOrNotFoundError: There is no such Flow, or it is closed.
            dex.RpcLockConflictError: A Step held one of the RPC's locks all the time.
            dex.WorkerInvocationError: The handler raised.
        """
        mount = SessionMount(session)
        rpc = session.rpcs[rpc_name]
        work = partial(run_rpc, mount, rpc, flow_id, rpc_input, loads)
        give_up_at = time.monotonic() + lock_wait_seconds
        while True:
            try:
                return self._engine.loop.request(work)
            except LocksTaken as refusal:
                if time.monotonic() >= give_up_at:
                    raise sdk_error(refusal, "invoke_rpc", flow_id) from None
            except RequestRefused as refusal:
                raise sdk_error(refusal, "invoke_rpc", flow_id) from None
            sleep(_LOCK_RETRY_SECONDS)

    def read_stream(
        self,
        session: SessionDefinition,
        flow_id: str,
        *,
        resume_token: str = "",
        wait_seconds: float = 0.0,
    ) -> StreamMessage | None:
        """Return the first event after `resume_token`, or `None` when none came in time.

        Raises:
            InvalidAgentEventResumeTokenError: The token is not one of this Stream.
        """
        key = _stream_key(session, flow_id)
        after = decode_token(key, resume_token)
        give_up_at = time.monotonic() + wait_seconds
        while True:
            watcher = Event()
            row = self._engine.loop.request(partial(self._next_event, key, after, watcher))
            if row is not None:
                return _stream_message(key, row)
            try:
                if not watcher.wait(max(0.0, give_up_at - time.monotonic())):
                    return None
            finally:
                # Also when the reader goes away while it waits, as browsers do.
                if not watcher.is_set():
                    self._engine.loop.post(partial(self._forget, key, watcher))

    def _next_event(
        self, key: StreamKey, after: int, watcher: Event, core: EngineCore
    ) -> StreamRow | None:
        row = core.store.streams.after(key, after)
        if row is None:
            self._engine.loop.watch(key, watcher)
        return row

    def _forget(self, key: StreamKey, watcher: Event, core: EngineCore) -> None:
        self._engine.loop.unwatch(key, watcher)

    def list_stream_messages(
        self,
        session: SessionDefinition,
        flow_id: str,
        *,
        page_size: int = 100,
        before_page_token: str = "",
    ) -> StreamMessagesPage:
        """Return the newest retained events first, a page at a time.

        Raises:
            InvalidAgentEventResumeTokenError: The token is not one of this Stream.
        """
        key = _stream_key(session, flow_id)
        before = decode_token(key, before_page_token) if before_page_token else None
        limit = _checked_page(page_size)
        rows = self._engine.loop.request(
            lambda core: core.store.streams.before(key, before, limit + 1)
        )
        messages = tuple(_stream_message(key, row) for row in rows[:limit])
        token = messages[-1].resume_token if len(rows) > limit else ""
        return StreamMessagesPage(messages, token)

    def search_flows(
        self, query: str = "", page_size: int = 100, next_page_token: str = ""
    ) -> SearchFlowsPage:
        """Return the Flows that match a query, newest first.

        Args:
            query: Such as `ActiveStepTypes = "AwaitToolApproval" AND FlowType = "SupportAgent"`;
                fields are ActiveStepTypes, FlowId, RunId, FlowType, ExecutionStatus, StartTime and
                CloseTime; an empty query matches all.
            page_size: At most 1,000.
            next_page_token: From the page before.

        Raises:
            dex.DexServiceError: The query or the token cannot be read; the text says where.
        """
        limit = _checked_page(page_size)
        try:
            condition = parse_query(query)
            before = int(next_page_token) if next_page_token else None
        except SearchQueryError as error:
            raise sdk_error(InvalidRequest(str(error)), "search_flows", None) from None
        except ValueError:
            refusal = InvalidRequest(f"unknown page token {next_page_token!r}")
            raise sdk_error(refusal, "search_flows", None) from None
        found, next_run = self._engine.loop.request(
            lambda core: core.store.search(condition, limit, before)
        )
        token = "" if next_run is None else str(next_run)
        return SearchFlowsPage(tuple(_flow_info(record) for record in found), token)

    def describe_flow(self, flow_id: str) -> FlowInfo:
        """Return what a Flow's latest run is.

        Raises:
            dex.FlowNotFoundError: There is no such Flow.
        """
        record = self._ask("describe_flow", flow_id, lambda core: core.describe(flow_id))
        return _flow_info(record)

    def stop_flow(self, flow_id: str, *, reason: str = "") -> None:
        """Close a running Flow; what it stored stays readable.

        Raises:
            dex.FlowNotActiveOrNotFoundError: There is no such Flow, or it is closed.
        """
        self._ask(
            "stop_flow", flow_id, lambda core: core.stop_flow(flow_id, RunStatus.CANCELED, reason)
        )

    def update_flow_config(
        self, flow_id: str, *, active_step_search_mode: ActiveStepSearchMode
    ) -> None:
        """Change how a running Flow can be searched for.

        Raises:
            dex.FlowNotActiveOrNotFoundError: There is no such Flow, or it is closed.
        """
        mode = SearchMode(active_step_search_mode.value)
        self._ask(
            "update_flow_config", flow_id, lambda core: core.update_search_mode(flow_id, mode)
        )

    def skip_timer(self, flow_id: str, step_execution_id: str, index: int = 0) -> None:
        """Let a timer that a Step waits for fire now.

        Raises:
            dex.FlowNotActiveOrNotFoundError: There is no such Flow, or it is closed.
            dex.DexServiceError: The Step does not wait for such a timer.
        """
        self._ask(
            "skip_timer", flow_id, lambda core: core.skip_timer(flow_id, step_execution_id, index)
        )

    def read_history(self, flow_id: str) -> list[HistoryEvent]:
        """Return the retained history of a Flow's latest run, oldest first.

        Raises:
            dex.FlowNotFoundError: There is no such Flow.
        """
        return self._ask(
            "describe_flow",
            flow_id,
            lambda core: core.store.read_history(core.describe(flow_id).run_id),
        )

    def _ask(self, operation: str, flow_id: str, work: Callable[[EngineCore], T]) -> T:
        try:
            return self._engine.loop.request(work)
        except RequestRefused as refusal:
            raise sdk_error(refusal, operation, flow_id) from None


def _stream_key(session: SessionDefinition, flow_id: str) -> StreamKey:
    return StreamKey(session.flow_type, AGENT_EVENTS.name, flow_id)


def _stream_message(key: StreamKey, row: StreamRow) -> StreamMessage:
    return StreamMessage(
        value=value_text(row.value) or "",
        resume_token=encode_token(key, row.message_id),
        created_at=aware_time(row.created_at),
        source=row.source,
    )


def _flow_info(record: RunRecord) -> FlowInfo:
    return FlowInfo(
        flow_id=record.flow_id,
        run_id=record.run_id,
        flow_type=record.flow_type,
        status=FlowStatus(record.status.value),
        started_at=aware_time(record.started_at),
        closed_at=None if record.closed_at is None else aware_time(record.closed_at),
        error=record.error_message,
    )


def _checked_page(page_size: int) -> int:
    if not 1 <= page_size <= _LARGEST_PAGE:
        raise ValueError(f"page_size must be from 1 to {_LARGEST_PAGE}, got {page_size}")
    return page_size
