# twin: seam
"""The SDK's Client and Worker for threads: their names, and how a Worker is run."""

import contextlib
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from queue import SimpleQueue
from types import FrameType
from typing import Any

import dex
import grpc

from dex_agents.sdk.stop import WorkerStop

SdkClient = dex.Client
SdkWorker = dex.Worker

OTHER_PACKAGE = "dex_agents"

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def new_registry(flows: Sequence[dex.Flow[Any]]) -> dex.Registry:
    """Return a Registry for this package's Flows."""
    return dex.Registry(list(flows))


def run_worker(
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
    failures: list[BaseException] = []
    # A signal handler may fill it while this very thread waits at it; an Event would be locked.
    wake: SimpleQueue[None] = SimpleQueue()
    stop.on_request(lambda: wake.put(None))

    def start() -> None:
        try:
            worker.start()
        except BaseException as error:  # raised again where the Worker is run
            failures.append(error)
        wake.put(None)

    def announce() -> None:
        try:
            worker.wait_pull_registered()
        except RuntimeError:
            # It failed or was stopped before; whoever runs it is told there.
            return
        try:
            on_ready()
        except BaseException as error:  # raised again where the Worker is run
            failures.append(error)
            wake.put(None)

    # The SDK blocks one thread and wants to be stopped from another.
    threads = [
        threading.Thread(target=start, name="dex-agents-worker", daemon=True),
        threading.Thread(target=announce, name="dex-agents-worker-ready", daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        with _stopped_by_signals(stop, handles_signals):
            wake.get()
    finally:
        worker.stop()
        for thread in threads:
            thread.join()
    if failures and not stop.is_requested:
        raise failures[0]


@contextlib.contextmanager
def _stopped_by_signals(stop: WorkerStop, handles_signals: bool) -> Generator[None]:
    if not handles_signals or threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        stop.request()

    previous = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield
    finally:
        # From here on, during the drain, a second signal does what it did before.
        for number, handler in previous.items():
            signal.signal(number, handler)


def call_engine(server_address: str, path: str, request: bytes) -> bytes:
    """Call a method of an engine that the SDK's Clients do not offer.

    Raises:
        grpc.RpcError: The engine refused, or does not answer.
    """
    with grpc.insecure_channel(server_address) as channel:
        # Without serializers it takes and gives bytes.
        method: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(path)
        return method(request)
