# twin: generated from src/dex_agents/session/client_port.py by tools/twin; do not edit.
"""The client port: what `AgentSessionClient` and `ui_stream` need from an engine.

The embedded engine's client is one; a client of the `dex` SDK is wrapped into one.
"""

from collections.abc import Sequence
from typing import Protocol

from dex_agents.session.definition import SessionDefinition
from dex_agents.session.flow_values import (
    ActiveStepSearchMode,
    FlowInfo,
    SearchFlowsPage,
    StreamMessage,
    StreamMessagesPage,
)
from dex_agents.session.ports import MapLoad


class ClientPort(Protocol):
    """Start, call, read, search and stop the Flows of one engine."""

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

        With a `request_id`, a second call with the same one returns the run that the first
        started; without, an existing Flow ID raises `dex.FlowAlreadyStartedError`.
        """
        ...

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

        A lock conflict is tried again for `lock_wait_seconds` before it is raised. `loads` names
        single map instances that the handler reads besides what the RPC's table entry loads.

        Raises:
            dex.FlowNotActiveOrNotFoundError: There is no such Flow, or it is closed.
            dex.RpcLockConflictError: A Step held one of the RPC's locks all the time.
            dex.WorkerInvocationError: The handler raised.
        """
        ...

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
        ...

    def list_stream_messages(
        self,
        session: SessionDefinition,
        flow_id: str,
        *,
        page_size: int = 100,
        before_page_token: str = "",
    ) -> StreamMessagesPage:
        """Return the newest retained events first, a page at a time."""
        ...

    def search_flows(
        self, query: str = "", page_size: int = 100, next_page_token: str = ""
    ) -> SearchFlowsPage:
        """Return the Flows that match a query such as `ActiveStepTypes = "AwaitToolApproval"`."""
        ...

    def describe_flow(self, flow_id: str) -> FlowInfo:
        """Return what a Flow's latest run is and whether it still runs."""
        ...

    def stop_flow(self, flow_id: str, *, reason: str = "") -> None:
        """Close a running Flow; what it stored stays readable."""
        ...

    def update_flow_config(
        self, flow_id: str, *, active_step_search_mode: ActiveStepSearchMode
    ) -> None:
        """Change how a running Flow can be searched for."""
        ...
