# twin: generated from tests/aio/promises/test_timeouts.py by tools/twin; do not edit.
"""A call that takes too long is given up, and what it still does is dropped."""

from datetime import timedelta
from pathlib import Path

from dex_agents.engine.clock import VirtualClock
from dex_agents_sync.engine.embedded.runtime import EmbeddedEngine
from dex_agents.model.options import CallLimit
from dex_agents.model.tool_calls import ToolEffect
from dex_agents_sync.testing.waiting import wait_until
from tests.sync.support import (
    ToolBench,
    build_session,
    calls_then_text,
    texts,
    tool_call,
    wait_for_turn_end,
)
from tests.invariants import check_session

LIMIT = CallLimit(timeout=timedelta(minutes=5), heartbeat_timeout=timedelta(minutes=1))


def test_a_write_over_its_time_is_outcome_unknown_and_not_repeated(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    clock = VirtualClock()
    tool = bench.tool("pay", ToolEffect.NON_IDEMPOTENT_WRITE, waits=True, requires_approval=False)
    session = build_session(calls_then_text(tool_call("pay")), [tool], tool_call_limit=LIMIT)
    with EmbeddedEngine(":memory:", clock=clock) as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "go")
        bench.gate("pay").wait_until_reached()
        clock.advance(timedelta(minutes=6))
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert "unknown" in texts(snapshot)[-1]
        bench.gate("pay").release()
        after = sessions.get_agent_snapshot("s-1")
        assert texts(after) == texts(snapshot)
        check_session(after, bench.ledger, ["pay"])


def test_a_read_over_its_time_is_tried_again(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    clock = VirtualClock()
    tool = bench.tool("look", ToolEffect.READ, waits=True)
    session = build_session(calls_then_text(tool_call("look")), [tool], tool_call_limit=LIMIT)
    with EmbeddedEngine(":memory:", clock=clock) as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "go")
        bench.gate("look").wait_until_reached()
        clock.advance(timedelta(minutes=6))
        clock.advance(timedelta(seconds=1))

        def ran_again() -> bool:
            clock.advance(timedelta(seconds=1))
            return bench.ledger.count("look") == 2

        wait_until("a second attempt", ran_again)
        bench.gate("look").release()
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert texts(snapshot)[-1] == "done: look"


def test_a_living_call_outlasts_its_heartbeat_timeout(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    clock = VirtualClock()
    tool = bench.tool("pay", ToolEffect.NON_IDEMPOTENT_WRITE, waits=True, requires_approval=False)
    session = build_session(calls_then_text(tool_call("pay")), [tool], tool_call_limit=LIMIT)
    with EmbeddedEngine(":memory:", clock=clock) as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "go")
        bench.gate("pay").wait_until_reached()
        clock.advance(timedelta(minutes=3))
        sessions.get_agent_snapshot("s-1")
        bench.gate("pay").release()
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert texts(snapshot)[-1] == "done: pay"
