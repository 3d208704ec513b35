# twin: generated from src/dex_agents/engine/embedded/loop.py by tools/twin; do not edit.
"""The loop of an embedded engine: it owns the core, and calls run beside it.

The loop takes requests, makes all their changes in one commit, and only then answers, hands out
and wakes. Decisions of Steps are short and run in the loop; calls of models and tools run in the
background and send their results as requests.
"""

import logging
import os
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from dex_agents_sync._seam.concurrency import Event
from dex_agents_sync._seam.scheduler import BackgroundCall, CallPool, Mailbox, Ticket
from dex_agents.engine.clock import Clock
from dex_agents.engine.core import EngineCore
from dex_agents_sync.engine.embedded.requests import Request
from dex_agents_sync.engine.embedded.worker import EmbeddedWorker
from dex_agents.engine.requests import WaveEffects
from dex_agents.engine.store.cut import StoreCut
from dex_agents.engine.store.file import Store
from dex_agents.engine.store.streams import StreamKey
from dex_agents.errors import EngineStoppedError, EngineStorageError
from dex_agents_sync.session.agent_session import AgentSession

T = TypeVar("T")

logger = logging.getLogger("dex_agents.engine")

# After the disk refused a commit, results of finished calls are offered again this often.
_STORAGE_RETRY_SECONDS = 1.0


