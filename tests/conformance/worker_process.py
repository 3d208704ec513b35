# twin: async-only
"""A Worker in a process of its own: says `ready`, and ends when its input does."""

import asyncio
import sys
import tempfile
import threading
from typing import Any

import dex

from tests.conformance.flows import all_flows, registry


def make_worker(colour: str, address: str, folder: str) -> Any:
    """Return a Worker of a colour."""
    found = registry(colour, all_flows(colour))
    cache = dex.open_blob_cache(dex.BlobCacheConfig(folder, 1 << 20))
    pull = dex.PullWorkerOptions(max_concurrent_tasks=8)
    options = dex.WorkerOptions(server_address=address, pull=pull)
    return (dex.AsyncWorker if colour == "async" else dex.Worker)(found, cache, options)


async def run_async(worker: Any) -> None:
    """Run an AsyncWorker until the end of input."""
    running = asyncio.create_task(worker.start())
    await worker.wait_pull_registered(20)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await worker.stop()
    await running


def run_threaded(worker: Any) -> None:
    """Run a threaded Worker until the end of input."""
    running = threading.Thread(target=worker.start)
    running.start()
    worker.wait_pull_registered(20)
    print("ready", flush=True)
    sys.stdin.read()
    worker.stop()
    running.join()


def main(colour: str, address: str) -> None:
    """Run a Worker."""
    with tempfile.TemporaryDirectory() as folder:
        if colour == "async":

            async def run() -> None:
                await run_async(make_worker(colour, address, folder))

            asyncio.run(run())
        else:
            run_threaded(make_worker(colour, address, folder))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
