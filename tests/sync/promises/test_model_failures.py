# twin: generated from tests/aio/promises/test_model_failures.py by tools/twin; do not edit.
"""A model that keeps failing ends its turn readably, and the next turn works."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from dex_agents.engine.clock import VirtualClock
from dex_agents_sync.engine.embedded.runtime import EmbeddedEngine
from dex_agents.errors import NonRetryableError
from dex_agents.model.options import CallLimit
from dex_agents.model.tool_calls import ToolEffect
from dex_agents_sync.stepwise import ModelRequest, ScriptedModelClient, ScriptedModelReply
from tests.sync.support import (
    ToolBench,
    build_session,
    read_events,
    run_turn,
    texts,
    tool_call,
    wait_for_turn_end,
)
from tests.invariants import check_session, event_types


def failing(error: Exception, calls: list[str]) -> Callable[[ModelRequest], ScriptedModelReply]:
    """Return a script that fails on "fail", fails after a tool on "tool", and else answers."""

    def respond(request: ModelRequest) -> ScriptedModelReply:
        text = ScriptedModelClient.user_texts(request)[-1]
        results = ScriptedModelClient.tool_results(request)
        calls.append(text)
        if text == "fail" or (text == "tool" and results):
            raise error
        if text == "tool":
            return ScriptedModelReply(tool_calls=[tool_call("save", value="1")])
        return ScriptedModelReply(text=f"fine: {text}")

    return respond


def test_three_failures_end_the_turn_without_a_note() -> None:
    calls: list[str] = []
    session = build_session(failing(RuntimeError("model is down"), calls))
    clock = VirtualClock(time_skipping=True)
    with EmbeddedEngine(":memory:", clock=clock) as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "fail")
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert calls == ["fail"] * 3
        assert snapshot.state is not None
        assert "model is down" in (snapshot.state.last_turn_error or "")
        assert texts(snapshot) == ["fail"]
        assert event_types(read_events(engine, session, "s-1"))[-1] == "turn_failed"
        snapshot = run_turn(sessions, "s-1", "again")
        assert texts(snapshot)[-1] == "fine: again"
        assert snapshot.state is not None
        assert snapshot.state.last_turn_error is None


def test_a_failure_after_a_tool_leaves_a_note_of_what_ran(tmp_path: Path) -> None:
    calls: list[str] = []
    bench = ToolBench(tmp_path)
    session = build_session(
        failing(RuntimeError("model is down"), calls),
        [bench.tool("save", ToolEffect.IDEMPOTENT_WRITE)],
    )
    clock = VirtualClock(time_skipping=True)
    with EmbeddedEngine(":memory:", clock=clock) as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "tool")
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert calls == ["tool"] * 4
        note = snapshot.messages[-1].text
        assert note.startswith("[Dex] The previous turn failed")
        assert "save" in note
        assert "succeeded" in note
        check_session(snapshot, bench.ledger)
        snapshot = run_turn(sessions, "s-1", "again")
        assert texts(snapshot)[-1] == "fine: again"
        assert bench.ledger.count("save") == 1


def test_a_permanent_error_has_one_attempt() -> None:
    calls: list[str] = []
    session = build_session(failing(NonRetryableError("the key was refused"), calls))
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "fail")
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert calls == ["fail"]
        assert snapshot.state is not None
        assert "the key was refused" in (snapshot.state.last_turn_error or "")
        snapshot = run_turn(sessions, "s-1", "again")
        assert texts(snapshot)[-1] == "fine: again"


def test_the_limits_of_a_model_call_are_the_options() -> None:
    calls: list[str] = []
    limit = CallLimit(maximum_attempts=2, total_duration=timedelta(hours=1))
    session = build_session(failing(RuntimeError("down"), calls), run_model_limit=limit)
    clock = VirtualClock(time_skipping=True)
    with EmbeddedEngine(":memory:", clock=clock) as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "fail")
        wait_for_turn_end(sessions, "s-1")
        assert calls == ["fail"] * 2
