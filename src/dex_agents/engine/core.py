# twin: shared
"""The engine without a shell: requests in, transitions, one commit, effects out.

A shell calls any number of requests, then `commit`, and only then acts on `take_effects`: nothing
is answered or handed out that is not durable. All calls come from one thread at a time. When the
disk refuses a commit, the Flows it touched are dropped from memory and read again from the file,
which is still as it was.
"""

import random
from collections.abc import Callable
from dataclasses import replace

from dex_agents.engine.flows import FlowTable, release_locks
from dex_agents.engine.kernel.advance import advance
from dex_agents.engine.kernel.delivery import apply_undelivered, give_back
from dex_agents.engine.kernel.messages import (
    Effects,
    ExecuteResponse,
    Failure,
    RpcResponse,
    WaitForResponse,
)
from dex_agents.engine.kernel.state import (
    FlowState,
    Method,
    RunRecord,
    RunStatus,
    SearchMode,
    StepExecution,
    take_snapshot,
)
from dex_agents.engine.kernel.transition import Transition
from dex_agents.engine.kernel.transitions import (
    MessageNotFoundError,
    apply_execute,
    apply_failure,
    apply_rpc,
    apply_wait_for,
    apply_writes,
    check_deletions,
    close_run,
    running_step,
    save_checkpoint,
    skip_timer,
    start_run,
)
from dex_agents.engine.kernel.values import Value
from dex_agents.engine.refusals import (
    FlowAlreadyExists,
    FlowMissing,
    FlowNotActive,
    InvalidRequest,
    LocksTaken,
    MessageGone,
)
from dex_agents.engine.requests import (
    AttemptKey,
    Dispatcher,
    RpcCall,
    RpcRequest,
    StartRequest,
    WaveEffects,
)
from dex_agents.engine.store.file import Store
from dex_agents.engine.store.streams import StreamKey


