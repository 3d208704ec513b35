# twin: generated from src/dex_agents/testing/waiting.py by tools/twin; do not edit.
"""Wait for what a test expects, with a deadline and never by sleeping."""

import time
from collections.abc import Callable
from typing import TypeVar

from dex_agents_sync._seam.concurrency import sleep
from dex_agents.model.requests import AgentSnapshot
from dex_agents_sync.session.client import AgentSessionClient

T = TypeVar("T")

_POLL_SECONDS = 0.003
WAIT_TIMEOUT_SECONDS = 30.0


def wait_until(
    description: str,
    probe: Callable[[], T | None],
    timeout_seconds: float = WAIT_TIMEOUT_SECONDS,
) -> T:
    """Call a probe until it returns something true, and return that.

    Args:
        description: What is waited for; names it in the error.
        probe: Looks once.
        timeout_seconds: When to give up.

    Raises:
        TimeoutError: The probe never returned anything true in time.
    """
    give_up_at = time.monotonic() + timeout_seconds
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"waited {timeout_seconds:g} s for {description}; last: {found!r}")
        sleep(_POLL_SECONDS)


def wait_for_agent_snapshot(
    sessions: AgentSessionClient,
    session_id: str,
    probe: Callable[[AgentSnapshot], T | None],
    *,
    description: str,
    timeout_seconds: float = WAIT_TIMEOUT_SECONDS,
) -> T:
    """Read a session's snapshot until a probe of it returns something true, and return that.

    Args:
        sessions: The session client.
        session_id: The session.
        probe: Looks at one snapshot, such as
            `lambda snapshot: next(iter(snapshot.pending_interrupts), None)`.
        description: What is waited for; names it in the error.
        timeout_seconds: When to give up.

    Raises:
        TimeoutError: No snapshot satisfied the probe in time; the text holds the last one's state.
    """
    give_up_at = time.monotonic() + timeout_seconds
    while True:
        snapshot = sessions.get_agent_snapshot(session_id)
        found = probe(snapshot)
        if found:
            return found
        if time.monotonic() > give_up_at:
            raise TimeoutError(
                f"waited {timeout_seconds:g} s for {description}; last state: {snapshot.state}, "
                f"interrupts: {snapshot.pending_interrupts}, calls: {snapshot.tool_calls}"
            )
        sleep(_POLL_SECONDS)
