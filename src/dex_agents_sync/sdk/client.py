# twin: generated from src/dex_agents/sdk/client.py by tools/twin; do not edit.
"""The client port over a Client of the SDK."""

import math
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import dex
from grpc import StatusCode

from dex_agents_sync._seam.concurrency import sleep
from dex_agents_sync._seam.sdk import OTHER_PACKAGE, SdkClient
from dex_agents.errors import InvalidAgentEventResumeTokenError
from dex_agents.sdk.client_values import (
    described_flow,
    found_flow,
    search_mode,
    stream_message,
)
from dex_agents.sdk.compat import flow_config
from dex_agents_sync.sdk.flow import AgentSessionFlow
from dex_agents.sdk.translate import instance_loads
from dex_agents.session.definition import SessionDefinition
from dex_agents.session.flow_values import (
    ActiveStepSearchMode,
    FlowInfo,
    SearchFlowsPage,
    StreamMessage,
    StreamMessagesPage,
)
from dex_agents.session.ports import MapLoad

# An RPC that met a held lock tries again after these pauses; Steps hold locks for a decision only.
_LOCK_RETRY_SECONDS: Final = (0.01, 0.02, 0.05, 0.1)

# The protocol counts waits in whole seconds, and servers end one after a minute at the latest.
_LONGEST_POLL_SECONDS: Final = 60

_LARGEST_PAGE: Final = 1000

_NO_STREAMS: Final = (StatusCode.FAILED_PRECONDITION, StatusCode.UNIMPLEMENTED)
"""What a Dex Server answers whose Stream store is switched off."""


