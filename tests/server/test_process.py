# twin: async-only
"""`dex-agents engine` as a process: its one line, its end, and why it does not start."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dex_agents.errors import EngineFileInUseError, EngineFileVersionError, EngineStorageError
from dex_agents_sync.engine.local import LocalEngine
from tests.server.scripted import FLOW_TYPE, Caller, Stream

ENGINE = (sys.executable, "-m", "dex_agents.cli", "engine")


def engine_arguments(path: Path, address: str = "127.0.0.1:0") -> list[str]:
    """Return the command of an engine."""
    return [*ENGINE, "--db", str(path), "--address", address, "--drain", "0.1"]


@contextmanager
def engine_process(path: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run an engine and give its process and address."""
    process = subprocess.Popen(
        engine_arguments(path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert said["pid"] == process.pid
        yield process, said["address"]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_it_without_a_word(
    real_sdk: None, tmp_path: Path, number: signal.Signals
) -> None:
    with engine_process(tmp_path / "engine.db") as (process, address):
        caller = Caller(address)
        stream = await Stream(caller.channel, "w1", FLOW_TYPE).open()
        await stream.registered()
        await caller.start()
        await stream.task()
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
        assert (process.returncode, out, err) == (0, "", "")
        assert await stream.read() is None
        await caller.channel.close()
    with LocalEngine(tmp_path / "engine.db") as engine:
        assert engine.is_running, "the file is free again"


def failed(path: Path, address: str = "127.0.0.1:0") -> str:
    """Start an engine that cannot start, and return its one line."""
    run = subprocess.run(
        engine_arguments(path, address), capture_output=True, text=True, timeout=20, check=False
    )
    assert (run.returncode, run.stdout) == (1, "")
    (line,) = run.stderr.splitlines()
    return line


def test_it_says_why_it_cannot_listen(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert "another program uses it" in failed(tmp_path / "engine.db", address)
    assert "give host:port" in failed(tmp_path / "engine.db", "127.0.0.1:99999")
    assert "give host:port" in failed(tmp_path / "engine.db", "nowhere")


def test_it_says_why_it_cannot_use_the_file(tmp_path: Path) -> None:
    path = tmp_path / "engine.db"
    assert "in a folder that exists" in failed(tmp_path / "missing" / "engine.db")
    with LocalEngine(path):
        assert "is in use by an engine in process" in failed(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert "upgrade dex-agents" in failed(path)


def test_a_local_engine_raises_what_the_engine_says(tmp_path: Path) -> None:
    path = tmp_path / "engine.db"
    with LocalEngine(path), pytest.raises(EngineFileInUseError, match="stop that engine"):
        LocalEngine(path).start()
    with pytest.raises(EngineStorageError, match="in a folder that exists"):
        LocalEngine(tmp_path / "missing" / "engine.db").start()
    (tmp_path / "text").write_text("no database at all, but long enough to look at")
    with pytest.raises(EngineFileVersionError, match="not an engine file"):
        LocalEngine(tmp_path / "text").start()


def test_a_local_engine_goes_on_at_its_address(tmp_path: Path) -> None:
    with LocalEngine(tmp_path / "engine.db") as engine:
        first, address = engine.pid, engine.address
        engine.kill()
        assert not engine.is_running
        engine.start()
        assert engine.pid != first
        assert engine.address == address
        with pytest.raises(RuntimeError, match="runs already"):
            engine.start()


def test_the_engine_ends_with_the_program_that_started_it(tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from dex_agents_sync.engine.local import LocalEngine\n"
        "engine = LocalEngine(sys.argv[1]).start()\n"
        "print(engine.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    path = str(tmp_path / "engine.db")
    process = subprocess.Popen(
        [sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    engine_pid = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)
    engine = next(filter(None, (started(path) for _ in range(100))))
    assert engine.pid != engine_pid
    engine.close()


def started(path: str) -> LocalEngine | None:
    """Start an engine, or return `None` while another one has the file."""
    try:
        return LocalEngine(path).start()
    except EngineFileInUseError:
        return None


async def test_both_colours_start_an_engine(tmp_path: Path) -> None:
    from dex_agents.engine.local import LocalEngine as TaskEngine

    async with TaskEngine(tmp_path / "engine.db") as engine:
        assert engine.is_running
        with pytest.raises(EngineFileInUseError):
            await TaskEngine(tmp_path / "engine.db").start()
    assert not engine.is_running
