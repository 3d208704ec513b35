# twin: shared
"""Start an example in a process of its own, talk to it, kill it and start it again."""

import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx

from dex_agents_sync.testing.waiting import wait_until
from tests.shared.ui_stream.sse import Frame, read_frames

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ("flask", "quart")
START_SECONDS = 20.0
# Slow enough that a test can come in between, and no slower.
PACE = 0.3


def example_command(example: str, *arguments: str) -> list[str]:
    """Return the command line that the README shows, with this interpreter."""
    return [sys.executable, "-m", f"examples.{example}", *arguments]


class ExampleServer:
    """One example on one engine file; a restart keeps the address and the file."""

    def __init__(self, example: str, folder: Path, pace: float = PACE) -> None:
        """Describe a server; `start` starts it."""
        self.example = example
        self.pace = pace
        self.db = folder / "agents.db"
        self.log = folder / "server.log"
        self.base_url = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the process and wait for the address that it prints."""
        port = httpx.URL(self.base_url).port if self.base_url else 0
        command = example_command(
            self.example, "--port", str(port), "--db", str(self.db), "--pace", str(self.pace)
        )
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                text=True,
            )  # fmt: skip
        line = self._running.stdout.readline() if self._running.stdout else ""
        assert line.startswith("http://127.0.0.1:"), (line, self.log.read_text())
        self.base_url = line.split()[0].rstrip("/")

    @property
    def _running(self) -> subprocess.Popen[str]:
        assert self._process is not None, "the server was not started"
        return self._process

    @property
    def pid(self) -> int:
        """The process ID."""
        return self._running.pid

    def kill(self) -> None:
        """End the process as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask the process to end, and return its exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> int:
        process = self._running
        process.send_signal(number)
        try:
            return process.wait(START_SECONDS)
        finally:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
            self._process = None

    def stop_if_running(self) -> None:
        """Clean up after a test."""
        if self._process is not None:
            self._end(signal.SIGKILL)


@contextmanager
def running_example(example: str, folder: Path) -> Iterator[ExampleServer]:
    """Run an example, which must log nothing: no exception, whatever is done to it."""
    server = ExampleServer(example, folder)
    server.start()
    try:
        yield server
    finally:
        server.stop_if_running()
    logged = server.log.read_text()
    assert not logged, logged


class Chat:
    """One conversation, as a browser has it."""

    def __init__(self, http: httpx.Client, session_id: str) -> None:
        """Talk about a session."""
        self.http = http
        self.session_id = session_id
        self.url = f"/sessions/{session_id}"

    def say(self, text: str) -> httpx.Response:
        """Send a message."""
        return self.http.post(f"{self.url}/messages", json={"text": text})

    def view(self) -> dict[str, Any]:
        """Return the snapshot with its token."""
        answer = self.http.get(f"{self.url}/snapshot")
        assert answer.status_code == 200, answer.text
        view: dict[str, Any] = answer.json()
        return view

    def snapshot(self) -> dict[str, Any]:
        """Return the snapshot."""
        snapshot: dict[str, Any] = self.view()["snapshot"]
        return snapshot

    def decide(self, interrupt_id: str, **body: object) -> httpx.Response:
        """Answer an approval."""
        return self.http.post(f"{self.url}/interrupts/{interrupt_id}", json=body)

    @contextmanager
    def frames(self, token: str = "", last_event_id: str = "") -> Iterator[Iterator[Frame]]:
        """Open the event stream."""
        headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
        params = {"resume_token": token}
        with self.http.stream("GET", f"{self.url}/events", params=params, headers=headers) as got:
            assert got.status_code == 200, got.read()
            assert got.headers["content-type"] == "text/event-stream; charset=utf-8"
            yield read_frames(got.iter_lines())

    def frames_until(self, *types: str, token: str = "", last_event_id: str = "") -> list[Frame]:
        """Read events up to the first of these types."""
        seen: list[Frame] = []
        with self.frames(token, last_event_id) as frames:
            for frame in frames:
                seen.append(frame)
                if frame.event.type in types:
                    return seen
        raise AssertionError(f"the stream ended without {types}")

    def wait_for(self, what: str, probe: Callable[[dict[str, Any]], T | None]) -> T:
        """Read the snapshot until the probe finds something in it."""
        found = wait_until(what, lambda: probe(self.snapshot()))
        assert found is not None
        return found

    def wait_for_end(self) -> list[str]:
        """Wait until no turn runs, and return what was said."""
        return self.wait_for(
            "the end of the turn",
            lambda snapshot: None if "active_turn_id" in snapshot["state"] else texts(snapshot),
        )

    def wait_for_interrupt(self) -> str:
        """Wait for an approval to be asked, and return its ID."""
        found = self.wait_for("an interrupt", lambda snapshot: snapshot["pending_interrupts"])
        interrupt_id: str = found[0]["interrupt_id"]
        return interrupt_id


def new_chat(http: httpx.Client) -> Chat:
    """Return a conversation that no other test has."""
    return Chat(http, f"chat-{secrets.token_hex(4)}")


def texts(snapshot: dict[str, Any]) -> list[str]:
    """Return what the user and the agent said."""
    spoken = (message for message in snapshot["messages"] if message["role"] != "tool")
    return [message["text"] for message in spoken if message["text"]]
