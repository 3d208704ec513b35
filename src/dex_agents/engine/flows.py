# twin: shared
"""The Flows in memory, and the wave: what requests change between two commits.

A Flow is read from the file when first asked for. Between two commits the Flows in memory are
ahead of the file; a refused commit drops those that are, and they are read again.
"""

import heapq
import math
from collections.abc import Callable

from dex_agents.engine.kernel.advance import heartbeat_deadline, next_due, ready_steps
from dex_agents.engine.kernel.delivery import expire_offer
from dex_agents.engine.kernel.messages import DISCONNECTED_ERROR_TYPE, Failure
from dex_agents.engine.kernel.state import FlowState, Phase, RunRecord, StepExecution
from dex_agents.engine.kernel.transition import Transition
from dex_agents.engine.kernel.transitions import apply_failure, fire_due, hand_out
from dex_agents.engine.requests import AttemptKey, Dispatcher, WaveEffects
from dex_agents.engine.store.file import Store
from dex_agents.errors import EngineStorageError

# Flows kept in memory beyond those with running work; the others are read again when needed.
_IDLE_FLOWS_IN_MEMORY = 2048
# How long Flows rest after the disk refused their commit.
_STORAGE_RETRY_SECONDS = 1.0
_ROUNDING_SECONDS = 0.001


