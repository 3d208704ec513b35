# twin: async-only
"""One running local engine: a file, a port, and how both are opened and given up."""

import asyncio
import math
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import grpc.aio

from dex_agents.engine.core import EngineCore
from dex_agents.engine.requests import WaveEffects
from dex_agents.engine.server.host import EngineHost
from dex_agents.engine.server.pool import WorkerPool
from dex_agents.engine.server.services import service_handlers
from dex_agents.engine.server.step_runs import StepRuns
from dex_agents.engine.server.waves import WaveLoop
from dex_agents.engine.store.file import Durability, Store
from dex_agents.errors import EngineError

_SERVER_OPTIONS = (
    # Workers may answer with more than gRPC's 4 MiB; an engine that refused that would lose them
    # for a minute each time.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # Else a second engine could listen on the same port, and share its callers.
    ("grpc.so_reuseport", 0),
    ("grpc.http2.max_ping_strikes", 0),
)


_LAST_ANSWERS_SECONDS = 0.5
_LARGEST_PORT = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What an engine is started with.

    Attributes:
        path: The engine file.
        address: `host:port`; port 0 takes a free one.
        durability: What an acknowledged change survives.
        dispatch_wait: Seconds that work waits for a Worker before that spends an attempt.
        drain_seconds: How long a stop waits for running calls.
        retain_closed: Seconds that a closed run is kept; `None` keeps all.
    """

    path: str | Path
    address: str = "127.0.0.1:8801"
    durability: Durability = Durability.PROCESS_CRASH
    dispatch_wait: float = 10.0
    drain_seconds: float = 10.0
    retain_closed: float | None = None


class EngineServer:
    """Serve one engine file to Clients and Workers of the `dex` SDK.

    Attributes:
        address: Where it listens.
        failed: Set when the engine cannot go on.
    """

    def __init__(self, settings: EngineSettings) -> None:
        """Describe a server; nothing is opened before `start`."""
        if not (settings.dispatch_wait > 0 and math.isfinite(settings.dispatch_wait)):
            raise ValueError(f"dispatch_wait must be more than 0 s, got {settings.dispatch_wait}")
        self.address = settings.address
        self.failed = asyncio.Event()
        self._settings = settings
        self._opened: _Opened | None = None

    async def start(self) -> None:
        """Open the file and listen.

        Raises:
            EngineFileInUseError: Another engine owns the file.
            EngineFileVersionError: A newer release wrote the file, or it is something else.
            EngineStorageError: The file cannot be opened or written.
            EngineError: The address is taken, or is none.
        """
        store = Store(self._settings.path, self._settings.durability)
        try:
            opened = _open(store, self._settings)
            opened.host.waves.on_failure = lambda error: self.failed.set()
            self.address = _listen(opened.server, self._settings.address)
            await opened.server.start()
            opened.host.waves.open()
        except BaseException:
            store.abandon()
            raise
        self._opened = opened

    async def stop(self) -> None:
        """Hand out nothing more, let running calls finish for a while, close port and file."""
        opened, self._opened = self._opened, None
        if opened is None:
            return
        opened.host.pool.is_draining = True
        if not self.failed.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.drain_seconds):
                    await opened.runs.quiet.wait()
        # The commit of the last result comes with the wave that is scheduled now.
        await asyncio.sleep(0)
        opened.host.waves.close("the engine is stopping")
        opened.host.pool.close()
        # Every call has its end now; this is for the last answers to leave.
        await opened.server.stop(_LAST_ANSWERS_SECONDS)
        if self.failed.is_set():
            opened.store.abandon()
        else:
            opened.store.close()


@dataclass(frozen=True, slots=True)
class _Opened:
    store: Store
    host: EngineHost
    runs: StepRuns
    server: grpc.aio.Server


def _open(store: Store, settings: EngineSettings) -> _Opened:
    pool = WorkerPool(settings.dispatch_wait, lambda work: waves.post(work))
    core = EngineCore(store, dispatcher=pool, retain_closed=settings.retain_closed)
    waves = WaveLoop(core, store)
    host = EngineHost(waves, pool, settings.dispatch_wait, store.index_types())
    runs = StepRuns(host)

    def act(effects: WaveEffects) -> None:
        runs.act(effects)
        pool.end_wave()

    waves.act = act
    waves.on_refused = pool.release_reserved
    core.open(time.time())
    server = grpc.aio.server(options=_SERVER_OPTIONS)
    server.add_generic_rpc_handlers(service_handlers(host))
    return _Opened(store, host, runs, server)


def _listen(server: grpc.aio.Server, address: str) -> str:
    host, colon, port = address.rpartition(":")
    # gRPC takes a larger number for another port.
    if not colon or not host or not port.isdecimal() or int(port) > _LARGEST_PORT:
        raise EngineError(f"{address!r} is no address; give host:port, as 127.0.0.1:8801")
    try:
        taken = server.add_insecure_port(address)
    except RuntimeError:
        taken = 0
    if not taken:
        raise EngineError(
            f"cannot listen on {address}: another program uses it, or it is not an address of "
            "this machine; give another one, or port 0 for any that is free"
        )
    return f"{host}:{taken}"
