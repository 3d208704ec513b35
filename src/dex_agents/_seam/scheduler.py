# twin: seam
"""What the embedded engine runs on, in tasks: a mailbox, tickets for answers, background calls.

Background calls are tasks of the backend itself (asyncio or trio), not children of the caller's
scope: an engine outlives the request that started it.
"""

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any, Generic, TypeVar

import anyio
import anyio.lowlevel

T = TypeVar("T")

# asyncio keeps only weak references to its tasks.
_running: set[asyncio.Task[None]] = set()


def _trio_token() -> Any:
    """Return the running trio loop's token, or `None` under another backend."""
    trio = sys.modules.get("trio")
    if trio is None:
        return None
    try:
        return trio.lowlevel.current_trio_token()
    except RuntimeError:
        return None


class Ticket(Generic[T]):
    """A promised answer; kept by the engine, waited for by the caller."""

    def __init__(self) -> None:
        """Create an open ticket."""
        self._event = anyio.Event()
        self._value: T | None = None
        self._error: BaseException | None = None

    def set(self, value: T) -> None:
        """Answer."""
        self._value = value
        self._event.set()

    def fail(self, error: BaseException) -> None:
        """Answer with an error."""
        self._error = error
        self._event.set()

    async def wait(self) -> T:
        """Return the answer or raise the error."""
        await self._event.wait()
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # it is set


class Mailbox(Generic[T]):
    """Items for one reader, from any thread. Create it where the reader runs."""

    def __init__(self) -> None:
        """Create an empty mailbox that belongs to the current backend's loop."""
        self._items: deque[T] = deque()
        self._event = anyio.Event()
        self._owner = threading.get_ident()
        token = _trio_token()
        self._call_soon: Callable[..., object] = (
            asyncio.get_running_loop().call_soon_threadsafe
            if token is None
            else token.run_sync_soon
        )

    def post(self, item: T) -> None:
        """Add an item; never waits."""
        self._items.append(item)
        if threading.get_ident() == self._owner:
            self._event.set()
            return
        try:
            self._call_soon(self._wake)
        except RuntimeError:
            # The loop has ended, and the reader with it.
            self._items.clear()

    def _wake(self) -> None:
        self._event.set()

    async def take(self, timeout_seconds: float | None) -> list[T]:
        """Return all items, waiting for the first one at most for a time."""
        if self._items:
            # Others must have their turn too, also when threads post without a pause.
            await anyio.lowlevel.checkpoint()
        else:
            with anyio.move_on_after(timeout_seconds):
                await self._event.wait()
        if self._event.is_set():
            self._event = anyio.Event()
        return self.drain()

    def drain(self) -> list[T]:
        """Return what is there, without waiting."""
        items = self._items
        return [items.popleft() for _ in range(len(items))]

    def is_reader(self) -> bool:
        """Tell whether the caller would wait for itself: never, where waiting is cooperative."""
        return False


class BackgroundCall:
    """A call that runs beside its starter."""

    def __init__(self, call: Callable[[], Awaitable[None]]) -> None:
        """Prepare the call; `spawn` starts it."""
        self._call = call
        self._scope = anyio.CancelScope()
        self._done = anyio.Event()

    async def run(self) -> None:
        """Run the call to its end; errors are the call's own business."""
        try:
            with self._scope:
                await self._call()
        finally:
            self._done.set()

    def cancel(self) -> None:
        """Stop the call at its next wait."""
        self._scope.cancel()

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._scope.cancel_called

    async def join(self, timeout_seconds: float | None = None) -> bool:
        """Wait for the end, at most for a time; tell whether it came."""
        with anyio.move_on_after(timeout_seconds):
            await self._done.wait()
        return self._done.is_set()


class CallPool:
    """Starts background calls for one engine."""

    def spawn(self, call: Callable[[], Awaitable[None]], name: str) -> BackgroundCall:
        """Start a call in the background, in a copy of the caller's context."""
        background = BackgroundCall(call)
        if _trio_token() is not None:
            import trio

            trio.lowlevel.spawn_system_task(background.run, name=name, context=copy_context())
            return background
        task = asyncio.get_running_loop().create_task(background.run(), name=name)
        _running.add(task)
        task.add_done_callback(_running.discard)
        return background

    def close(self) -> None:
        """Give up what waits for more calls; here nothing does."""
