# twin: seam
"""What the embedded engine runs on, in threads: a mailbox, tickets for answers, background calls.

Background calls run in daemon threads that are used again, so that a tool which never returns
cannot keep the interpreter from ending, and a short call does not pay for a new thread.
"""

import queue
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Generic, TypeVar

T = TypeVar("T")

# How long a thread without work waits for more before it ends.
_IDLE_SECONDS = 10.0


class Ticket(Generic[T]):
    """A promised answer; kept by the engine, waited for by the caller."""

    def __init__(self) -> None:
        """Create an open ticket."""
        # A lock that its creator holds is the cheapest one-shot event there is.
        self._lock = threading.Lock()
        self._lock.acquire()
        self._value: T | None = None
        self._error: BaseException | None = None

    def set(self, value: T) -> None:
        """Answer."""
        self._value = value
        self._lock.release()

    def fail(self, error: BaseException) -> None:
        """Answer with an error."""
        self._error = error
        self._lock.release()

    def wait(self) -> T:
        """Return the answer or raise the error."""
        with self._lock:
            pass
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # it is set


class Mailbox(Generic[T]):
    """Items for one reader, from any thread."""

    def __init__(self) -> None:
        """Create an empty mailbox."""
        self._items: queue.SimpleQueue[T] = queue.SimpleQueue()
        self._reader: int | None = None

    def post(self, item: T) -> None:
        """Add an item; never waits."""
        self._items.put(item)

    def take(self, timeout_seconds: float | None) -> list[T]:
        """Return all items, waiting for the first one at most for a time."""
        self._reader = threading.get_ident()
        try:
            # threading refuses timeouts beyond its clock; a day is as good as for ever.
            timeout = None if timeout_seconds is None else min(max(timeout_seconds, 0.0), 86400.0)
            first = self._items.get(timeout=timeout)
        except queue.Empty:
            return []
        return [first, *self.drain()]

    def drain(self) -> list[T]:
        """Return what is there, without waiting."""
        items: list[T] = []
        while True:
            try:
                items.append(self._items.get_nowait())
            except queue.Empty:
                return items

    def is_reader(self) -> bool:
        """Tell whether the caller would wait for itself."""
        return self._reader == threading.get_ident()


class BackgroundCall:
    """A call that runs beside its starter."""

    def __init__(self, call: Callable[[], None]) -> None:
        """Prepare the call; `spawn` starts it."""
        self._call = call
        self._cancelled = threading.Event()
        self._done = threading.Event()

    def run(self) -> None:
        """Run the call to its end; errors are the call's own business."""
        try:
            self._call()
        finally:
            self._done.set()

    def cancel(self) -> None:
        """Ask the call to stop: a thread cannot be interrupted, only told."""
        self._cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled.is_set()

    def join(self, timeout_seconds: float | None = None) -> bool:
        """Wait for the end, at most for a time; tell whether it came."""
        return self._done.wait(timeout_seconds)


class CallPool:
    """Starts background calls for one engine, in threads without an upper limit."""

    def __init__(self) -> None:
        """Start without any thread."""
        self._lock = threading.Lock()
        self._work: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._idle = 0
        self._is_closed = False

    def spawn(self, call: Callable[[], None], name: str) -> BackgroundCall:
        """Start a call in the background, in a copy of the caller's context."""
        background = BackgroundCall(call)
        context = copy_context()

        def work() -> None:
            threading.current_thread().name = name
            context.run(background.run)

        with self._lock:
            # An idle thread is reserved here and not when it wakes, else two calls could count
            # on the same one and the second would wait for the first to end.
            is_reserved = self._idle > 0
            if is_reserved:
                self._idle -= 1
        if is_reserved:
            self._work.put(work)
        else:
            threading.Thread(target=self._serve, args=(work,), daemon=True).start()
        return background

    def close(self) -> None:
        """Let idle threads end now, and busy ones after their call."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, 0
        for _ in range(idle):
            self._work.put(None)

    def _serve(self, work: Callable[[], object] | None) -> None:
        while work is not None:
            work()
            work = self._next()

    def _next(self) -> Callable[[], object] | None:
        with self._lock:
            if self._is_closed:
                return None
            self._idle += 1
        try:
            return self._work.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            pass
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
                return None
        # Reserved in the very moment it gave up: the work is there or about to be.
        return self._work.get()
