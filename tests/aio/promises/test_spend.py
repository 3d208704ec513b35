# twin: source
"""A spend limit is asked before each model call, can end a turn readably, and misses no call."""

from pathlib import Path

from dex_agents.engine.embedded.runtime import EmbeddedEngine
from dex_agents.errors import NonRetryableError
from dex_agents.model.tool_calls import ToolEffect
from dex_agents.spend import (
    ModelCallKind,
    SpendAllowance,
    SpendPeriod,
    SpendScope,
    SqliteModelSpendLimit,
)
from dex_agents.stepwise import ModelRequest, ScriptedModelReply
from tests.aio.spend.support import RecordingLimit, counted
from tests.aio.support import (
    ToolBench,
    build_session,
    calls_then_text,
    echo,
    run_turn,
    texts,
    tool_call,
    wait_for_turn_end,
)

EVER = SpendPeriod.EVER


async def test_each_model_call_is_asked_for_and_reported_once(tmp_path: Path) -> None:
    limit = RecordingLimit()
    tools = [ToolBench(tmp_path).tool("look", ToolEffect.READ)]
    script = counted(calls_then_text(tool_call("look")), [])
    session = build_session(script, tools, spend_limit=limit)
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        await sessions.start_session("s-1", "go")
        snapshot = await wait_for_turn_end(sessions, "s-1")
    assert snapshot.usage.model_calls == 2
    assert len({request.key for request in limit.asked}) == 2
    assert [report.request for report in limit.reported] == limit.asked
    first = limit.asked[0]
    assert first.key.startswith("s-1/")
    assert first.key.endswith("/RunModel-1/1")
    assert (first.kind, first.flow_id, first.turn_id) == (ModelCallKind.TURN, "s-1", "turn-1")
    assert (first.attempt, first.flow_type) == (1, session.flow_type)
    assert first.estimate.input_tokens > 0
    assert first.estimate.output_tokens == 4096
    assert [report.model for report in limit.reported] == ["scripted", "scripted"]
    used = [report.usage for report in limit.reported]
    assert [u and (u.input_tokens, u.output_tokens) for u in used] == [(70, 30), (70, 30)]


async def test_a_refused_call_is_not_made_and_ends_the_turn_readably() -> None:
    limit, calls = RecordingLimit(refusal="the account is empty"), list[str]()
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(counted(echo, calls), spend_limit=limit))
        await sessions.start_session("s-1", "go")
        snapshot = await wait_for_turn_end(sessions, "s-1")
        assert snapshot.state is not None
        assert snapshot.state.last_turn_error == (
            "the spend limit refused the model call: the account is empty"
        )
        assert (calls, limit.reported) == ([], [])
        assert len(limit.asked) == 1
        limit.refusal = None
        snapshot = await run_turn(sessions, "s-1", "again")
    assert texts(snapshot)[-1] == "echo again"


async def test_a_failed_call_is_reported_as_failed_and_gives_its_reservation_back() -> None:
    def fail(request: ModelRequest) -> ScriptedModelReply:
        raise NonRetryableError("no credential")

    limit = SqliteModelSpendLimit(":memory:")
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(fail, spend_limit=limit))
        await sessions.start_session("s-1", "go")
        await wait_for_turn_end(sessions, "s-1")
    total = await limit.total(SpendScope.SESSION, "s-1", period=EVER)
    assert (total.calls, total.tokens, total.open_calls, total.reserved_tokens) == (0, 0, 0, 0)
    limit.close()


async def test_a_session_stops_at_its_allowance() -> None:
    allowance = SpendAllowance(scope=SpendScope.SESSION, period=EVER, max_tokens=4096 + 200)
    limit = SqliteModelSpendLimit(":memory:", [allowance])
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(counted(echo, []), spend_limit=limit))
        await sessions.start_session("s-1", "one")
        await wait_for_turn_end(sessions, "s-1")
        snapshot = await run_turn(sessions, "s-1", "two")
        assert texts(snapshot)[-1] == "echo two"
        snapshot = await run_turn(sessions, "s-1", "three")
    assert snapshot.state is not None
    error = snapshot.state.last_turn_error or ""
    assert error.startswith(
        "the spend limit refused the model call: this session may use 4296 tokens; "
        "200 are used or reserved so far, and this call may need "
    )
    limit.close()