class EngineCore:
    """Run the Flows of one store."""

    def __init__(
        self,
        store: Store,
        *,
        seed: int | None = None,
        reuses_snapshots: bool = True,
        is_alive: Callable[[AttemptKey], bool] | None = None,
        dispatcher: Dispatcher | None = None,
        retain_closed: float | None = None,
    ) -> None:
        """Wrap an open store; call `open` before anything else.

        Args:
            store: The file.
            seed: For run and message IDs; `None` seeds from the system.
            reuses_snapshots: Whether a retry reads the state that its first attempt read. Both are
                allowed by contract: tests switch it.
            is_alive: Tells whether a running attempt still shows life by itself, as a call inside
                this process does; a heartbeat timeout then starts anew.
            dispatcher: Says which ready Steps have a worker; without one, all that are served.
            retain_closed: How many seconds a closed run is kept; `None` keeps all. Then it is
                deleted with its history, and the events of a Flow go with its last run.

        Raises:
            ValueError: `retain_closed` is negative.
        """
        if retain_closed is not None and retain_closed < 0:
            raise ValueError(f"retain_closed must not be negative, got {retain_closed} s")
        self.store = store
        self._random = random.Random(seed)
        self._flows = FlowTable(
            store,
            reuses_snapshots=reuses_snapshots,
            is_alive=is_alive or (lambda _: False),
            dispatcher=dispatcher,
            retain_closed=retain_closed,
        )

    # -- the wave ------------------------------------------------------------------------------

    def open(self, now: float) -> None:
        """Take up what an earlier engine left: attempts that ran then are interrupted."""
        self._flows.open(now)

    def begin(self, now: float) -> None:
        """Start a wave of requests at a time; time never goes back."""
        self._flows.now = max(self._flows.now, now)

    @property
    def now(self) -> float:
        """The time of the current wave, in seconds since the epoch."""
        return self._flows.now

    def commit(self) -> None:
        """Let due timers fire, hand out what is ready, and make the whole wave durable.

        Raises:
            EngineStorageError: The disk refused; the wave did not happen.
        """
        self._flows.commit()

    def take_effects(self) -> WaveEffects:
        """Return what the last commits allow, once."""
        return self._flows.take_effects()

    def next_due(self) -> float | None:
        """Return when time alone will next change something, or `None`."""
        return self._flows.next_due()

    @property
    def served(self) -> set[str]:
        """The Flow types whose Steps may be handed out; Steps of others wait, without limit."""
        return self._flows.served

    def serve(self, flow_type: str) -> None:
        """Let the Steps of a Flow type be handed out from now on."""
        self._flows.serve(flow_type)

    def offer(self, flow_id: str) -> None:
        """Try again in this wave to hand out what is ready in a Flow."""
        self._flows.offer(flow_id)

    # -- Flows ---------------------------------------------------------------------------------

    def _new_id(self) -> str:
        # Sortable by time, unique by chance: 80 random bits.
        return f"{int(self.now * 1000):012x}-{self._random.getrandbits(80):020x}"

    def _readable(self, flow_id: str, run_id: str = "") -> FlowState:
        state = self._flows.find(flow_id, run_id)
        if state is None:
            raise FlowMissing(f"there is no Flow {flow_id!r}")
        return state

    def _active(self, flow_id: str, run_id: str = "") -> FlowState:
        state = self._readable(flow_id, run_id)
        if not state.is_active:
            raise FlowNotActive(f"Flow {flow_id!r} is {state.run.status.value}")
        return state

    def start_flow(self, request: StartRequest) -> str:
        """Start a run and return its ID.

        Raises:
            FlowAlreadyExists: The Flow ID is taken, and not by this very request.
        """
        existing = self._flows.latest(request.flow_id)
        if existing is not None:
            if request.repeats(existing.run):
                return existing.run.run_id
            if not request.may_follow(existing.run):
                raise FlowAlreadyExists(
                    f"Flow {request.flow_id!r} already exists and is {existing.run.status.value}"
                )
            if existing.is_active:
                self.stop_flow(request.flow_id, RunStatus.TERMINATED, "")
        record = RunRecord(
            flow_id=request.flow_id,
            run_id=self._new_id(),
            flow_type=request.flow_type,
            status=RunStatus.RUNNING,
            started_at=self.now,
            request_id=request.request_id,
            search_mode=request.search_mode,
        )
        state = FlowState(run=record)
        transition = Transition(state, self.now)
        start_run(transition, request.movement, effects=request.effects, delay=request.delay)
        self._flows.add(state)
        self._flows.apply(transition)
        return record.run_id

    def stop_flow(self, flow_id: str, status: RunStatus, reason: str, *, run_id: str = "") -> None:
        """Close a running Flow.

        Raises:
            FlowMissing: There is no such Flow.
            FlowNotActive: It is closed already.
        """
        transition = Transition(self._active(flow_id, run_id), self.now)
        error_type = "client_api_failed" if status is RunStatus.FAILED else None
        close_run(transition, status, error_type, reason or None)
        self._flows.apply(transition)

    def update_search_mode(
        self, flow_id: str, search_mode: SearchMode, *, run_id: str = ""
    ) -> None:
        """Change how a running Flow is searched for.

        Raises:
            FlowMissing: There is no such Flow.
            FlowNotActive: It is closed.
        """
        transition = Transition(self._active(flow_id, run_id), self.now)
        transition.run = replace(transition.run, search_mode=search_mode)
        self._flows.apply(transition)

    def write(self, flow_id: str, effects: Effects, *, run_id: str = "") -> None:
        """Write from outside a Step: Attributes, channel messages.

        Raises:
            FlowMissing: There is no such Flow.
            FlowNotActive: It is closed.
            MessageGone: A message to delete is gone; nothing is written.
        """
        state = self._active(flow_id, run_id)
        try:
            check_deletions(state, effects)
        except MessageNotFoundError as error:
            raise MessageGone(str(error)) from None
        transition = Transition(state, self.now)
        apply_writes(transition, effects, self._new_id)
        self._flows.apply(transition)

    def skip_timer(self, flow_id: str, step_id: str, timer: int | str, *, run_id: str = "") -> None:
        """Let a timer that a Step waits for fire now.

        Args:
            flow_id: The Flow.
            step_id: The Step execution.
            timer: The timer's place among the timers of the wait, or its condition ID.
            run_id: The run; the latest one without.

        Raises:
            FlowMissing: There is no such Flow.
            FlowNotActive: It is closed.
            InvalidRequest: The Step does not wait for such a timer.
        """
        state = self._active(flow_id, run_id)
        step = state.steps.get(step_id)
        if step is None:
            raise InvalidRequest(f"Flow {flow_id!r} has no active Step {step_id!r}")
        timers = () if step.condition is None else step.condition.timers
        if isinstance(timer, str):
            named = (i for i, found in enumerate(timers) if found.condition_id == timer)
            index = next(named, -1)
        else:
            index = timer
        transition = Transition(state, self.now)
        try:
            skip_timer(transition, step, index)
        except LookupError:
            raise InvalidRequest(f"{step_id} does not wait for a timer {timer!r}") from None
        self._flows.apply(transition)

    def describe(self, flow_id: str, run_id: str = "") -> RunRecord:
        """Return the latest run of a Flow, or the one named.

        Raises:
            FlowMissing: There is no such Flow.
        """
        return self._readable(flow_id, run_id).run

    def inspect(self, flow_id: str, run_id: str = "") -> FlowState:
        """Return a run's state, to be read within this wave only.

        Raises:
            FlowMissing: There is no such Flow.
        """
        return self._readable(flow_id, run_id)

    def active_steps(self, flow_id: str) -> list[StepExecution]:
        """Return the active Step executions of a Flow's latest run."""
        return list(self._readable(flow_id).steps.values())

    # -- attempts ------------------------------------------------------------------------------

    def _running(self, key: AttemptKey, flow_id: str) -> tuple[FlowState, StepExecution] | None:
        state = self._flows.latest(flow_id)
        if state is None or state.run.run_id != key.run_id:
            return None
        step = running_step(state, key.step_id, Method(key.method), key.attempt)
        return None if step is None else (state, step)

    def complete(
        self, key: AttemptKey, flow_id: str, response: WaitForResponse | ExecuteResponse
    ) -> bool:
        """Apply an attempt's result; `False` when the attempt no longer counts."""
        found = self._running(key, flow_id)
        if found is None:
            return False
        state, step = found
        transition = Transition(state, self.now)
        if isinstance(response, WaitForResponse):
            apply_wait_for(transition, step, response, self._new_id)
        else:
            apply_execute(transition, step, response, self._new_id)
        self._flows.apply(transition)
        return True

    def fail(self, key: AttemptKey, flow_id: str, failure: Failure) -> bool:
        """Spend an attempt; `False` when it no longer counts."""
        found = self._running(key, flow_id)
        if found is None:
            return False
        state, step = found
        transition = Transition(state, self.now)
        apply_failure(transition, step, failure)
        self._flows.apply(transition)
        return True

    def give_back(self, key: AttemptKey, flow_id: str) -> bool:
        """Offer an attempt again that no worker ran; `False` when it no longer counts."""
        found = self._running(key, flow_id)
        if found is None:
            return False
        transition = Transition(found[0], self.now)
        give_back(transition, found[1])
        self._flows.apply(transition)
        return True

    def refuse_delivery(self, key: AttemptKey, flow_id: str, detail: str) -> bool:
        """End a method that no worker can ever be given; `False` when it no longer counts."""
        found = self._running(key, flow_id)
        if found is None:
            return False
        transition = Transition(found[0], self.now)
        apply_undelivered(transition, found[1], detail, is_final=True)
        self._flows.apply(transition)
        return True

    def is_running(self, key: AttemptKey, flow_id: str) -> bool:
        """Tell whether an attempt still counts."""
        return self._running(key, flow_id) is not None

    def heartbeat(self, key: AttemptKey, flow_id: str) -> bool:
        """Note a sign of life that keeps the checkpoint; `False` when the attempt is over."""
        found = self._running(key, flow_id)
        if found is None:
            return False
        found[0].heartbeats[key.step_id] = self.now
        return True

    def checkpoint(self, key: AttemptKey, flow_id: str, checkpoint: Value | None) -> bool:
        """Note a sign of life and store what it carries; `False` when the attempt is over."""
        found = self._running(key, flow_id)
        if found is None:
            return False
        state, step = found
        transition = Transition(state, self.now)
        save_checkpoint(transition, step, checkpoint)
        self._flows.apply(transition)
        state.heartbeats[key.step_id] = self.now
        return True

    # -- RPCs ----------------------------------------------------------------------------------

    def begin_rpc(self, request: RpcRequest) -> RpcCall:
        """Take the RPC's locks and the state that its handler reads.

        Raises:
            FlowMissing: There is no such Flow.
            FlowNotActive: It is closed, and the RPC needs it to run.
            LocksTaken: A lock is held.
        """
        if request.needs_active_flow:
            state = self._active(request.flow_id, request.run_id)
        else:
            state = self._readable(request.flow_id, request.run_id)
        held = set(state.rpc_locks)
        for step in state.steps.values():
            held.update(step.held_locks)
        taken = held.intersection(request.locks)
        if taken:
            raise LocksTaken(f"{request.rpc_name}: {', '.join(sorted(taken))} is locked")
        token = self._new_id()
        self._flows.take_locks(state, request.locks, token)
        snapshot = take_snapshot(state, request.load_attributes, request.load_channels)
        return RpcCall(token=token, request=request, state=state, snapshot=snapshot)

    def finish_rpc(self, call: RpcCall, response: RpcResponse) -> None:
        """Apply what the handler returned and release the locks.

        Raises:
            FlowNotActive: The Flow closed meanwhile, and there is something to apply.
            MessageGone: A message that a transactional RPC deletes is gone; nothing is applied.
        """
        request = call.request
        if not response.has_effects and not request.needs_active_flow:
            return
        state = self._readable(request.flow_id, call.state.run.run_id)
        release_locks(state, call.token)
        if not state.is_active:
            raise FlowNotActive(f"Flow {request.flow_id!r} is {state.run.status.value}")
        if request.needs_active_flow:
            try:
                check_deletions(state, response.effects)
            except MessageNotFoundError as error:
                self._let_go_on(state, request)
                raise MessageGone(str(error)) from None
        if response.has_effects or request.locks:
            transition = Transition(state, self.now)
            apply_rpc(transition, request.rpc_name, response, self._new_id)
            self._flows.apply(transition)

    def abandon_rpc(self, call: RpcCall) -> None:
        """Release the locks of an RPC whose handler failed."""
        state = self._flows.latest(call.request.flow_id)
        if state is not None:
            release_locks(state, call.token)
            self._let_go_on(state, call.request)

    def _let_go_on(self, state: FlowState, request: RpcRequest) -> None:
        """Grant released locks to the Steps that wait for them."""
        if request.locks and state.is_active:
            transition = Transition(state, self.now)
            advance(transition)
            self._flows.apply(transition)

    # -- Streams -------------------------------------------------------------------------------

    def append_event(self, key: StreamKey, source: str, value: Value, capacity_bytes: int) -> None:
        """Append an event; readers of this process see it at once."""
        self.store.append_event(key, source, value, self.now, capacity_bytes)
        self._flows.effects.appended.add(key)
