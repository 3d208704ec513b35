# twin: source
"""Counters that fail, are shared, or live through deaths of the engine: no call is missed."""

from functools import partial
from pathlib import Path

import pytest

from dex_agents._seam.concurrency import gather
from dex_agents.engine.clock import VirtualClock
from dex_agents.engine.embedded.runtime import EmbeddedEngine
from dex_agents.errors import EngineStoppedError
from dex_agents.model.options import CallLimit
from dex_agents.model.requests import AgentSnapshot
from dex_agents.spend import SpendAllowance, SpendPeriod, SpendScope, SqliteModelSpendLimit
from dex_agents.testing.store_cut import CommitCounter
from tests.aio.spend.support import TOKENS, FailingLimit, RecordingLimit, counted
from tests.aio.support import (
    build_session,
    calls_then_text,
    echo,
    tool_call,
    wait_for_turn_end,
)

EVER = SpendPeriod.EVER


async def test_a_wrong_decision_ends_the_turn_at_once() -> None:
    class Wrong(RecordingLimit):
        async def reserve_model_call(self, request: object, /) -> object:  # type: ignore[override]  # the mistake under test
            return True

    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(echo, spend_limit=Wrong()))  # type: ignore[arg-type]  # the mistake under test
        await sessions.start_session("s-1", "go")
        snapshot = await wait_for_turn_end(sessions, "s-1")
    assert snapshot.state is not None
    assert "must return a ModelSpendDecision, not bool" in (snapshot.state.last_turn_error or "")


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_lost_question_or_report_counts_no_call_twice(moment: str) -> None:
    """The counters answer every operation but one, whichever it is."""
    for fails_at in range(1, 6):
        inner, calls = SqliteModelSpendLimit(":memory:"), list[str]()
        limit = FailingLimit(inner, fails_at, "before" if moment == "before" else "after")
        clock = VirtualClock(time_skipping=True)
        script = counted(calls_then_text(tool_call("gone")), calls)
        async with EmbeddedEngine(":memory:", clock=clock) as engine:
            sessions = engine.serve(build_session(script, spend_limit=limit))
            await sessions.start_session("s-1", "go")
            snapshot = await wait_for_turn_end(sessions, "s-1")
        total = await inner.total(SpendScope.SESSION, "s-1", period=EVER)
        assert len(calls) == 2
        assert (total.calls, total.tokens) == (2, 2 * TOKENS)
        assert snapshot.usage.model_calls == 2
        # Only a question that was answered without anyone hearing it leaves its reservation.
        is_lost = moment == "after" and limit.operations[fails_at - 1 : fails_at] == ["reserve"]
        assert total.open_calls == (1 if is_lost else 0)
        inner.close()


async def test_counters_that_stay_away_end_the_turn_after_its_attempts() -> None:
    class Away(RecordingLimit):
        async def reserve_model_call(self, request: object, /) -> object:  # type: ignore[override]  # raises only
            raise ConnectionError("the counters are away")

    clock, calls = VirtualClock(time_skipping=True), list[str]()
    session = build_session(
        counted(echo, calls),
        run_model_limit=CallLimit(maximum_attempts=2),
        spend_limit=Away(),  # type: ignore[arg-type]  # raises only
    )
    async with EmbeddedEngine(":memory:", clock=clock) as engine:
        sessions = engine.serve(session)
        await sessions.start_session("s-1", "go")
        snapshot = await wait_for_turn_end(sessions, "s-1")
    assert calls == []
    assert snapshot.state is not None
    assert "the counters are away" in (snapshot.state.last_turn_error or "")


async def test_twenty_sessions_of_two_engines_keep_to_one_limit(tmp_path: Path) -> None:
    """What a call needs is estimated at about 4,100 tokens, and it uses 100."""
    allowed = 5 * 4096
    allowance = SpendAllowance(scope=SpendScope.ALL, period=EVER, max_tokens=allowed)
    limits = [SqliteModelSpendLimit(tmp_path / "spend.db", [allowance]) for _ in range(2)]
    calls: list[str] = []
    async with EmbeddedEngine(":memory:") as one, EmbeddedEngine(":memory:") as other:
        clients = [
            engine.serve(build_session(counted(echo, calls), spend_limit=limit))
            for engine, limit in zip((one, other), limits, strict=True)
        ]

        async def talk(number: int) -> int:
            sessions, session_id = clients[number % 2], f"s-{number}"
            await sessions.start_session(session_id, "hello")
            snapshot = await wait_for_turn_end(sessions, session_id)
            return snapshot.usage.model_calls

        answered = await gather(*[partial(talk, number) for number in range(20)])
    total = await limits[0].total(SpendScope.ALL, period=EVER)
    assert total.calls == sum(answered) == len(calls)
    assert total.tokens == TOKENS * len(calls) <= allowed
    assert total.open_calls == 0
    assert len(calls) >= 4
    for limit in limits:
        limit.close()


async def _live(folder: Path, counter: CommitCounter, calls: list[str]) -> AgentSnapshot | None:
    """Run one engine until the turn is over or it dies; the counters have their own file."""
    limit = SqliteModelSpendLimit(folder / "spend.db")
    session = build_session(counted(calls_then_text(tool_call("gone")), calls), spend_limit=limit)
    engine = EmbeddedEngine(folder / "agents.db", clock=VirtualClock(time_skipping=True))
    engine.on_commit = counter
    try:
        async with engine:
            sessions = engine.serve(session)
            await sessions.start_session("s-1", "go", request_id="start-1")
            return await wait_for_turn_end(sessions, "s-1")
    except EngineStoppedError:
        return None
    finally:
        limit.close()


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_death_around_any_commit_counts_each_model_call_once(
    tmp_path: Path, moment: str, anyio_backend: str
) -> None:
    number = 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        counter = CommitCounter(
            before=number if moment == "before" else None,
            after=number if moment == "after" else None,
        )
        calls: list[str] = []
        snapshot = await _live(folder, counter, calls)
        if not counter.is_cut:
            break
        snapshot = await _live(folder, CommitCounter(), calls)
        assert snapshot is not None
        assert snapshot.usage.model_calls == 2
        limit = SqliteModelSpendLimit(folder / "spend.db")
        total = await limit.total(SpendScope.SESSION, "s-1", period=EVER)
        limit.close()
        # Each call that was made is counted once: two were committed, and one more if its answer
        # died with the engine. A call cut off on its way is still reserved.
        assert total.calls + total.open_calls >= len(calls)
        assert 2 <= total.calls <= len(calls) <= 3
        assert total.tokens == TOKENS * total.calls
    assert number > 5
