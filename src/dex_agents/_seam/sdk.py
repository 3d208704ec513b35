# twin: seam
"""The SDK's Client and Worker for tasks, on asyncio: their names, and how a Worker is run."""

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any

import dex
import grpc.aio

from dex_agents.sdk.stop import WorkerStop

SdkClient = dex.AsyncClient
SdkWorker = dex.AsyncWorker

OTHER_PACKAGE = "dex_agents_sync"

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def new_registry(flows: Sequence[dex.Flow[Any]]) -> dex.Registry:
    """Return a Registry for this package's Flows."""
    return dex.Registry(list(flows), allow_async_handlers=True)


async def run_worker(
    worker: SdkWorker,
    stop: WorkerStop,
    *,
    on_ready: Callable[[], None],
    handles_signals: bool,
) -> None:
    """Run a Worker until it is stopped or fails; a stop lets its running calls finish.

    Args:
        worker: A Worker that was not started.
        stop: Ends it.
        on_ready: Called once the Worker takes work.
        handles_signals: Whether SIGTERM and SIGINT end it too; only in the main thread.

    Raises:
        RuntimeError: The Worker could not start.
    """
    if stop.is_requested:
        return
    loop = asyncio.get_running_loop()
    requested = asyncio.Event()

    def wake() -> None:
        # A loop that has ended waits for nothing.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(requested.set)

    stop.on_request(wake)
    running = asyncio.create_task(worker.start())
    waiting = asyncio.create_task(requested.wait())
    announcing = asyncio.create_task(_announce(worker, on_ready))
    announcing.add_done_callback(lambda task: requested.set() if _failure(task) else None)
    try:
        with _stopped_by_signals(loop, stop, handles_signals):
            await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        announcing.cancel()
        await worker.stop()
        await asyncio.wait({running, announcing})
        failure = _failure(running) or _failure(announcing)
    if failure is not None and not stop.is_requested:
        raise failure


def _failure(task: asyncio.Task[None]) -> BaseException | None:
    return None if task.cancelled() else task.exception()


async def _announce(worker: SdkWorker, on_ready: Callable[[], None]) -> None:
    try:
        await worker.wait_pull_registered()
    except RuntimeError:
        # It failed or was stopped before; whoever runs it is told there.
        return
    on_ready()


@contextlib.contextmanager
def _stopped_by_signals(
    loop: asyncio.AbstractEventLoop, stop: WorkerStop, handles_signals: bool
) -> Generator[None]:
    if not handles_signals or threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.request)
    try:
        yield
    finally:
        # From here on, during the drain, a second signal does what it did before.
        for number, handler in previous.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


async def call_engine(server_address: str, path: str, request: bytes) -> bytes:
    """Call a method of an engine that the SDK's Clients do not offer.

    Raises:
        grpc.RpcError: The engine refused, or does not answer.
    """
    async with grpc.aio.insecure_channel(server_address) as channel:
        # Without serializers it takes and gives bytes.
        method: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(path)
        return await method(request)
