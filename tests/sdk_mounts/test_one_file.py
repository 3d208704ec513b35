# twin: sync-only
"""One file, three lives: embedded, then the local engine, then embedded again."""

import contextlib
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from dex_agents.model.tool_calls import ToolEffect
from dex_agents_sync import AgentSession, AgentSessionFlow, EmbeddedEngine, LocalEngine
from dex_agents_sync.sdk import DexConnection, WorkerStop, serve
from dex_agents_sync.session.client import AgentSessionClient
from dex_agents_sync.ui_stream import read_agent_event_stream_snapshot
from tests.invariants import check_session
from tests.sync.support import (
    ToolBench,
    build_session,
    calls_then_text,
    texts,
    tool_call,
    wait_for_interrupts,
    wait_for_turn_end,
)

# Far enough away not to pass during the test; its timer runs in all three lives.
DEADLINE = timedelta(hours=1)


def agent(bench: ToolBench) -> AgentSession:
    tools = [bench.tool("pay", ToolEffect.NON_IDEMPOTENT_WRITE)]
    script = calls_then_text(tool_call("pay", value="7"))
    return build_session(script, tools, interrupt_deadline=DEADLINE)


@contextlib.contextmanager
def local_engine(path: Path, session: AgentSession) -> Iterator[AgentSessionClient]:
    """Serve the file through the SDK: an engine process, and a Worker in a thread."""
    flow = AgentSessionFlow.of(session)
    stop, ready = WorkerStop(), threading.Event()
    with LocalEngine(path) as engine:
        worker = threading.Thread(
            target=serve,
            args=([flow],),
            kwargs={
                "server_address": engine.address,
                "stop": stop,
                "on_ready": ready.set,
                "handles_signals": False,
            },
        )
        worker.start()
        try:
            assert ready.wait(30)
            with DexConnection([flow], server_address=engine.address) as connection:
                yield connection.sessions(flow)
        finally:
            stop.request()
            worker.join()


def events_after(sessions: AgentSessionClient, token: str) -> list[str]:
    """Return the events that follow a browser's resume token."""
    found: list[str] = []
    while True:
        event = sessions.client.read_stream(sessions.session, "s-1", resume_token=token)
        if event is None:
            return found
        found.append(event.value)
        token = event.resume_token


def test_an_open_approval_its_timer_and_a_resume_token_outlive_every_move(tmp_path: Path) -> None:
    path, bench = tmp_path / "agents.db", ToolBench(tmp_path)
    with EmbeddedEngine(path) as engine:
        sessions = engine.serve(agent(bench))
        sessions.start_session("s-1", "refund")
        waiting = wait_for_interrupts(sessions, "s-1").pending_interrupts[0]
        token = read_agent_event_stream_snapshot(
            engine.client, sessions.session, "s-1"
        ).resume_token
        embedded_events = events_after(sessions, token)
    with local_engine(path, agent(bench)) as sessions:
        snapshot = wait_for_interrupts(sessions, "s-1")
        assert snapshot.pending_interrupts == (waiting,)
        assert events_after(sessions, token) == embedded_events
        assert sessions.resolve_interrupt("s-1", waiting.interrupt_id, approved=True)
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert texts(snapshot)[-1] == "done: pay 7"
        assert sessions.send_user_message("s-1", "again")
        second = wait_for_interrupts(sessions, "s-1").pending_interrupts[0]
        assert second.turn_id == "turn-2"
    with EmbeddedEngine(path) as engine:
        sessions = engine.serve(agent(bench))
        snapshot = wait_for_interrupts(sessions, "s-1")
        assert snapshot.pending_interrupts == (second,)
        events = events_after(sessions, token)
        assert events[: len(embedded_events)] == embedded_events
        assert any('"turn_completed"' in event for event in events)
        assert sessions.resolve_interrupt("s-1", second.interrupt_id, approved=False)
        snapshot = wait_for_turn_end(sessions, "s-1", 2)
        assert bench.ledger.count("pay") == 1
        check_session(snapshot, bench.ledger, ["pay"])
        waiting_state = run_turn_and_wait(sessions)
        assert waiting_state == "turn-3"


def run_turn_and_wait(sessions: AgentSessionClient) -> str:
    """Start one more turn and return the turn whose approval then waits."""
    assert sessions.send_user_message("s-1", "once more")
    return wait_for_interrupts(sessions, "s-1").pending_interrupts[0].turn_id
