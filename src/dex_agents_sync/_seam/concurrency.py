# twin: seam
"""Waiting, in threads: the primitives that source modules and tests are written on."""

import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")

# Guards memory only: never held around a call, a callback or a wait.
Lock = threading.Lock


def sleep(seconds: float) -> None:
    """Wait for a time."""
    time.sleep(seconds)


class Event:
    """A flag that can be set once and waited for."""

    def __init__(self) -> None:
        """Create an unset flag."""
        self._event = threading.Event()

    def set(self) -> None:
        """Set the flag and wake all waiters."""
        self._event.set()

    def is_set(self) -> bool:
        """Tell whether the flag is set."""
        return self._event.is_set()

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait for the flag, at most for a time; tell whether it is set."""
        return self._event.wait(timeout_seconds)


def gather(*calls: Callable[[], T]) -> list[T]:
    """Run calls at the same time, a thread each, and return their results in order.

    All calls settle; then the first failure in the order of the arguments is raised.
    """
    results: list[T | None] = [None] * len(calls)
    errors: list[Exception | None] = [None] * len(calls)

    def run(index: int, call: Callable[[], T]) -> None:
        try:
            results[index] = call()
        except Exception as error:  # settled, and raised below
            errors[index] = error

    threads = [
        threading.Thread(target=copy_context().run, args=(run, index, call), daemon=True)
        for index, call in enumerate(calls)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        if error is not None:
            raise error
    return results  # type: ignore[return-value]  # all are set