class SdkClientPort:
    """Start, call, read, search and stop the sessions of one Flow through the SDK's Client.

    `AgentSessionClient(client, flow)` makes one; the Client stays the caller's to close.
    """

    def __init__(self, client: SdkClient, flow: AgentSessionFlow) -> None:
        """Speak through a Client whose Registry holds this very Flow object."""
        self._client = client
        self._flow = flow

    @property
    def sdk_client(self) -> SdkClient:
        """Return the SDK's Client."""
        return self._client

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
        options = dex.StartFlowOptions(
            config_override=flow_config(self._client.options, search_mode(active_step_search_mode)),
            request_id=request_id,
            ignore_already_started=request_id is not None,
        )
        flow = self._flow_of(session)
        return self._client.start_flow(flow, flow_id, start_input, options)

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
        """Run an RPC handler of a Flow, in one of its Workers, and return its output text.

        Raises:
            dex.FlowNotActiveOrNotFoundError: There is no such Flow, or it is closed.
            dex.RpcLockConflictError: A Step held one of the RPC's locks all the time.
            dex.WorkerInvocationError: The handler raised, or there is no Worker.
        """
        method = self._flow_of(session).rpc_method(rpc_name)
        options = dex.RPCInvokeOptions(load_attribute_map_instances=instance_loads(loads))
        give_up_at = time.monotonic() + lock_wait_seconds
        tries = 0
        while True:
            try:
                return self._client.invoke_rpc(method, flow_id, rpc_input, options=options)
            except dex.RpcLockConflictError:
                if time.monotonic() >= give_up_at:
                    raise
            sleep(_LOCK_RETRY_SECONDS[min(tries, len(_LOCK_RETRY_SECONDS) - 1)])
            tries += 1

    def read_stream(
        self,
        session: SessionDefinition,
        flow_id: str,
        *,
        resume_token: str = "",
        wait_seconds: float = 0.0,
    ) -> StreamMessage | None:
        """Return the first event after `resume_token`, or `None` when none came in time.

        A wait is rounded up to whole seconds.

        Raises:
            InvalidAgentEventResumeTokenError: The token is not one of this Stream.
        """
        if wait_seconds <= 0 and self._is_at_end(session, flow_id, resume_token):
            return None
        left = max(1, math.ceil(wait_seconds))
        while left > 0:
            seconds = min(left, _LONGEST_POLL_SECONDS)
            try:
                return stream_message(
                    self._client.read_stream(
                        flow_id,
                        self._flow_of(session).events,
                        resume_token,
                        timedelta(seconds=seconds),
                    )
                )
            except dex.LongPollTimeoutError:
                left -= seconds
            except dex.DexServiceError as error:
                if error.code in _NO_STREAMS:
                    sleep(wait_seconds)
                    return None
                raise _token_error(error, resume_token) from None
        return None

    def _is_at_end(self, session: SessionDefinition, flow_id: str, resume_token: str) -> bool:
        """Tell whether a look without waiting would find nothing.

        The protocol has no such look: its wait of zero means a minute, and one second would hold
        up every page that opens its event stream.
        """
        newest = self.list_stream_messages(session, flow_id, page_size=1)
        if not newest.messages:
            # A token has still to be checked.
            return not resume_token
        return newest.messages[0].resume_token == resume_token

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
        events = self._flow_of(session).events
        try:
            page = self._client.list_stream_messages(
                flow_id, events, _checked_page(page_size), before_page_token
            )
        except dex.DexServiceError as error:
            if error.code in _NO_STREAMS:
                return StreamMessagesPage()
            raise _token_error(error, before_page_token) from None
        messages = tuple(stream_message(message) for message in page.messages)
        return StreamMessagesPage(messages, page.next_page_token)

    def search_flows(
        self, query: str = "", page_size: int = 100, next_page_token: str = ""
    ) -> SearchFlowsPage:
        """Return the Flows of all types that match a query, newest first.

        Raises:
            dex.DexServiceError: The query or the token cannot be read; the text says where.
        """
        page = self._client.search_flows(query, _checked_page(page_size), next_page_token)
        return SearchFlowsPage(tuple(found_flow(one) for one in page.flows), page.next_page_token)

    def describe_flow(self, flow_id: str) -> FlowInfo:
        """Return what a Flow's latest run is; when it was closed is known to a search only.

        Raises:
            dex.FlowNotFoundError: There is no such Flow.
        """
        info = self._client.describe_flow(flow_id)
        if info.status is not dex.FlowStatus.FAILED:
            return described_flow(info, error=None)
        result = self._client.wait_for_flow(flow_id, timedelta(seconds=1))
        return described_flow(info, error=result.error_message)

    def stop_flow(self, flow_id: str, *, reason: str = "") -> None:
        """Close a running Flow; what it stored stays readable.

        Raises:
            dex.FlowNotActiveOrNotFoundError: There is no such Flow, or it is closed.
        """
        self._client.stop_flow(flow_id, dex.StopFlowOptions(reason=reason or None))

    def update_flow_config(
        self, flow_id: str, *, active_step_search_mode: ActiveStepSearchMode
    ) -> None:
        """Change how a running Flow can be searched for.

        Raises:
            dex.FlowNotActiveOrNotFoundError: There is no such Flow, or it is closed.
        """
        mode = search_mode(active_step_search_mode)
        self._client.update_flow_config(flow_id, dex.FlowConfig(active_step_search_mode=mode))

    def _flow_of(self, session: SessionDefinition) -> AgentSessionFlow:
        if session is not self._flow.session:
            raise ValueError(
                f"this client port talks to {self._flow.get_flow_type()!r} sessions; for those of "
                f"{session.flow_type!r} make AgentSessionClient(client, flow) with their Flow"
            )
        return self._flow


def _token_error(error: dex.DexServiceError, token: str) -> Exception:
    if token and error.code is StatusCode.INVALID_ARGUMENT:
        return InvalidAgentEventResumeTokenError(error.detail)
    return error


def _checked_page(page_size: int) -> int:
    if not 1 <= page_size <= _LARGEST_PAGE:
        raise ValueError(f"page_size must be from 1 to {_LARGEST_PAGE}, got {page_size}")
    return page_size


def sdk_client_port(client: object, flow: object) -> SdkClientPort:
    """Return the port for a Client of the SDK and the Flow of a session.

    Raises:
        TypeError: They are not what this package takes.
    """
    wanted = SdkClient.__name__
    if not isinstance(client, SdkClient):
        found = type(client).__name__
        raise TypeError(
            f"{AgentSessionFlow.__module__.partition('.')[0]} needs a dex.{wanted}, not a "
            f"dex.{found}; for dex.{found}, import AgentSessionClient and AgentSessionFlow from "
            f"{OTHER_PACKAGE} instead"
        )
    if not isinstance(flow, AgentSessionFlow):
        raise TypeError(
            f"a dex.{wanted} needs the AgentSessionFlow of this package that its Registry holds, "
            f"not {type(flow).__module__}.{type(flow).__qualname__}; make one with "
            "AgentSessionFlow(...), AgentSessionFlow.of(session) or AgentSessionFlow.remote(name)"
        )
    return SdkClientPort(client, flow)
