# twin: shared
"""SIGKILL at seeded random moments of one turn with two parallel tools and an approval."""

import random
import time
from pathlib import Path

import pytest

from dex_agents.testing.blocking import GateFiles, InvocationLog
from tests.invariants import check_session, check_turns
from tests.kill.processes import COLOURS, Child

_KILLS = 6


@pytest.mark.parametrize("seed", range(3))
def test_a_turn_survives_kills_at_random_moments(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / "agents.db"
    for gate in ("look", "save", "pay"):
        GateFiles(tmp_path, gate).release()
    ledger = InvocationLog(tmp_path / "ledger.jsonl")
    child = Child(chance.choice(COLOURS), path, tmp_path)
    child.ask("start", text="look save pay")
    for _ in range(_KILLS):
        # Around the length of the whole turn, so that the kills spread over all of it.
        time.sleep(chance.uniform(0.0, 0.02))
        child.kill()
        child = Child(chance.choice(COLOURS), path, tmp_path)
        interrupt = next(iter(child.snapshot().pending_interrupts), None)
        if interrupt is not None and chance.random() < 0.5:
            child.ask("approve", interrupt=interrupt.interrupt_id)
    snapshot = child.snapshot()
    if snapshot.pending_interrupts:
        assert child.ask("approve", interrupt=snapshot.pending_interrupts[0].interrupt_id)
    snapshot = child.wait_for_turn_end()
    check_session(snapshot, ledger, ["pay"])
    check_turns(snapshot.messages, ["look save pay"])
    assert ledger.count("look") >= 1
    assert len({entry["key"] for entry in ledger.entries("save")}) == 1
    state = snapshot.state
    assert state is not None
    interrupted = "attempt 3" in (state.last_turn_error or "")
    assert state.last_turn_error is None or interrupted, state.last_turn_error
    child.ask("send", text="hello")
    assert child.wait_for_turn_end(2).messages[-1].text.startswith("done hello")
    child.stop()
