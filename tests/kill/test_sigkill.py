# twin: shared
"""SIGKILL of the process that owns the engine, at exact points, in every colour.

Each test continues in another colour than it began, so that it also proves that a session which
one package started goes on in the other, from the same file.
"""

from pathlib import Path

import pytest

from dex_agents.model.messages import MessageRole
from dex_agents.testing.blocking import GateFiles
from tests.invariants import check_session
from tests.kill.processes import COLOURS, Child

SUCCESSORS = {"asyncio": "threads", "threads": "trio", "trio": "asyncio"}


@pytest.fixture(params=COLOURS)
def colours(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Return the colour that is killed and the one that continues."""
    return request.param, SUCCESSORS[request.param]


def _last_text(child: Child, turn: int = 1) -> str:
    snapshot = child.wait_for_turn_end(turn)
    check_session(snapshot, child.ledger, ["pay"])
    assert snapshot.state is not None
    assert snapshot.state.last_turn_error is None
    return snapshot.messages[-1].text


def test_a_read_that_was_killed_runs_again(tmp_path: Path, colours: tuple[str, str]) -> None:
    path = tmp_path / "agents.db"
    child = Child(colours[0], path, tmp_path)
    child.ask("start", text="look")
    gate = child.wait_at("look")
    child.kill()
    gate.release()
    child = Child(colours[1], path, tmp_path)
    assert _last_text(child) == "done look: look 1"
    assert [entry["attempt"] for entry in child.ledger.entries("look")] == ["1", "2"]
    child.stop()


def test_an_idempotent_write_runs_again_with_the_same_key(
    tmp_path: Path, colours: tuple[str, str]
) -> None:
    path = tmp_path / "agents.db"
    child = Child(colours[0], path, tmp_path)
    child.ask("start", text="save")
    gate = child.wait_at("save")
    child.kill()
    gate.release()
    child = Child(colours[1], path, tmp_path)
    assert _last_text(child) == "done save: save 1"
    keys = [entry["key"] for entry in child.ledger.entries("save")]
    assert keys == ["s-1/turn-1/save"] * 2
    child.stop()


def test_case_c01_kill_in_the_middle_of_a_non_idempotent_write(
    tmp_path: Path, colours: tuple[str, str]
) -> None:
    path = tmp_path / "agents.db"
    child = Child(colours[0], path, tmp_path)
    child.ask("start", text="pay")
    interrupt = child.wait_for_interrupt()
    assert child.ask("approve", interrupt=interrupt)
    gate = child.wait_at("pay")
    child.kill()
    gate.release()
    child = Child(colours[1], path, tmp_path)
    assert "unknown" in _last_text(child)
    assert child.ledger.count("pay") == 1
    results = [m for m in child.snapshot().messages if m.role is MessageRole.TOOL]
    assert len(results) == 1
    assert "unknown" in results[0].text
    assert child.ask("send", text="hello")
    assert _last_text(child, 2).startswith("done hello")
    child.stop()


def test_a_model_call_that_was_killed_is_made_again(
    tmp_path: Path, colours: tuple[str, str]
) -> None:
    path = tmp_path / "agents.db"
    child = Child(colours[0], path, tmp_path)
    child.ask("start", text="think")
    gate = child.wait_at("model")
    child.kill()
    gate.release()
    child = Child(colours[1], path, tmp_path)
    assert _last_text(child).startswith("done think")
    assert child.ledger.count("model") == 2
    child.stop()


def test_a_session_that_waits_for_approval_survives(
    tmp_path: Path, colours: tuple[str, str]
) -> None:
    path = tmp_path / "agents.db"
    child = Child(colours[0], path, tmp_path)
    child.ask("start", text="pay")
    before = child.wait_for_interrupt()
    child.kill()
    child = Child(colours[1], path, tmp_path)
    assert child.wait_for_interrupt() == before
    GateFiles(tmp_path, "pay").release()
    assert child.ask("approve", interrupt=before)
    assert _last_text(child) == "done pay: pay 1"
    assert child.ledger.count("pay") == 1
    child.stop()


def test_acknowledged_messages_survive_a_kill_while_waiting(
    tmp_path: Path, colours: tuple[str, str]
) -> None:
    path = tmp_path / "agents.db"
    child = Child(colours[0], path, tmp_path)
    child.ask("start", text="think")
    gate = child.wait_at("model")
    assert child.ask("send", text="two")
    assert child.ask("send", text="three")
    child.kill()
    gate.release()
    child = Child(colours[1], path, tmp_path)
    snapshot = child.wait_for_turn_end(3)
    said = [m.text for m in snapshot.messages if m.role is MessageRole.USER]
    assert said == ["think", "two", "three"]
    child.stop()


def test_a_clean_stop_lets_the_running_tool_finish(
    tmp_path: Path, colours: tuple[str, str]
) -> None:
    path = tmp_path / "agents.db"
    child = Child(colours[0], path, tmp_path)
    child.ask("start", text="pay")
    assert child.ask("approve", interrupt=child.wait_for_interrupt())
    gate = child.wait_at("pay")
    (tmp_path / "command-999999.json").write_text('{"op": "stop"}')
    child.wait_for("the stop to begin", lambda: (tmp_path / "answer-999999.json").exists())
    gate.release()
    assert child.process.wait(30) == 0
    child = Child(colours[1], path, tmp_path)
    assert _last_text(child) == "done pay: pay 1"
    assert child.ledger.count("pay") == 1
    child.stop()
