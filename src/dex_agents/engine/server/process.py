# twin: async-only
"""The engine's own process: start, say so, wait for a signal, stop."""

import asyncio
import json
import os
import signal
import sys

from dex_agents.engine.server.runtime import EngineServer, EngineSettings
from dex_agents.engine.store.file import Durability


def serve_until_stopped(
    *,
    path: str,
    address: str,
    durability: Durability,
    dispatch_wait: float,
    drain_seconds: float,
    retain_closed: float | None,
    is_owned: bool,
) -> int:
    """Serve a file until SIGTERM or SIGINT, and return the process's exit status.

    Args:
        path: The engine file.
        address: Where to listen.
        durability: What an acknowledged change survives.
        dispatch_wait: How long work waits for a Worker, in seconds.
        drain_seconds: How long a stop waits for running calls.
        retain_closed: How long a closed run is kept, in seconds; `None` keeps all.
        is_owned: Stop also when standard input ends, as it does when the program that started this
            process has gone, however it went.

    Raises:
        EngineError: The file or the address cannot be used; the text says what to do.
    """
    settings = EngineSettings(
        path=path,
        address=address,
        durability=durability,
        dispatch_wait=dispatch_wait,
        drain_seconds=drain_seconds,
        retain_closed=retain_closed,
    )
    return asyncio.run(_serve(settings, is_owned))


async def _serve(settings: EngineSettings, is_owned: bool) -> int:
    server = EngineServer(settings)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    await server.start()
    if is_owned:
        await loop.connect_read_pipe(lambda: _EndOfInput(stopping), sys.stdin)
    print(json.dumps({"address": server.address, "pid": os.getpid()}), flush=True)
    waits = [asyncio.create_task(stopping.wait()), asyncio.create_task(server.failed.wait())]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waits:
            task.cancel()
        await server.stop()
    if server.failed.is_set():
        print("dex-agents: the engine failed; the log above says why", file=sys.stderr)
        return 1
    return 0


class _EndOfInput(asyncio.Protocol):
    """Set a flag when a pipe is closed at its other end."""

    def __init__(self, flag: asyncio.Event) -> None:
        self._flag = flag

    def connection_lost(self, exc: Exception | None) -> None:
        self._flag.set()
