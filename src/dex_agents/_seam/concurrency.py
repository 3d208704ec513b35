# twin: seam
"""Waiting, in tasks: the primitives that source modules and tests are written on."""

import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")

# Guards memory only: never held around a call, a callback or a wait. It is a thread lock here too,
# because plain tools and event writers run in threads.
Lock = threading.Lock


async def sleep(seconds: float) -> None:
    """Wait for a time."""
    await anyio.sleep(seconds)


class Event:
    """A flag that can be set once and waited for; set it from where its waiters run."""

    def __init__(self) -> None:
        """Create an unset flag."""
        self._event = anyio.Event()

    def set(self) -> None:
        """Set the flag and wake all waiters."""
        self._event.set()

    def is_set(self) -> bool:
        """Tell whether the flag is set."""
        return self._event.is_set()

    async def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait for the flag, at most for a time; tell whether it is set."""
        with anyio.move_on_after(timeout_seconds):
            await self._event.wait()
        return self._event.is_set()


async def gather(*calls: Callable[[], Awaitable[T]]) -> list[T]:
    """Run calls at the same time and return their results in order.

    All calls settle; then the first failure in the order of the arguments is raised.
    """
    results: list[T | None] = [None] * len(calls)
    errors: list[Exception | None] = [None] * len(calls)

    async def run(index: int, call: Callable[[], Awaitable[T]]) -> None:
        try:
            results[index] = await call()
        except Exception as error:  # settled, and raised below
            errors[index] = error

    async with anyio.create_task_group() as group:
        for index, call in enumerate(calls):
            group.start_soon(run, index, call)
    for error in errors:
        if error is not None:
            raise error
    return results  # type: ignore[return-value]  # all are set