class FlowTable:
    """Keep the Flows of one store, apply transitions to them, and commit what a wave changed.

    Attributes:
        served: The Flow types whose Steps may be handed out.
        now: The time of the current wave.
        effects: What the next commit allows.
    """

    def __init__(
        self,
        store: Store,
        *,
        reuses_snapshots: bool,
        is_alive: Callable[[AttemptKey], bool],
        dispatcher: Dispatcher | None = None,
        retain_closed: float | None = None,
    ) -> None:
        """Wrap an open store; see `EngineCore` for the arguments."""
        self.served: set[str] = set()
        self.now = 0.0
        self.effects = WaveEffects()
        self._store = store
        self._reuses_snapshots = reuses_snapshots
        self._is_alive = is_alive
        self._dispatcher = dispatcher
        self._opened_at = 0.0
        self._loaded: dict[str, FlowState] = {}
        self._touched: set[str] = set()
        self._sweep_above = _IDLE_FLOWS_IN_MEMORY
        # Timers up to this time have fired, of every Flow that was in memory then.
        self._fired_until = -math.inf
        # Flows whose attempts of an earlier engine are not yet stored as interrupted.
        self._left_behind: set[str] = set()
        # The RPC locks that this wave has taken, by the token of their RPC.
        self._new_locks: list[tuple[FlowState, str]] = []
        # What a Flow that was dropped after a refused commit had in memory only.
        self._dropped: dict[str, FlowState] = {}
        # At most one current entry per Flow; `_due_at` tells it from those it replaced.
        self._due: list[tuple[float, str]] = []
        self._due_at: dict[str, float] = {}
        self._retain_closed = retain_closed
        # When the run that was closed first has been kept long enough.
        self._remove_at = math.inf

    # -- Flows ---------------------------------------------------------------------------------

    def open(self, now: float) -> None:
        """Take up what an earlier engine left."""
        self.now = self._opened_at = now
        if self._retain_closed is not None:
            self._store.expect_removals()
            self._plan_removal()
        for flow_id, due in self._store.sleeping_runs():
            self._schedule(flow_id, due)
        records = self._store.unfinished_runs()
        self._left_behind = {record.flow_id for record in records}
        for record in records:
            self._load(record)
            self._touched.add(record.flow_id)

    def serve(self, flow_type: str) -> None:
        """Let the Steps of a Flow type be handed out from now on."""
        self.served.add(flow_type)
        for record in self._store.unfinished_runs():
            if record.flow_type == flow_type:
                self._touched.add(record.flow_id)
                self.latest(record.flow_id)

    def offer(self, flow_id: str) -> None:
        """Try again in this wave to hand out what is ready in a Flow."""
        if self.latest(flow_id) is not None:
            self._touched.add(flow_id)

    def add(self, state: FlowState) -> None:
        """Keep a run that has just started."""
        self._loaded[state.run.flow_id] = state

    def latest(self, flow_id: str) -> FlowState | None:
        """Return the latest run of a Flow, or `None`."""
        state = self._loaded.get(flow_id)
        if state is None:
            record = self._store.find_run(flow_id)
            state = None if record is None else self._load(record)
        return state

    def find(self, flow_id: str, run_id: str = "") -> FlowState | None:
        """Return the named run of a Flow, or its latest one without a name, or `None`."""
        state = self.latest(flow_id)
        if state is None or run_id in ("", state.run.run_id):
            return state
        record = self._store.find_run(flow_id, run_id)
        return None if record is None else self._store.load(record)

    def _load(self, record: RunRecord) -> FlowState:
        state = self._store.load(record)
        if not state.is_active:
            return state
        flow_id = record.flow_id
        self._loaded[flow_id] = state
        # Timers may have fired and locks have gone while it was away.
        self._schedule(flow_id, self.now)
        dropped = self._dropped.pop(flow_id, None)
        if dropped is not None and dropped.run.run_id == record.run_id:
            # Calls and RPCs go on while the disk is full, and so do their locks and signs of life.
            state.rpc_locks, state.heartbeats = dropped.rpc_locks, dropped.heartbeats
        if flow_id in self._left_behind:
            for step in list(state.steps.values()):
                # One that may not be tried again closes the run, and the other Steps with it.
                if step.phase is Phase.RUNNING and step.step_id in state.steps:
                    self._interrupt(state, step)
        return state

    def _interrupt(self, state: FlowState, step: StepExecution) -> None:
        failure = Failure(
            detail=f"the engine stopped during attempt {step.attempt}",
            error_type=DISCONNECTED_ERROR_TYPE,
            is_interruption=True,
        )
        transition = Transition(state, self.now)
        apply_failure(transition, step, failure)
        self.apply(transition)

    # -- the wave ------------------------------------------------------------------------------

    def apply(self, transition: Transition) -> None:
        """Change a Flow; the change is durable with the next commit."""
        state = transition.state
        was_active = state.is_active
        self._store.write(transition.commit())
        for step in transition.cancelled:
            if step.phase is Phase.RUNNING:
                self.effects.cancelled.append(attempt_of(state.run.run_id, step))
        if was_active and not state.is_active:
            self.effects.closed_flows.add(state.run.flow_id)
        self.effects.changed_flows.add(state.run.flow_id)
        self._touched.add(state.run.flow_id)

    def take_locks(self, state: FlowState, locks: tuple[str, ...], token: str) -> None:
        """Hold locks for an RPC; a refused commit of this wave takes them away again."""
        if locks:
            state.rpc_locks.update(dict.fromkeys(locks, token))
            self._new_locks.append((state, token))

    def commit(self) -> None:
        """Let due timers fire, hand out what is ready, and make the whole wave durable.

        Raises:
            EngineStorageError: The disk refused; the wave did not happen.
        """
        self._fire_due()
        self._hand_out_ready()
        removes = self._retain_closed is not None and self._remove_at <= self.now
        try:
            if removes:
                self._store.remove_closed(self.now - (self._retain_closed or 0.0))
            self._store.commit()
        except EngineStorageError:
            self._forget_wave()
            raise
        self._left_behind -= self._touched
        self._touched.clear()
        self._new_locks.clear()
        for flow_id in self.effects.closed_flows:
            state = self._loaded.get(flow_id)
            # The next run of the Flow may have begun within the same wave.
            if state is None or not state.is_active:
                self._loaded.pop(flow_id, None)
                self._due_at.pop(flow_id, None)
        if len(self._loaded) > self._sweep_above:
            self._drop_idle_flows()
        if removes or (self.effects.closed_flows and self._remove_at == math.inf):
            self._plan_removal()

    def _plan_removal(self) -> None:
        if self._retain_closed is not None:
            first = self._store.first_closed_at()
            # Rounding must not make a run due before the store finds it old enough.
            self._remove_at = (
                math.inf if first is None else first + self._retain_closed + _ROUNDING_SECONDS
            )

    def take_effects(self) -> WaveEffects:
        """Return what the last commits allow, once."""
        effects, self.effects = self.effects, WaveEffects()
        return effects

    def _forget_wave(self) -> None:
        for holder, token in self._new_locks:
            release_locks(holder, token)
        self._new_locks.clear()
        for flow_id in self._touched:
            state = self._loaded.pop(flow_id, None)
            if state is not None and (state.rpc_locks or state.heartbeats):
                self._dropped[flow_id] = state
            self._schedule(flow_id, self.now + _STORAGE_RETRY_SECONDS)
        if self._remove_at <= self.now:
            self._remove_at = self.now + _STORAGE_RETRY_SECONDS
        self._touched.clear()
        self.effects = WaveEffects()

    def _drop_idle_flows(self) -> None:
        for flow_id, state in list(self._loaded.items()):
            if len(self._loaded) <= _IDLE_FLOWS_IN_MEMORY // 2:
                break
            busy = any(step.phase is not Phase.WAITING for step in state.steps.values())
            if not busy and not state.rpc_locks:
                del self._loaded[flow_id]
                # A Flow that is not in memory cannot say that its entry came too early.
                self._due_at.pop(flow_id, None)
                self._schedule(flow_id, self._due_of(state))
        # Where most Flows are busy, not every commit looks for idle ones.
        self._sweep_above = max(_IDLE_FLOWS_IN_MEMORY, 2 * len(self._loaded))

    # -- time ----------------------------------------------------------------------------------

    def next_due(self) -> float | None:
        """Return when time alone will next change something, or `None`."""
        due = min(self._next_due_of_flows(), self._remove_at)
        return None if due == math.inf else due

    def _next_due_of_flows(self) -> float:
        while self._due:
            due, flow_id = self._due[0]
            if self._due_at.get(flow_id) == due:
                state = self._loaded.get(flow_id)
                actual = due if state is None else self._due_of(state)
                if actual <= due:
                    return due
                del self._due_at[flow_id]
                self._schedule(flow_id, actual)
            heapq.heappop(self._due)
        return math.inf

    def _due_of(self, state: FlowState) -> float:
        if self._dispatcher is None:
            is_served = state.run.flow_type in self.served
            return next_due(state, fired_until=self._fired_until, hands_out=is_served)
        return next_due(
            state, fired_until=self._fired_until, hands_out=True, gives_up=self._gives_up_at
        )

    def _gives_up_at(self, step: StepExecution) -> float:
        # Workers find their way back to an engine that was away; until then nobody was offered it.
        offered_at = max(step.due_at, self._opened_at)
        return offered_at + (
            math.inf if self._dispatcher is None else self._dispatcher.wait_seconds
        )

    def _schedule(self, flow_id: str, due: float) -> None:
        # A later time than the scheduled one is found out when that comes.
        if due < self._due_at.get(flow_id, math.inf):
            self._due_at[flow_id] = due
            heapq.heappush(self._due, (due, flow_id))

    def _fire_due(self) -> None:
        while self._due and self._due[0][0] <= self.now:
            due, flow_id = heapq.heappop(self._due)
            if self._due_at.get(flow_id) != due:
                continue
            del self._due_at[flow_id]
            state = self.latest(flow_id)
            if state is None or not state.is_active:
                continue
            self._touched.add(flow_id)
            self._fire(state)
        self._fired_until = self.now

    def _fire(self, state: FlowState) -> None:
        run_id = state.run.run_id
        for step in state.steps.values():
            if step.phase is not Phase.RUNNING:
                continue
            if self._is_alive(attempt_of(run_id, step)):
                state.heartbeats[step.step_id] = self.now
            elif heartbeat_deadline(state, step) <= self.now:
                self.effects.silent.add(attempt_of(run_id, step))
        transition = Transition(state, self.now)
        expired = fire_due(transition)
        if self._dispatcher is not None:
            self._expire_offers(transition, self._dispatcher)
        self.apply(transition)
        self.effects.cancelled.extend(attempt_of(run_id, step) for step in expired)

    def _expire_offers(self, transition: Transition, dispatcher: Dispatcher) -> None:
        state = transition.state
        for step in ready_steps(state, self.now):
            # One that fails for good closes the run, and the other Steps with it.
            if self._gives_up_at(step) <= self.now and transition.step(step.step_id) is step:
                detail = dispatcher.explain(state, step)
                expire_offer(transition, step, dispatcher.wait_seconds, detail)

    def _hand_out_ready(self) -> None:
        for flow_id in sorted(self._touched):
            state = self._loaded.get(flow_id)
            if state is None:
                continue
            if self._dispatcher is not None or state.run.flow_type in self.served:
                for step in ready_steps(state, self.now):
                    if self._dispatcher is None or self._dispatcher.admit(state, step):
                        self._hand_out(state, step)
            self._schedule(flow_id, self._due_of(state))

    def _hand_out(self, state: FlowState, step: StepExecution) -> None:
        transition, task = hand_out(state, step, self.now)
        self.apply(transition)
        if self._reuses_snapshots:
            state.snapshots[step.step_id, step.method] = task.snapshot
        self.effects.tasks.append(task)


def attempt_of(run_id: str, step: StepExecution) -> AttemptKey:
    """Return the key of a Step's running attempt."""
    return AttemptKey(run_id, step.step_id, step.method.value, step.attempt)


def release_locks(state: FlowState, token: str) -> None:
    """Let go of the locks of one RPC."""
    state.rpc_locks = {lock: held for lock, held in state.rpc_locks.items() if held != token}