class EngineLoop:
    """Run one store's Flows with the sessions of this process, from `start` to `stop`."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        seed: int | None,
        reuses_snapshots: bool,
        retain_closed: timedelta | None,
    ) -> None:
        """Take over an open store; see `EmbeddedEngine` for the other arguments."""
        self.clock = clock
        self.refused_commits = 0
        self._store = store
        self._pool = CallPool()
        self._worker = EmbeddedWorker(self, self._pool)
        self._core = EngineCore(
            store,
            seed=seed,
            reuses_snapshots=reuses_snapshots,
            is_alive=self._worker.is_running,
            retain_closed=None if retain_closed is None else retain_closed.total_seconds(),
        )
        self._mailbox: Mailbox[Request[object]] = Mailbox()
        self._ready: list[Request[object]] = []
        self._wave: list[Request[object]] = []
        self._postponed: list[tuple[float, Request[object]]] = []
        self._watchers: dict[StreamKey, list[Event]] = {}
        self._failure: BaseException | None = None
        self._is_stopping = False
        self._quiet = Event()
        self._pid = os.getpid()
        self._core.open(clock.now())
        clock.on_change(lambda: self.post(lambda core: None))
        self._call: BackgroundCall = self._pool.spawn(self._run, "dex-agents-engine")

    # -- for the engine and its client -------------------------------------------------------

    @property
    def is_of_this_process(self) -> bool:
        """Whether the loop runs in this process, and not in the one this was forked from."""
        return self._pid == os.getpid()

    @property
    def commits(self) -> int:
        """How many transactions were made."""
        return self._store.commits

    def add(self, session: AgentSession) -> None:
        """Run a session's Steps from now on.

        Raises:
            ValueError: Its Flow type is served already.
            EngineStoppedError: The loop has ended.
        """
        self._require_running()
        self._worker.add(session)
        self.post(lambda core: core.serve(session.flow_type))

    def stop(self, drain_seconds: float) -> None:
        """Hand out nothing more, let running calls finish for a while, close the store."""
        self.post(self._begin_drain)
        self._quiet.wait(drain_seconds)
        self.post(self._begin_stop)
        self._call.join()

    def post(self, work: Callable[[EngineCore], object]) -> None:
        """Hand work over without waiting for it; from any thread."""
        self._mailbox.post(Request(work))

    def request(self, work: Callable[[EngineCore], T]) -> T:
        """Hand work over and return its result once that is durable.

        Raises:
            EngineStoppedError: The engine is closed, or dies before it can answer.
            EngineStorageError: The disk refused the change.
        """
        self._require_running()
        ticket: Ticket[T] = Ticket()
        self._mailbox.post(Request(work, ticket))  # type: ignore[arg-type]  # answers as it takes
        if self._failure is not None:
            # The loop may have ended between the check and the post.
            self._refuse_waiting(self._failure)
        return ticket.wait()

    def watch(self, key: StreamKey, watcher: Event) -> None:
        """Have a flag set at the next event of a Stream; called within a request."""
        self._watchers.setdefault(key, []).append(watcher)

    def unwatch(self, key: StreamKey, watcher: Event) -> None:
        """Forget a flag; called within a request."""
        watchers = self._watchers.get(key, [])
        if watcher in watchers:
            watchers.remove(watcher)
        if not watchers:
            self._watchers.pop(key, None)

    def _require_running(self) -> None:
        if self._failure is not None:
            raise EngineStoppedError(str(self._failure)) from self._failure
        if not self.is_of_this_process:
            raise EngineStoppedError(
                "this engine was started before the process forked and runs only in its parent; "
                "start the engine after the fork, and in one process only"
            )
        if self._mailbox.is_reader():
            raise RuntimeError(
                "the engine cannot wait for itself: a function that builds messages called a "
                "session client"
            )

    def _begin_drain(self, core: EngineCore) -> None:
        core.served.clear()
        self._worker.is_draining = True
        if self._worker.is_idle:
            self._quiet.set()

    def _begin_stop(self, core: EngineCore) -> None:
        self._is_stopping = True

    # -- turns --------------------------------------------------------------------------------

    def _run(self) -> None:
        failure: BaseException = EngineStoppedError("the engine was interrupted")
        is_closed = False
        try:
            while not self._is_stopping:
                self._take_turn()
            self._worker.cancel_all()
            for _, request in self._postponed:
                self._run_wave([request])
            self._store.close()
            is_closed = True
            failure = EngineStoppedError("the engine is closed")
        except StoreCut as cut:
            failure = cut
        except Exception as error:  # the engine's own fault: say so, and answer nobody
            failure = error
            logger.critical("the engine stopped: %s", error, exc_info=error)
        finally:
            if not is_closed:
                self._worker.cancel_all()
                self._store.abandon()
            self._end(failure)

    def _end(self, failure: BaseException) -> None:
        self._failure = failure
        for request in (*self._wave, *self._ready):
            request.refuse(EngineStoppedError(str(failure)))
        self._refuse_waiting(failure)
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.set()
        self._quiet.set()
        self._pool.close()

    def _take_turn(self) -> None:
        requests, self._ready = self._ready, []
        requests.extend(self._take_postponed())
        if requests or self._skip_time():
            requests.extend(self._mailbox.drain())
        else:
            requests = self._mailbox.take(self._wait_seconds())
        self._run_wave(requests)

    def _run_wave(self, requests: list[Request[object]]) -> None:
        """Make all changes of these requests durable, and only then act on them."""
        self._wave = requests
        self._core.begin(self.clock.now())
        for request in requests:
            request.run(self._core)
        try:
            self._core.commit()
        except EngineStorageError as error:
            self._survive(requests, error)
            return
        self._wave = []
        for request in requests:
            request.answer()
            if request.own_error is not None:
                logger.error("the engine failed: %s", request.own_error, exc_info=request.own_error)
        self._act(self._core.take_effects())

    def _survive(self, requests: list[Request[object]], error: EngineStorageError) -> None:
        """Tell a caller that the disk refused, and keep the engine's own work for later."""
        logger.error("%s", error)
        self.refused_commits += 1
        if len(requests) > 1:
            # One that is too large must not fail the others, nor those that only read.
            for request in requests:
                self._run_wave([request])
            return
        self._wave = []
        for request in requests:
            if request.ticket is None:
                self._postponed.append((time.monotonic() + _STORAGE_RETRY_SECONDS, request))
            else:
                request.refuse(error)

    def _take_postponed(self) -> list[Request[object]]:
        now = time.monotonic()
        due = [request for moment, request in self._postponed if moment <= now]
        if due:
            self._postponed = [entry for entry in self._postponed if entry[0] > now]
        return due

    def _wait_seconds(self) -> float | None:
        """Return how long the loop may sleep; `None` until somebody posts."""
        bounds = [max(0.0, moment - time.monotonic()) for moment, _ in self._postponed[:1]]
        events_due = self._store.events_due_in()
        if events_due is not None:
            bounds.append(events_due)
        due = self._core.next_due()
        if due is not None and not self.clock.is_virtual:
            bounds.append(max(0.0, due - self.clock.now()))
        return min(bounds, default=None)

    def _skip_time(self) -> bool:
        due = self._core.next_due()
        if not self.clock.is_virtual or due is None:
            return False
        if due <= self.clock.now():
            return True
        if not self.clock.skips_time or not self._worker.is_idle:
            return False
        self.clock.jump_to(due)
        return True

    def _act(self, effects: WaveEffects) -> None:
        for key in effects.appended:
            for watcher in self._watchers.pop(key, ()):
                watcher.set()
        for attempt in effects.cancelled:
            self._worker.cancel(attempt)
        for task in effects.tasks:
            result = self._worker.perform(task)
            if result is not None:
                self._ready.append(Request(result))
        if self._worker.is_draining and self._worker.is_idle:
            self._quiet.set()

    def _refuse_waiting(self, failure: BaseException) -> None:
        error = EngineStoppedError(str(failure))
        for request in self._mailbox.drain():
            request.refuse(error)
