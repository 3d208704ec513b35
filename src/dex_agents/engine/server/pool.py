# twin: async-only
"""The Workers' streams, and which of them a task goes to.

The SDK opens a stream whenever one becomes busy and closes one whenever one becomes idle while
another registered one is. So one stream per Worker and queue is registered, and the others are
kept as spares, which are registered together with their first task: without that every task would
cost an opening and a closing.
"""

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Protocol

from dex_agents.engine.core import EngineCore
from dex_agents.engine.kernel.state import FlowState, StepExecution
from dex_agents.engine.server.worker_stream import Assignment, WorkerState, WorkerStream

# How long work waits for a registered stream before a spare is used: very short Steps then stay on
# few streams.
_SPARE_DELAY_SECONDS = 0.003
# A Worker that had no room is tried again after a moment, which grows while it has none.
_REJECT_DELAY_SECONDS = 0.01
_LONGEST_REJECT_DELAY_SECONDS = 0.2
# Flows whose last Worker is remembered, and Steps whose unfit Workers are.
_REMEMBERED = 10_000

StepKey = tuple[str, str]


class RpcAssignment(Assignment, Protocol):
    """An RPC that waits for a stream, or is on one."""

    flow_id: str
    flow_type: str
    excluded: set[str]

    @property
    def is_done(self) -> bool:
        """Whether nobody waits for it any more."""
        ...

    def begin(self, stream: WorkerStream) -> None:
        """Put the RPC on a stream."""
        ...


