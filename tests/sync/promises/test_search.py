# twin: generated from tests/aio/promises/test_search.py by tools/twin; do not edit.
"""One query finds every session that waits for a person."""

from pathlib import Path

import dex
import pytest

from dex_agents_sync.engine.embedded.runtime import EmbeddedEngine
from dex_agents.model.tool_calls import ToolEffect
from dex_agents.session.flow_values import ActiveStepSearchMode
from tests.sync.support import (
    ToolBench,
    build_session,
    calls_then_text,
    tool_call,
    wait_for_interrupts,
    wait_for_turn_end,
)

WAITING = 'ActiveStepTypes = "AwaitToolApproval"'


def test_waiting_sessions_are_found_until_they_move_on(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    session = build_session(
        calls_then_text(tool_call("pay")), [bench.tool("pay", ToolEffect.NON_IDEMPOTENT_WRITE)]
    )
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        for number in range(3):
            sessions.start_session(f"s-{number}", "refund")
            wait_for_interrupts(sessions, f"s-{number}")
        found = engine.client.search_flows(WAITING, 50)
        assert [flow.flow_id for flow in found.flows] == ["s-2", "s-1", "s-0"]
        snapshot = sessions.get_agent_snapshot("s-1")
        interrupt_id = snapshot.pending_interrupts[0].interrupt_id
        sessions.resolve_interrupt("s-1", interrupt_id, approved=True)
        wait_for_turn_end(sessions, "s-1")
        found = engine.client.search_flows(WAITING, 50)
        assert [flow.flow_id for flow in found.flows] == ["s-2", "s-0"]


def test_a_session_can_opt_out_and_in(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    session = build_session(
        calls_then_text(tool_call("pay")), [bench.tool("pay", ToolEffect.NON_IDEMPOTENT_WRITE)]
    )
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session(
            "s-1", "refund", active_step_search_mode=ActiveStepSearchMode.DISABLED
        )
        wait_for_interrupts(sessions, "s-1")
        assert not (engine.client.search_flows(WAITING, 50)).flows
        engine.client.update_flow_config(
            "s-1", active_step_search_mode=ActiveStepSearchMode.WITH_WAIT_FOR
        )
        assert len((engine.client.search_flows(WAITING, 50)).flows) == 1


def test_pages_continue_where_the_last_one_ended() -> None:
    from tests.sync.support import echo

    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(echo))
        for number in range(5):
            sessions.start_session(f"s-{number}")
        found: list[str] = []
        token = ""
        while True:
            page = engine.client.search_flows('FlowType = "TestAgent"', 2, token)
            found.extend(flow.flow_id for flow in page.flows)
            token = page.next_page_token
            if not token:
                break
        assert found == [f"s-{number}" for number in reversed(range(5))]


def test_a_query_that_cannot_be_read_says_what_is_wrong() -> None:
    with EmbeddedEngine(":memory:") as engine:
        with pytest.raises(dex.DexServiceError, match="unknown field 'Colour'"):
            engine.client.search_flows('Colour = "red"')
