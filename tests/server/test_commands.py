# twin: shared
"""`dex-agents flows`, `history` and `engine --check`, on a file and against an engine."""

import json
import re
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dex_agents.cli.address_source import AddressSource
from dex_agents.cli.main import main
from dex_agents_sync.engine.embedded.runtime import EmbeddedEngine
from dex_agents_sync.engine.local import LocalEngine
from tests.sync.support import build_session, echo, run_turn


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a session after one turn, and one that was stopped."""
    path = tmp_path_factory.mktemp("commands") / "agents.db"
    with EmbeddedEngine(path) as engine:
        sessions = engine.serve(build_session(echo))
        sessions.start_session("s-1")
        run_turn(sessions, "s-1", "one")
        sessions.start_session("s-2")
        engine.client.stop_flow("s-2", reason="enough")
    return path


@pytest.fixture(params=["file", "engine", "file beside the engine"])
def source(request: pytest.FixtureRequest, path: Path) -> Iterator[list[str]]:
    """The options that name where to read; all three must say the same."""
    if request.param == "file":
        yield ["--db", str(path)]
        return
    with LocalEngine(path) as engine:
        by_address = ["--address", engine.address]
        yield by_address if request.param == "engine" else ["--db", str(path)]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that succeeds and return what it prints."""
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def lines_of_json(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_commands_say_the_same_of_a_file_and_of_its_engine(
    capsys: pytest.CaptureFixture[str], source: list[str]
) -> None:
    flows = lines_of_json(printed(capsys, "flows", *source, "--json"))
    assert [(one["flow_id"], one["status"]) for one in flows] == [
        ("s-2", "canceled"),
        ("s-1", "running"),
    ]
    assert flows[1]["flow_type"] == "TestAgent"
    assert flows[1]["closed_at"] is None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", flows[0]["closed_at"])
    shown = printed(capsys, "flows", *source, "--query", 'ExecutionStatus = "Running"')
    assert [line.split()[:3] for line in shown.splitlines()] == [
        ["FLOW", "ID", "TYPE"],
        ["s-1", "TestAgent", "running"],
    ]
    entries = lines_of_json(printed(capsys, "history", "s-1", *source, "--json"))
    assert [(one["kind"], one.get("step_id", one.get("detail"))) for one in entries][:6] == [
        ("flow_started", None),
        ("execute_completed", "StartAgentSession-1"),
        ("wait_for_completed", "AwaitUserMessage-1"),
        ("rpc_completed", "send_user_message"),
        ("execute_completed", "AwaitUserMessage-1"),
        ("execute_completed", "RunModel-1"),
    ]
    assert entries[5]["attempt"] == 1
    assert entries[5]["source"] == "AwaitUserMessage-1"
    assert [one["event_id"] for one in entries] == list(range(1, len(entries) + 1))
    table = printed(capsys, "history", "s-2", *source, "--run", flows[0]["run_id"])
    assert table.splitlines()[-1].endswith("canceled")


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that fails and return its one line."""
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    return str(line)


def test_what_is_not_there_is_named(capsys: pytest.CaptureFixture[str], source: list[str]) -> None:
    assert "no Flow 's-9'" in failure(capsys, "history", "s-9", *source)
    assert "search query" in failure(capsys, "flows", *source, "--query", "FlowId !!")


def test_a_limit_says_that_there_is_more(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    shown = printed(capsys, "flows", "--db", str(path), "--limit", "1")
    assert "s-2" in shown
    assert "s-1" not in shown
    assert "--limit shows more than 1" in shown
    nothing = printed(capsys, "flows", "--db", str(path), "--query", 'FlowId = "s-9"')
    assert nothing == "no Flows\n"


def test_an_address_without_an_engine_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    line = failure(capsys, "flows", "--address", "127.0.0.1:1")
    assert "no engine answers at 127.0.0.1:1" in line
    assert "no such file" in failure(capsys, "flows", "--db", "/nowhere/agents.db")


def test_a_check_says_what_a_file_holds_also_beside_its_engine(
    capsys: pytest.CaptureFixture[str], path: Path
) -> None:
    with LocalEngine(path):
        shown = printed(capsys, "engine", "--db", str(path), "--check")
    assert re.search(r"^ +2 runs$", shown, re.MULTILINE)
    assert re.search(r"^TestAgent +running +1$", shown, re.MULTILINE)
    assert re.search(r"^AwaitUserMessage +waiting +1$", shown, re.MULTILINE)
    assert shown.splitlines()[-1] == f"{path} is sound"


def test_a_check_of_a_damaged_file_fails_and_names_it(
    capsys: pytest.CaptureFixture[str], path: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(path.read_bytes())
    with sqlite3.connect(copy) as database:
        database.execute("UPDATE steps SET record = '{'")
    database.close()
    assert main(["engine", "--db", str(copy), "--check"]) == 1
    err = capsys.readouterr().err
    assert "Flow 's-1'" in err
    assert "is damaged; take a backup" in err


@pytest.mark.parametrize("text", ["soon", "-1", "3 d", "1y"])
def test_a_time_that_is_none_is_refused(capsys: pytest.CaptureFixture[str], text: str) -> None:
    with pytest.raises(SystemExit):
        main(["engine", "--db", "x.db", f"--retain-closed={text}"])
    assert "is not a time such as 90s, 12h or 30d" in capsys.readouterr().err


def test_an_engine_deletes_what_was_closed_long_enough(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(path.read_bytes())
    with LocalEngine(copy, retain_closed=timedelta(0)) as engine:
        assert read_flow_ids(engine.address) == ["s-1"]


def read_flow_ids(address: str) -> list[str]:
    """Return the Flows of an engine."""
    with AddressSource(address) as source:
        return [flow.flow_id for flow in source.flows("", 10)]