class WorkerPool:
    """Choose streams for tasks.

    Attributes:
        is_draining: Whether nothing more is handed out.
        is_closed: Whether streams end as soon as they open.
    """

    def __init__(
        self, wait_seconds: float, post: Callable[[Callable[[EngineCore], object]], None]
    ) -> None:
        """Begin without Workers.

        Args:
            wait_seconds: The dispatch wait.
            post: Hands work to the next wave.
        """
        self.is_draining = False
        self.is_closed = False
        self._wait_seconds = wait_seconds
        self._post = post
        self._workers: dict[str, WorkerState] = {}
        self._streams: set[WorkerStream] = set()
        self._reserved: dict[StepKey, WorkerStream] = {}
        self._rpcs: deque[RpcAssignment] = deque()
        # By Flow type, the Flows with Steps that no stream was free for, longest wait first.
        # Each with the Workers that know none of them.
        self._waiting: dict[str, dict[str, frozenset[str]]] = {}
        self._last_worker: OrderedDict[str, str] = OrderedDict()
        self._excluded: OrderedDict[StepKey, set[str]] = OrderedDict()
        self._spare_timer: asyncio.TimerHandle | None = None
        self._uses_spares = False
        self._has_offered = False

    # -- Workers -------------------------------------------------------------------------------

    def worker(self, worker_id: str) -> WorkerState:
        """Return what is known of a Worker, from now on."""
        return self._workers.setdefault(worker_id, WorkerState(worker_id))

    def add(self, stream: WorkerStream) -> None:
        """Take in a stream that has just opened."""
        self._streams.add(stream)
        stream.worker.streams.add(stream)
        self._keep_registered(stream.worker, stream.queue)
        self.pump()

    def is_ending(self, stream: WorkerStream) -> None:
        """Use a stream no more: its Worker has closed its side."""
        stream.is_ending = True
        self._keep_registered(stream.worker, stream.queue)

    def remove(self, stream: WorkerStream) -> None:
        """Forget a stream that has ended."""
        self._streams.discard(stream)
        worker = stream.worker
        worker.streams.discard(stream)
        if worker.streams:
            self._keep_registered(worker, stream.queue)
        elif self._workers.get(worker.worker_id) is worker:
            del self._workers[worker.worker_id]

    def _keep_registered(self, worker: WorkerState, queue: str) -> None:
        """Let the Worker have one registered stream on a queue."""
        streams = [s for s in worker.streams if s.queue == queue and not s.is_ending]
        if streams and not any(s.is_registered for s in streams):
            min(streams, key=lambda s: s.idle_since).register()

    def became_idle(self, stream: WorkerStream) -> None:
        """Use a stream whose task has ended; its Worker has room again."""
        stream.worker.rejects = 0
        self.pump()

    def was_rejected(self, stream: WorkerStream) -> None:
        """Leave a stream alone for a moment: it may be closing, or its Worker full."""
        worker = stream.worker
        delay = min(_REJECT_DELAY_SECONDS * 2**worker.rejects, _LONGEST_REJECT_DELAY_SECONDS)
        worker.rejects = min(worker.rejects + 1, 8)
        stream.not_before = time.monotonic() + delay
        asyncio.get_running_loop().call_later(delay, self.pump)

    def fell_silent(self, worker: WorkerState) -> None:
        """Give a Worker nothing until it answers."""
        worker.is_silent = True
        for stream in worker.streams:
            stream.ping()

    def answered(self, worker: WorkerState) -> None:
        """Trust a Worker again."""
        if worker.is_silent:
            worker.is_silent = False
            self.pump()

    def close(self) -> None:
        """End all streams."""
        self.is_closed = True
        for stream in self._streams:
            stream.close()

    # -- Steps: the core's dispatcher ----------------------------------------------------------

    @property
    def wait_seconds(self) -> float:
        """How long a Step is offered to Workers before that spends an attempt."""
        return math.inf if self.is_draining else self._wait_seconds

    def admit(self, state: FlowState, step: StepExecution) -> bool:
        """Reserve a stream for a ready Step, or let its Flow wait for one."""
        run = state.run
        key = (run.run_id, step.step_id)
        excluded = frozenset(self._excluded.get(key, ()))
        stream = None
        if not self.is_draining:
            stream = self._choose(run.flow_type, run.flow_id, excluded)
        if stream is None:
            waiting = self._waiting.setdefault(run.flow_type, {})
            waiting[run.flow_id] = waiting.get(run.flow_id, excluded) & excluded
            self._arm_spares()
            return False
        stream.is_reserved = True
        self._reserved[key] = stream
        return True

    def explain(self, state: FlowState, step: StepExecution) -> str:
        """Say why no Worker took a Step in time."""
        excluded = self._excluded.pop((state.run.run_id, step.step_id), None)
        waited = f"within {self.wait_seconds:g} s"
        flow_type = state.run.flow_type
        if excluded:
            return f"no Worker of {flow_type} knows the Step {step.step_type} ({waited})"
        if any(flow_type in stream.flow_types for stream in self._streams):
            return f"no Worker of {flow_type} had room for {step.step_type} {waited}"
        return f"no Worker of {flow_type} was there for {step.step_type} {waited}"

    def take_reserved(self, key: StepKey) -> WorkerStream:
        """Return the stream that was reserved for a Step."""
        return self._reserved.pop(key)

    def release_reserved(self) -> None:
        """Free what was reserved for a wave that did not happen."""
        for stream in self._reserved.values():
            stream.is_reserved = False
        self._reserved.clear()

    def exclude(self, key: StepKey, worker: WorkerState) -> None:
        """Remember that a Worker does not know a Step."""
        self._excluded.setdefault(key, set()).add(worker.worker_id)
        if len(self._excluded) > _REMEMBERED:
            self._excluded.popitem(last=False)

    def served(self, flow_id: str, worker: WorkerState, key: StepKey | None = None) -> None:
        """Remember who serves a Flow: it is asked first the next time."""
        self._last_worker[flow_id] = worker.worker_id
        self._last_worker.move_to_end(flow_id)
        if len(self._last_worker) > _REMEMBERED:
            self._last_worker.popitem(last=False)
        if key is not None:
            self._excluded.pop(key, None)

    # -- RPCs ----------------------------------------------------------------------------------

    def submit(self, rpc: RpcAssignment) -> None:
        """Give an RPC to a Worker as soon as one is free."""
        stream = self._choose(rpc.flow_type, rpc.flow_id, rpc.excluded)
        if stream is not None:
            rpc.begin(stream)
        else:
            self._rpcs.append(rpc)
            self._arm_spares()

    # -- choice --------------------------------------------------------------------------------

    def pump(self) -> None:
        """Give waiting work to the streams that are free."""
        for _ in range(len(self._rpcs)):
            rpc = self._rpcs.popleft()
            if not rpc.is_done:
                self.submit(rpc)
        if self._waiting and not self.is_draining:
            taken: set[WorkerStream] = set()
            for flow_type in list(self._waiting):
                self._offer_waiting(flow_type, taken)
            self._arm_spares()

    def _offer_waiting(self, flow_type: str, taken: set[WorkerStream]) -> None:
        """Have the next wave try as many Flows of a type as there are streams for."""
        waiting = self._waiting[flow_type]
        for flow_id, excluded in list(waiting.items()):
            stream = self._choose(flow_type, flow_id, excluded, taken)
            if stream is not None:
                taken.add(stream)
                del waiting[flow_id]
                self._offer(flow_id)
            elif not excluded:
                break
        if not waiting:
            del self._waiting[flow_type]

    def _offer(self, flow_id: str) -> None:
        self._has_offered = True
        self._post(lambda core: core.offer(flow_id))

    def end_wave(self) -> None:
        """Offer what is free still: a Flow that was offered may have had no use for it."""
        if self._has_offered:
            self._has_offered = False
            self.pump()
        if not self._has_offered:
            self._uses_spares = False

    def _is_usable(self, stream: WorkerStream) -> bool:
        return (
            stream.is_idle
            and not stream.worker.is_silent
            and (stream.is_registered or self._uses_spares)
            and stream.not_before <= time.monotonic()
        )

    def _serves(self, stream: WorkerStream, flow_type: str) -> bool:
        is_own = stream.queue == stream.worker.worker_id
        return flow_type in stream.flow_types and (is_own or stream.queue == flow_type)

    def _choose(
        self,
        flow_type: str,
        flow_id: str,
        excluded: set[str] | frozenset[str],
        taken: set[WorkerStream] | None = None,
    ) -> WorkerStream | None:
        last = self._last_worker.get(flow_id)
        best: WorkerStream | None = None
        best_score: tuple[bool, bool, float] = (False, False, 0.0)
        for stream in self._streams:
            if not self._is_usable(stream) or not self._serves(stream, flow_type):
                continue
            worker_id = stream.worker.worker_id
            if worker_id in excluded or (taken is not None and stream in taken):
                continue
            # Longest idle first: the SDK closes the one that finished last.
            score = (worker_id == last, stream.is_registered, -stream.idle_since)
            if best is None or score > best_score:
                best, best_score = stream, score
        return best

    def _arm_spares(self) -> None:
        if self._spare_timer is not None or self._uses_spares:
            return
        if not (self._rpcs or self._waiting) or not self._has_spare():
            return
        loop = asyncio.get_running_loop()
        self._spare_timer = loop.call_later(_SPARE_DELAY_SECONDS, self._use_spares)

    def _has_spare(self) -> bool:
        return any(stream.is_idle and not stream.is_registered for stream in self._streams)

    def _use_spares(self) -> None:
        self._spare_timer = None
        self._uses_spares = True
        self.pump()
        # With the wave that the offers above are part of.
        self._uses_spares = self._has_offered
