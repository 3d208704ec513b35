# twin: generated from tests/aio/promises/test_crash_sweep.py by tools/twin; do not edit.
"""The store dies around every commit of a turn in turn; nothing is lost or done twice."""

from pathlib import Path

import pytest

from dex_agents.engine.clock import VirtualClock
from dex_agents_sync.engine.embedded.runtime import EmbeddedEngine
from dex_agents.errors import EngineStoppedError
from dex_agents.model.requests import AgentSnapshot
from dex_agents.model.tool_calls import ToolEffect
from dex_agents_sync.session.agent_session import AgentSession
from dex_agents_sync.session.client import AgentSessionClient
from dex_agents_sync.stepwise import ModelRequest, ScriptedModelClient
from dex_agents.testing.store_cut import CommitCounter
from dex_agents_sync.testing.waiting import wait_for_agent_snapshot
from tests.sync.support import ToolBench, build_session, calls_then_text, texts, tool_call
from tests.invariants import check_pairs, check_session, check_turns

CALLS = (tool_call("look"), tool_call("save"), tool_call("pay"))
TOOLS = {
    "look": ToolEffect.READ,
    "save": ToolEffect.IDEMPOTENT_WRITE,
    "pay": ToolEffect.NON_IDEMPOTENT_WRITE,
}


def _needs_driver(snapshot: AgentSnapshot) -> AgentSnapshot | None:
    state = snapshot.state
    is_over = state is not None and state.turn_number == 1 and state.active_turn_id is None
    return snapshot if is_over or snapshot.pending_interrupts else None


def _drive(sessions: AgentSessionClient, approved: list[str]) -> AgentSnapshot:
    """Do what a person and a web server would: start, approve, wait for the end."""
    sessions.start_session("s-1", "go", request_id="start-1")
    while True:
        snapshot = wait_for_agent_snapshot(
            sessions, "s-1", _needs_driver, description="an approval or the end of the turn"
        )
        if not snapshot.pending_interrupts:
            return snapshot
        interrupt_id = snapshot.pending_interrupts[0].interrupt_id
        if sessions.resolve_interrupt("s-1", interrupt_id, approved=True):
            approved.append(interrupt_id)


class _Scene:
    """One session, its file, and what must be true of it."""

    def __init__(self, folder: Path, *, reuses_snapshots: bool) -> None:
        self.bench = ToolBench(folder)
        self.path = folder / "agents.db"
        self.clock = VirtualClock(time_skipping=True)
        self.requests: list[ModelRequest] = []
        self.approved: list[str] = []
        self._reuses_snapshots = reuses_snapshots

    def session(self) -> AgentSession:
        tools = [self.bench.tool(name, effect) for name, effect in TOOLS.items()]
        model = ScriptedModelClient(calls_then_text(*CALLS))
        return build_session(calls_then_text(*CALLS), tools, model=model)

    def live(self, counter: CommitCounter | None) -> AgentSnapshot | None:
        """Run one engine until the turn is over or the engine dies."""
        engine = EmbeddedEngine(
            self.path, clock=self.clock, reuses_snapshots=self._reuses_snapshots
        )
        engine.on_commit = counter
        try:
            with engine:
                return _drive(engine.serve(self.session()), self.approved)
        except EngineStoppedError:
            return None

    def check(self, snapshot: AgentSnapshot) -> None:
        ledger = self.bench.ledger
        check_session(snapshot, ledger, ["pay"])
        check_turns(snapshot.messages, ["go"])
        check_pairs(snapshot.messages)
        assert ledger.count("look") >= 1
        assert ledger.count("save") >= 1
        assert len({entry["key"] for entry in ledger.entries("save")}) == 1
        assert len(self.approved) <= 1
        state = snapshot.state
        assert state is not None
        assert state.last_turn_error is None
        answer = texts(snapshot)[-1]
        assert answer.startswith("done: look; save; ")
        if ledger.count("pay") == 0:
            assert "unknown" in answer


@pytest.mark.parametrize("reuses_snapshots", [True, False])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_turn_survives_a_death_around_every_commit(
    tmp_path: Path, moment: str, reuses_snapshots: bool
) -> None:
    number = 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        scene = _Scene(folder, reuses_snapshots=reuses_snapshots)
        counter = CommitCounter(
            before=number if moment == "before" else None,
            after=number if moment == "after" else None,
        )
        scene.live(counter)
        if not counter.is_cut:
            break
        snapshot = scene.live(None)
        assert snapshot is not None
        scene.check(snapshot)
    # Fewer commits than this would mean that the sweep did not sweep.
    assert number > 7
