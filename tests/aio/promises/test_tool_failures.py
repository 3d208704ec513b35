# twin: source
"""What a failing tool comes to, by its effect."""

from pathlib import Path

import pytest

from dex_agents.engine.clock import VirtualClock
from dex_agents.engine.embedded.runtime import EmbeddedEngine
from dex_agents.errors import NonRetryableError
from dex_agents.model.tool_calls import ToolCallStatus, ToolEffect
from dex_agents.session.client import AgentSessionClient
from tests.aio.support import (
    ToolBench,
    build_session,
    calls_then_text,
    read_events,
    texts,
    tool_call,
    wait_for_turn_end,
)
from tests.invariants import check_session, event_types

ATTEMPTS = {
    ToolEffect.READ: 3,
    ToolEffect.IDEMPOTENT_WRITE: 3,
    ToolEffect.NON_IDEMPOTENT_WRITE: 1,
    ToolEffect.UNCLASSIFIED: 1,
}


async def _run(sessions: AgentSessionClient) -> str:
    await sessions.start_session("s-1", "go")
    return texts(await wait_for_turn_end(sessions, "s-1"))[-1]


@pytest.mark.parametrize("effect", list(ToolEffect))
async def test_an_exception_is_tried_again_only_where_that_is_safe(
    tmp_path: Path, effect: ToolEffect
) -> None:
    bench = ToolBench(tmp_path)
    tool = bench.tool("job", effect, raises=RuntimeError("boom"), requires_approval=False)
    session = build_session(calls_then_text(tool_call("job")), [tool])
    clock = VirtualClock(time_skipping=True)
    async with EmbeddedEngine(":memory:", clock=clock) as engine:
        sessions = engine.serve(session)
        answer = await _run(sessions)
        assert bench.ledger.count("job") == ATTEMPTS[effect]
        assert len({entry["key"] for entry in bench.ledger.entries("job")}) == 1
        events = await read_events(engine, session, "s-1")
        expected = (
            ToolCallStatus.FAILED if effect is ToolEffect.READ else ToolCallStatus.OUTCOME_UNKNOWN
        )
        finished = [event for event in events if '"tool_call_finished"' in event]
        assert len(finished) == 1
        assert expected.value in finished[0]
        assert "boom" in answer
        check_session(await sessions.get_agent_snapshot("s-1"), bench.ledger)


@pytest.mark.parametrize("effect", list(ToolEffect))
async def test_a_failure_the_tool_reports_is_final(tmp_path: Path, effect: ToolEffect) -> None:
    bench = ToolBench(tmp_path)
    tool = bench.tool("job", effect, fails="no such order", requires_approval=False)
    session = build_session(calls_then_text(tool_call("job")), [tool])
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        assert "no such order" in await _run(sessions)
        assert bench.ledger.count("job") == 1
        types = event_types(await read_events(engine, session, "s-1"))
        assert types.count("tool_call_finished") == 1


async def test_a_permanent_tool_error_has_one_attempt(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    tool = bench.tool("job", ToolEffect.READ, raises=NonRetryableError("no access"))
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(calls_then_text(tool_call("job")), [tool]))
        assert "no access" in await _run(sessions)
        assert bench.ledger.count("job") == 1


async def test_unknown_tools_and_bad_arguments_reach_the_model(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    script = calls_then_text(tool_call("ghost", "a"), tool_call("job", "b", wrong=1))
    session = build_session(script, [bench.tool("job", ToolEffect.READ)])
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        answer = await _run(sessions)
        assert "unknown tool ghost" in answer
        assert "invalid arguments for job" in answer
        assert bench.ledger.count() == 0
