# twin: generated from tests/aio/cases/test_blocking_tools.py by tools/twin; do not edit.
"""Plain tools that block: they run in parallel and nothing else waits for them."""

from pathlib import Path

from dex_agents_sync._seam.concurrency import sleep
from dex_agents_sync.engine.embedded.runtime import EmbeddedEngine
from dex_agents.model.tool_calls import ToolEffect
from dex_agents_sync.stepwise import FunctionTool, function_tool
from dex_agents.testing.blocking import GateFiles
from tests.sync.support import (
    build_session,
    calls_then_text,
    texts,
    tool_call,
    wait_for_turn_end,
)


def blocking_tool(folder: Path, name: str) -> FunctionTool:
    """Return a plain tool that blocks its thread at a gate."""

    @function_tool(effect=ToolEffect.READ, name=name)
    def block() -> str:
        """Block until the gate opens."""
        GateFiles(folder, name).block_until_released()
        return name

    return block


def test_case_c28_a_blocking_tool(tmp_path: Path) -> None:
    names = ["one", "two", "three"]
    tools = [blocking_tool(tmp_path, name) for name in names]
    session = build_session(calls_then_text(*(tool_call(name) for name in names)), tools)
    gates = [GateFiles(tmp_path, name) for name in names]
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "go")
        snapshots = 0
        while not all(gate.is_reached for gate in gates) or snapshots < 3:
            snapshot = sessions.get_agent_snapshot("s-1")
            assert snapshot.state is None or snapshot.state.active_turn_id == "turn-1"
            snapshots += 1
            sleep(0.05)
        for gate in gates:
            gate.release()
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert texts(snapshot)[-1] == "done: one; two; three"
