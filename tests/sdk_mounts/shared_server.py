# twin: shared
"""Run tests that name their sessions `s-1` on a server where other tests did so before."""

import os
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from dex_agents.session.definition import SessionDefinition
from dex_agents.session.flow_values import SearchFlowsPage

SERVER_ADDRESS = os.environ.get("DEX_AGENTS_SERVER", "")
"""The server to use instead of an engine per test."""

# Where a method takes the Flow ID; those that take none are left alone.
_POSITIONS = {
    "describe_flow": 0,
    "invoke_rpc": 1,
    "list_stream_messages": 0,
    "read_stream": 0,
    "start_flow": 1,
    "stop_flow": 0,
    "update_flow_config": 0,
    "wait_for_flow": 0,
}


class PrefixedClient:
    """A Client of the SDK, of either colour, that puts a prefix before every Flow ID."""

    def __init__(self, client: Any) -> None:
        """Wrap a Client."""
        self.flow_prefix = f"t{uuid4().hex[:12]}-"
        self._client = client

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name not in _POSITIONS:
            return found
        method: Callable[..., Any] = found

        def call(*arguments: Any) -> Any:
            changed = list(arguments)
            changed[_POSITIONS[name]] = self.flow_prefix + changed[_POSITIONS[name]]
            return method(*changed)

        return call


def rename_agent(session: SessionDefinition) -> None:
    """Give an agent a name that no other test's Worker serves; it was defined a moment ago."""
    object.__setattr__(session, "flow_type", f"{session.flow_type}-{uuid4().hex[:12]}")


def flow_prefix(client: object) -> str:
    """Return what a Client puts before Flow IDs."""
    return client.flow_prefix if isinstance(client, PrefixedClient) else ""


def own_flows(page: SearchFlowsPage, prefix: str) -> SearchFlowsPage:
    """Return what a test has started, by the names that it gave."""
    if not prefix:
        return page
    own = [flow for flow in page.flows if flow.flow_id.startswith(prefix)]
    for flow in own:
        object.__setattr__(flow, "flow_id", flow.flow_id.removeprefix(prefix))
    return SearchFlowsPage(tuple(own), page.next_page_token)
