# twin: generated from tests/aio/promises/test_parallel_tools.py by tools/twin; do not edit.
"""The tool calls of one model response run at the same time, each as its own Step."""

from pathlib import Path

from dex_agents_sync.engine.embedded.runtime import EmbeddedEngine
from dex_agents.model.tool_calls import ToolEffect
from dex_agents.testing.history_values import EXECUTE_COMPLETED_EVENT
from dex_agents_sync.testing.step_history import read_step_history
from tests.sync.support import (
    ToolBench,
    build_session,
    calls_then_text,
    texts,
    tool_call,
    wait_for_turn_end,
)
from tests.invariants import check_session


def test_two_tools_are_at_their_gates_at_once(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    tools = [
        bench.tool("left", ToolEffect.READ, waits=True),
        bench.tool("right", ToolEffect.IDEMPOTENT_WRITE, waits=True),
    ]
    session = build_session(calls_then_text(tool_call("left"), tool_call("right")), tools)
    with EmbeddedEngine(tmp_path / "agents.db") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "go")
        bench.gate("left").wait_until_reached()
        bench.gate("right").wait_until_reached()
        bench.gate("right").release()
        bench.gate("left").release()
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert texts(snapshot)[-1] == "done: left; right"
        check_session(snapshot, bench.ledger)
        history = read_step_history(engine.client, "s-1")
        executed = [e.step_type for e in history if e.event_type == EXECUTE_COMPLETED_EVENT]
        assert executed.count("CallTool") == 2
        assert executed.count("RunModel") == 2


def test_results_reach_the_model_in_the_order_it_asked(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    tools = [bench.tool("slow", ToolEffect.READ, waits=True), bench.tool("fast", ToolEffect.READ)]
    session = build_session(calls_then_text(tool_call("slow"), tool_call("fast")), tools)
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "go")
        bench.gate("slow").wait_until_reached()
        bench.gate("slow").release()
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert texts(snapshot)[-1] == "done: slow; fast"


def test_every_call_has_its_own_idempotency_key(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    tools = [bench.tool("save", ToolEffect.IDEMPOTENT_WRITE)]
    script = calls_then_text(tool_call("save", "one"), tool_call("save", "two"))
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(script, tools))
        sessions.start_session("s-1", "go")
        wait_for_turn_end(sessions, "s-1")
        keys = {entry["key"] for entry in bench.ledger.entries("save")}
        assert keys == {"s-1/turn-1/one", "s-1/turn-1/two"}
