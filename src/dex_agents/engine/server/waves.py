# twin: async-only
"""The wave: requests that are ready in one turn of the loop share one commit.

Requests are run, their changes committed, and only then answered and acted on, all without a wait
in between. So between two waves what is in memory is what is in the file.
"""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from dex_agents.engine.core import EngineCore
from dex_agents.engine.requests import WaveEffects
from dex_agents.engine.store.file import Store
from dex_agents.errors import EngineStoppedError, EngineStorageError

T = TypeVar("T")

logger = logging.getLogger("dex_agents.engine")

# After the disk refused a commit, results of finished calls are offered again this often.
_STORAGE_RETRY_SECONDS = 1.0
_LONGEST_SLEEP_SECONDS = 3600.0


class _Request(Generic[T]):
    """Work on the core; with an answer when somebody waits for it."""

    __slots__ = ("answer", "error", "value", "work")

    def __init__(self, work: Callable[[EngineCore], T], answer: asyncio.Future[T] | None) -> None:
        self.work = work
        self.answer = answer
        self.value: T | None = None
        self.error: Exception | None = None

    def run(self, core: EngineCore) -> None:
        self.value = None
        self.error = None
        if self.answer is not None and self.answer.cancelled():
            # Nobody would give back what this takes.
            return
        try:
            self.value = self.work(core)
        except sqlite3.Error as error:
            self.error = EngineStorageError(f"cannot read the engine file: {error}")
        except Exception as error:  # answered to the caller, whose error it is
            self.error = error

    def settle(self) -> None:
        if self.answer is None:
            if self.error is not None:
                logger.error("the engine failed: %s", self.error, exc_info=self.error)
        elif not self.answer.done():
            if self.error is None:
                self.answer.set_result(self.value)  # type: ignore[arg-type]  # it is set
            else:
                self.answer.set_exception(self.error)

    def refuse(self, error: Exception) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)


class WaveLoop:
    """Own the core within one event loop.

    Attributes:
        act: Called with the effects of each commit.
        on_refused: Called when the disk refused a commit, before anything is tried again.
        on_failure: Called once when the engine cannot go on.
    """

    def __init__(self, core: EngineCore, store: Store) -> None:
        """Take over an opened core; call from within the loop."""
        self.act: Callable[[WaveEffects], None] = lambda effects: None
        self.on_refused: Callable[[], None] = lambda: None
        self.on_failure: Callable[[BaseException], None] = lambda error: None
        self._core = core
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._requests: list[_Request[object]] = []
        self._postponed: list[tuple[float, _Request[object]]] = []
        self._is_scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._failure: Exception | None = None
        self._watchers: dict[Hashable, set[asyncio.Event]] = {}

    async def ask(self, work: Callable[[EngineCore], T]) -> T:
        """Do work in the next wave and return its result once that is durable.

        Raises:
            EngineStoppedError: The engine is stopping.
            EngineStorageError: The disk refused the change.
        """
        if self._failure is not None:
            raise EngineStoppedError(str(self._failure))
        answer: asyncio.Future[T] = self._loop.create_future()
        # Each request answers with the type that its own work returns.
        self._requests.append(_Request(work, answer))  # type: ignore[arg-type]
        self._schedule()
        return await answer

    def post(self, work: Callable[[EngineCore], object]) -> None:
        """Do work in the next wave; when the disk refuses it, it is done again later."""
        if self._failure is None:
            self._requests.append(_Request(work, None))
            self._schedule()

    async def poll(
        self, key: Hashable, probe: Callable[[EngineCore], T | None], wait_seconds: float
    ) -> T | None:
        """Return what a probe finds, looking again whenever `key` has changed.

        Args:
            key: A Flow ID or a Stream.
            probe: Returns `None` until there is something.
            wait_seconds: How long to wait before `None` is the answer.
        """
        give_up_at = time.monotonic() + wait_seconds
        watcher = asyncio.Event()
        watchers = self._watchers.setdefault(key, set())
        watchers.add(watcher)
        try:
            while True:
                watcher.clear()
                found = await self.ask(probe)
                remaining = give_up_at - time.monotonic()
                if found is not None or remaining <= 0:
                    return found
                try:
                    async with asyncio.timeout(remaining):
                        await watcher.wait()
                except TimeoutError:
                    return None
        finally:
            watchers.discard(watcher)
            if not watchers and self._watchers.get(key) is watchers:
                del self._watchers[key]

    def open(self) -> None:
        """Begin with what an earlier engine left."""
        self._schedule()

    def close(self, reason: str) -> None:
        """Take no more requests; those that wait are refused."""
        if self._failure is None:
            # The last chance of what the disk refused before.
            for _, request in self._postponed:
                self._run_wave([request])
            self._end(EngineStoppedError(reason))

    # -- turns ---------------------------------------------------------------------------------

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        self._is_scheduled = False
        if self._failure is not None:
            return
        requests, self._requests = self._requests, []
        requests.extend(self._take_postponed())
        try:
            self._run_wave(requests)
            self._set_timer()
        except Exception as error:  # the engine's own fault: say so, and answer nobody
            logger.critical("the engine stopped: %s", error, exc_info=error)
            for request in requests:
                request.refuse(EngineStoppedError(str(error)))
            self._end(error)
            self.on_failure(error)

    def _run_wave(self, requests: list[_Request[object]]) -> None:
        self._core.begin(time.time())
        for request in requests:
            request.run(self._core)
        try:
            self._core.commit()
        except EngineStorageError as error:
            self._survive(requests, error)
            return
        for request in requests:
            request.settle()
        effects = self._core.take_effects()
        self.act(effects)
        for key in (*effects.changed_flows, *effects.appended):
            for watcher in self._watchers.get(key, ()):
                watcher.set()

    def _survive(self, requests: list[_Request[object]], error: EngineStorageError) -> None:
        """Tell a caller that the disk refused, and keep the engine's own work for later."""
        logger.error("%s", error)
        self.on_refused()
        if len(requests) > 1:
            # One that is too large must not fail the others, nor those that only read.
            for request in requests:
                self._run_wave([request])
            return
        for request in requests:
            if request.answer is None:
                self._postponed.append((time.monotonic() + _STORAGE_RETRY_SECONDS, request))
            else:
                request.refuse(error)

    def _take_postponed(self) -> list[_Request[object]]:
        now = time.monotonic()
        due = [request for moment, request in self._postponed if moment <= now]
        if due:
            self._postponed = [entry for entry in self._postponed if entry[0] > now]
        return due

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        bounds = [max(0.0, moment - time.monotonic()) for moment, _ in self._postponed[:1]]
        events_due = self._store.events_due_in()
        if events_due is not None:
            bounds.append(events_due)
        due = self._core.next_due()
        if due is not None:
            bounds.append(max(0.0, due - time.time()))
        if bounds:
            delay = min(*bounds, _LONGEST_SLEEP_SECONDS)
            self._timer = self._loop.call_later(delay, self._schedule)

    def _end(self, failure: Exception) -> None:
        self._failure = failure
        if self._timer is not None:
            self._timer.cancel()
        requests, self._requests = self._requests, []
        for request in requests:
            request.refuse(EngineStoppedError(str(failure)))
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.set()
