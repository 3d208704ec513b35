# twin: shared
"""Browsers that go away leave nothing behind, and the turn goes on without them."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from dex_agents_sync.testing.waiting import wait_until
from tests.examples.servers import Chat, ExampleServer, new_chat

CLIENTS = 100
# At a time; the threaded example has 64 threads.
CLIENTS_AT_ONCE = 25
# The examples notice a silent browser's end within 5 seconds.
LIMIT_SECONDS = 15.0


def test_clients_that_drop_at_random_times_leave_nothing_behind(
    server: ExampleServer, http: httpx.Client, chat: Chat
) -> None:
    chat.say("Please refund orders 1 and 2 and 3")
    before = open_files(server)
    times = random.Random(23)

    def follow(seconds: float) -> None:
        with httpx.Client(base_url=server.base_url, timeout=30) as client:
            dropped = Chat(client, chat.session_id)
            with dropped.frames() as frames:
                next(frames)
                time.sleep(seconds)

    with ThreadPoolExecutor(CLIENTS_AT_ONCE) as pool:
        list(pool.map(follow, [times.uniform(0, 0.5) for _ in range(CLIENTS)]))

    wait_until(
        "the connections to be closed",
        lambda: open_files(server) <= before,
        timeout_seconds=LIMIT_SECONDS,
    )
    for interrupt in chat.wait_for("approvals", lambda seen: seen["pending_interrupts"]):
        chat.decide(interrupt["interrupt_id"], approved=True)
    assert "Order 3 is refunded" in chat.wait_for_end()[-1]
    # No thread is held by a browser that is gone: so many new ones are served at once.
    fresh = new_chat(http)
    fresh.say("Hello")
    fresh.wait_for_end()
    with ThreadPoolExecutor(CLIENTS_AT_ONCE) as pool:
        read = pool.map(lambda _: fresh.frames_until("turn_completed"), range(CLIENTS_AT_ONCE * 2))
        assert len(list(read)) == CLIENTS_AT_ONCE * 2


def open_files(server: ExampleServer) -> int:
    """Return how many files and sockets a server process has open."""
    folder = Path(f"/proc/{server.pid}/fd")
    if not folder.exists():
        pytest.skip("only Linux tells what a process has open")
    return len(list(folder.iterdir()))
