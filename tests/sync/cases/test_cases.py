# twin: generated from tests/aio/cases/test_cases.py by tools/twin; do not edit.
"""Cases from real bug reports that need no killed process."""

from pathlib import Path

from dex_agents.engine.clock import VirtualClock
from dex_agents_sync.engine.embedded.runtime import EmbeddedEngine
from dex_agents.errors import EngineStoppedError
from dex_agents.model.tool_calls import ToolCallStatus, ToolEffect
from dex_agents.testing.store_cut import CommitCounter
from dex_agents_sync.testing.waiting import wait_for_agent_snapshot, wait_until
from tests.sync.support import (
    ToolBench,
    build_session,
    calls_then_text,
    run_turn,
    texts,
    tool_call,
    wait_for_interrupts,
    wait_for_turn_end,
)
from tests.invariants import check_session

NW = ToolEffect.NON_IDEMPOTENT_WRITE


def test_case_c04_kill_between_the_tools_return_and_the_commit(tmp_path: Path) -> None:
    for effect, runs in ((ToolEffect.IDEMPOTENT_WRITE, 2), (NW, 1)):
        folder = tmp_path / effect.value
        folder.mkdir()
        bench = ToolBench(folder)
        clock = VirtualClock(time_skipping=True)
        counter = CommitCounter()

        def cut_next(counter: CommitCounter = counter) -> None:
            counter.cuts_next = True

        tool = bench.tool("job", effect, requires_approval=False, on_return=cut_next)
        script = calls_then_text(tool_call("job"))
        engine = EmbeddedEngine(folder / "agents.db", clock=clock)
        engine.on_commit = counter
        with engine:
            sessions = engine.serve(build_session(script, [tool]))
            sessions.start_session("s-1", "go")

            def is_dead(counter: CommitCounter = counter) -> bool:
                return counter.is_cut

            wait_until("the cut", is_dead)
        with EmbeddedEngine(folder / "agents.db", clock=clock) as engine:
            sessions = engine.serve(build_session(script, [tool]))
            snapshot = wait_for_turn_end(sessions, "s-1")
            assert bench.ledger.count("job") == runs
            assert len({entry["key"] for entry in bench.ledger.entries("job")}) == 1
            answer = texts(snapshot)[-1]
            assert ("unknown" in answer) is (effect is NW)
            check_session(snapshot, bench.ledger, ["job"] if effect is NW else [])


def test_case_c08_a_tool_raises_an_odd_exception(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    odd = RuntimeError("bad \ud800 text " + "x" * 5_000_000)
    session = build_session(
        calls_then_text(tool_call("job")), [bench.tool("job", ToolEffect.READ, raises=odd)]
    )
    clock = VirtualClock(time_skipping=True)
    with EmbeddedEngine(":memory:", clock=clock) as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "go")
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert bench.ledger.count("job") == 3
        answer = texts(snapshot)[-1]
        assert "bad \ufffd text" in answer
        assert len(answer.encode()) < 5_000
        check_session(snapshot, bench.ledger)
        snapshot = run_turn(sessions, "s-1", "again")
        assert snapshot.state is not None
        assert snapshot.state.turn_number == 2


def test_case_c13_three_approvals_at_once(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    calls = [tool_call("pay", f"call-{n}", value=str(n)) for n in (1, 2, 3)]
    session = build_session(calls_then_text(*calls), [bench.tool("pay", NW)])
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "go")
        snapshot = wait_for_interrupts(sessions, "s-1", 3)
        by_call = {i.tool_call_id: i.interrupt_id for i in snapshot.pending_interrupts}
        assert len(set(by_call.values())) == 3
        assert sessions.resolve_interrupt("s-1", by_call["call-2"], approved=True)
        snapshot = wait_for_agent_snapshot(
            sessions,
            "s-1",
            lambda s: s if s.tool_calls[1].status is ToolCallStatus.SUCCEEDED else None,
            description="the approved call, while the others still wait",
        )
        assert {i.tool_call_id for i in snapshot.pending_interrupts} == {"call-1", "call-3"}
        assert sessions.resolve_interrupt(
            "s-1", by_call["call-1"], approved=False, rejection_message="not this one"
        )
        snapshot = sessions.get_agent_snapshot("s-1")
        assert {i.tool_call_id for i in snapshot.pending_interrupts} == {"call-3"}
        assert sessions.resolve_interrupt("s-1", by_call["call-3"], approved=True)
        snapshot = wait_for_turn_end(sessions, "s-1")
        answer = texts(snapshot)[-1]
        assert "not this one" in answer
        assert "pay 2" in answer
        assert "pay 3" in answer
        assert bench.ledger.count("pay") == 2
        check_session(snapshot, bench.ledger, ["pay"])


def test_case_c16_mixed_batch(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    session = build_session(
        calls_then_text(tool_call("look"), tool_call("pay")),
        [bench.tool("look", ToolEffect.READ), bench.tool("pay", NW)],
    )
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "go")
        snapshot = wait_for_agent_snapshot(
            sessions,
            "s-1",
            lambda s: (
                s if s.tool_calls and s.tool_calls[0].status is ToolCallStatus.SUCCEEDED else None
            ),
            description="the read, without anybody's leave",
        )
        assert [i.tool_name for i in snapshot.pending_interrupts] == ["pay"]
        interrupt_id = snapshot.pending_interrupts[0].interrupt_id
        assert sessions.resolve_interrupt(
            "s-1", interrupt_id, approved=False, rejection_message="no"
        )
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert bench.ledger.count("look") == 1
        assert bench.ledger.count("pay") == 0
        assert texts(snapshot)[-1].startswith("done: look; ")
        check_session(snapshot, bench.ledger, ["pay"])


def test_case_c17_approval_after_a_deploy(tmp_path: Path) -> None:
    for still_there in (True, False):
        folder = tmp_path / str(still_there)
        folder.mkdir()
        bench = ToolBench(folder)
        script = calls_then_text(tool_call("pay", value="7"))
        old = [bench.tool("pay", NW)]
        new = [bench.tool("other", ToolEffect.READ), *(old if still_there else [])]
        with EmbeddedEngine(folder / "agents.db") as engine:
            sessions = engine.serve(build_session(script, old))
            sessions.start_session("s-1", "go")
            wait_for_interrupts(sessions, "s-1")
        with EmbeddedEngine(folder / "agents.db") as engine:
            sessions = engine.serve(build_session(script, new))
            snapshot = wait_for_interrupts(sessions, "s-1")
            interrupt_id = snapshot.pending_interrupts[0].interrupt_id
            assert sessions.resolve_interrupt("s-1", interrupt_id, approved=True)
            snapshot = wait_for_turn_end(sessions, "s-1")
            assert not snapshot.pending_interrupts
            answer = texts(snapshot)[-1]
            assert bench.ledger.count("pay") == (1 if still_there else 0)
            if still_there:
                assert answer == "done: pay 7"
            else:
                assert "pay" in answer
                assert "not run" in answer or "never ran" in answer
            check_session(snapshot, bench.ledger, ["pay"])


def test_an_engine_that_died_refuses_with_its_reason(tmp_path: Path) -> None:
    engine = EmbeddedEngine(tmp_path / "agents.db")
    engine.on_commit = CommitCounter(before=1)
    with engine:
        sessions = engine.serve(build_session(calls_then_text()))
        try:
            sessions.start_session("s-1", "go")
        except EngineStoppedError as error:
            assert "cut before commit 1" in str(error)
        else:
            raise AssertionError("a dead engine answered")
