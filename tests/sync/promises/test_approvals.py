# twin: generated from tests/aio/promises/test_approvals.py by tools/twin; do not edit.
"""A write waits for a person: approval, rejection with a message, and a deadline."""

from datetime import timedelta
from pathlib import Path

import pytest

from dex_agents.engine.clock import VirtualClock
from dex_agents_sync.engine.embedded.runtime import EmbeddedEngine
from dex_agents.model.tool_calls import ToolCallStatus, ToolEffect
from tests.sync.support import (
    ToolBench,
    build_session,
    calls_then_text,
    read_events,
    texts,
    tool_call,
    wait_for_interrupts,
    wait_for_turn_end,
)
from tests.invariants import check_session, event_types

PAY = tool_call("pay", "call-1", value="7")


def test_an_approved_write_runs_once_and_only_then(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    session = build_session(
        calls_then_text(PAY), [bench.tool("pay", ToolEffect.NON_IDEMPOTENT_WRITE)]
    )
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "refund")
        snapshot = wait_for_interrupts(sessions, "s-1")
        interrupt = snapshot.pending_interrupts[0]
        assert interrupt.tool_name == "pay"
        assert interrupt.deadline is None
        assert snapshot.tool_calls[0].status is ToolCallStatus.AWAITING_APPROVAL
        assert bench.ledger.count() == 0
        assert sessions.resolve_interrupt("s-1", interrupt.interrupt_id, approved=True)
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert texts(snapshot)[-1] == "done: pay 7"
        assert bench.ledger.count("pay") == 1
        check_session(snapshot, bench.ledger, ["pay"])


def test_a_rejection_reaches_the_model_with_its_message(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    session = build_session(
        calls_then_text(PAY), [bench.tool("pay", ToolEffect.NON_IDEMPOTENT_WRITE)]
    )
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "refund")
        snapshot = wait_for_interrupts(sessions, "s-1")
        assert sessions.resolve_interrupt(
            "s-1",
            snapshot.pending_interrupts[0].interrupt_id,
            approved=False,
            rejection_message="wrong customer",
        )
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert "wrong customer" in texts(snapshot)[-1]
        assert bench.ledger.count() == 0
        check_session(snapshot, bench.ledger, ["pay"])
        types = event_types(read_events(engine, session, "s-1"))
        assert types.count("tool_call_finished") == 1
        assert types.count("interrupt_resolved") == 1


def test_only_the_first_answer_to_an_interrupt_counts(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    session = build_session(
        calls_then_text(PAY), [bench.tool("pay", ToolEffect.NON_IDEMPOTENT_WRITE)]
    )
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "refund")
        snapshot = wait_for_interrupts(sessions, "s-1")
        interrupt_id = snapshot.pending_interrupts[0].interrupt_id
        assert not sessions.resolve_interrupt("s-1", "unknown", approved=True)
        assert sessions.resolve_interrupt("s-1", interrupt_id, approved=False)
        assert not sessions.resolve_interrupt("s-1", interrupt_id, approved=True)
        wait_for_turn_end(sessions, "s-1")
        assert bench.ledger.count() == 0


@pytest.mark.parametrize("late", [False, True])
def test_a_deadline_refuses_what_nobody_answered(tmp_path: Path, late: bool) -> None:
    bench = ToolBench(tmp_path)
    clock = VirtualClock()
    session = build_session(
        calls_then_text(PAY),
        [bench.tool("pay", ToolEffect.NON_IDEMPOTENT_WRITE)],
        interrupt_deadline=timedelta(hours=1),
    )
    with EmbeddedEngine(":memory:", clock=clock) as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "refund")
        snapshot = wait_for_interrupts(sessions, "s-1")
        interrupt = snapshot.pending_interrupts[0]
        assert interrupt.deadline is not None
        clock.advance(timedelta(minutes=59))
        if not late:
            assert sessions.resolve_interrupt("s-1", interrupt.interrupt_id, approved=True)
        clock.advance(timedelta(minutes=2))
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert not sessions.resolve_interrupt("s-1", interrupt.interrupt_id, approved=True)
        assert bench.ledger.count("pay") == (0 if late else 1)
        assert ("deadline" in texts(snapshot)[-1]) is late
        check_session(snapshot, bench.ledger, ["pay"])


def test_time_skipping_passes_a_year_at_once(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    session = build_session(
        calls_then_text(PAY),
        [bench.tool("pay", ToolEffect.NON_IDEMPOTENT_WRITE)],
        interrupt_deadline=timedelta(days=365),
    )
    with EmbeddedEngine(":memory:", clock=VirtualClock(time_skipping=True)) as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "refund")
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert "deadline" in texts(snapshot)[-1]
