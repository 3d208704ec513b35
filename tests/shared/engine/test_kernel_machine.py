# twin: shared
"""Prove the kernel, the core and the store together against a naive second kernel.

The machine drives one core with everything a shell can ask, in waves of any size; it refuses
commits and cuts the engine dead at random. After each commit the file, the memory and the model
must say the same.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from dex_agents.engine.core import EngineCore
from dex_agents.engine.kernel.messages import (
    Effects,
    ExecuteResponse,
    Failure,
    RpcResponse,
    StepMovement,
    Task,
    WaitForResponse,
)
from dex_agents.engine.kernel.state import FlowState, Method, RunStatus, Snapshot, StepExecution
from dex_agents.engine.kernel.values import text_value, value_text
from dex_agents.engine.refusals import (
    FlowAlreadyExists,
    FlowMissing,
    FlowNotActive,
    InvalidRequest,
    LocksTaken,
    MessageGone,
    RequestRefused,
)
from dex_agents.engine.requests import RpcCall, RpcRequest, StartRequest, attempt_key
from dex_agents.engine.store.cut import StoreCut
from dex_agents.engine.store.file import Store
from dex_agents.errors import EngineStorageError
from tests.shared.engine.harness import assert_file_equals_memory
from tests.shared.engine.inputs import (
    ATTRIBUTES,
    CHANNELS,
    LOCKS,
    decisions,
    movements,
    waiting_conditions,
)
from tests.shared.engine.model import ModelFlow, ModelStep

T = TypeVar("T")

MOST_FLOWS = 5
SERVED_FROM_START = "Served"
SERVED_LATER = "ServedLater"
pauses = st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0, 5.0, 9.0, 30.0])
# Most waves hold one request, some hold several.
then_pauses = pauses | pauses | st.none()
rarely = st.integers(0, 9).map(lambda number: number == 9)


class KernelMachine(RuleBasedStateMachine):
    """One core on a store in memory, its worker, its clients and its clock."""

    reuses_snapshots = True

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000.0
        self.flows: dict[str, ModelFlow] = {}
        self.committed: dict[str, ModelFlow] = {}
        self.run_ids: dict[str, str] = {}
        self.tasks: list[Task] = []
        self.calls: list[RpcCall] = []
        self.closed_runs: dict[str, str] = {}
        self.inputs: dict[tuple[str, str], object] = {}
        self.consumers: dict[str, str] = {}
        self.payloads = 0
        self.open_engine()

    def open_engine(self) -> None:
        self.served = {SERVED_FROM_START}
        self.store = Store(self.path())
        self.core = EngineCore(self.store, reuses_snapshots=self.reuses_snapshots)
        self.core.open(self.now)
        self.core.serve(SERVED_FROM_START)

    def path(self) -> str:
        return ":memory:"

    def teardown(self) -> None:
        self.store.abandon()

    # -- what the shell asks -------------------------------------------------------------------

    def expect(
        self, refusal: type[RequestRefused] | None, work: Callable[[EngineCore], T]
    ) -> T | None:
        """Do a request that must be refused exactly so, or not at all."""
        try:
            result = work(self.core)
        except RequestRefused as error:
            assert type(error) is refusal, error
            return None
        assert refusal is None, f"expected {refusal}"
        return result

    @initialize(movement=movements)
    def start_first_flow(self, movement: StepMovement) -> None:
        self.start("flow 0", SERVED_FROM_START, movement)
        self.commit(0.0)

    @rule(
        data=st.data(),
        flow_type=st.sampled_from([SERVED_FROM_START, SERVED_FROM_START, SERVED_LATER]),
        movement=movements | movements | st.none(),
        then=then_pauses,
    )
    def start_flow(
        self,
        data: st.DataObject,
        flow_type: str,
        movement: StepMovement | None,
        then: float | None,
    ) -> None:
        is_new = len(self.flows) < MOST_FLOWS and not data.draw(rarely)
        flow_id = f"flow {len(self.flows)}" if is_new else self.draw_flow(data)
        self.start(flow_id, flow_type, movement)
        self.maybe_commit(then)

    def start(self, flow_id: str, flow_type: str, movement: StepMovement | None) -> None:
        request = StartRequest(flow_id=flow_id, flow_type=flow_type, movement=movement)
        refusal = FlowAlreadyExists if flow_id in self.flows else None
        run_id = self.expect(refusal, lambda core: core.start_flow(request))
        if run_id is not None:
            flow = self.flows[flow_id] = ModelFlow(flow_type)
            self.run_ids[flow_id] = run_id
            if movement is not None:
                flow.start(movement, "__start__")
            flow.settle(self.now)

    def draw_flow(self, data: st.DataObject) -> str:
        """Draw a Flow, mostly one that runs, seldom one that does not exist."""
        running = [flow_id for flow_id, flow in self.flows.items() if flow.status == "running"]
        some = running if running and not data.draw(rarely) else [*self.flows, "no such flow"]
        return data.draw(st.sampled_from(some))

    @precondition(lambda self: self.tasks)
    @rule(data=st.data(), pauses=st.lists(then_pauses, min_size=1, max_size=4))
    def work(self, data: st.DataObject, pauses: list[float | None]) -> None:
        for pause in pauses:
            self.answer(data)
            self.maybe_commit(pause)

    def answer(self, data: st.DataObject) -> None:
        task = self.draw_task(data)
        found = self.running(task)
        effects, deleted = self.draw_effects(data, task.snapshot)
        if task.method is Method.WAIT_FOR:
            condition = data.draw(st.none() | waiting_conditions())
            response: WaitForResponse | ExecuteResponse = WaitForResponse(
                effects=effects, condition=condition
            )
        else:
            decision = data.draw(decisions())
            response = ExecuteResponse(effects=effects, decision=decision)
        counted = self.core.complete(attempt_key(task), task.flow_id, response)
        assert counted is (found is not None)
        if found is not None:
            flow = self.flows[task.flow_id]
            flow.apply_effects(effects, deleted)
            if isinstance(response, WaitForResponse):
                flow.wait(found, response.condition, self.now)
            else:
                flow.decide(response.decision, task.step_id, found, self.now)

    @precondition(lambda self: self.tasks)
    @rule(
        data=st.data(),
        retry_after=st.none() | st.sampled_from([0.0, 3.0]),
        then=then_pauses,
    )
    def fail(self, data: st.DataObject, retry_after: float | None, then: float | None) -> None:
        task = self.draw_task(data)
        found = self.running(task)
        failure = Failure(detail="broken", error_type="tests.Broken", retry_after=retry_after)
        counted = self.core.fail(attempt_key(task), task.flow_id, failure)
        assert counted is (found is not None)
        if found is not None:
            error = ("broken", "tests.Broken")
            self.flows[task.flow_id].fail(found, error, self.now, retry_after)
        self.maybe_commit(then)

    @precondition(lambda self: self.tasks)
    @rule(data=st.data(), checkpoint=st.none() | st.just(text_value("half")), beats=st.booleans())
    def show_life(self, data: st.DataObject, checkpoint: object, beats: bool) -> None:
        task = self.draw_task(data)
        found = self.running(task)
        if beats:
            counted = self.core.heartbeat(attempt_key(task), task.flow_id)
        else:
            counted = self.core.checkpoint(attempt_key(task), task.flow_id, checkpoint)  # type: ignore[arg-type]
        assert counted is (found is not None)
        if found is not None:
            self.flows[task.flow_id].beats[task.step_id] = self.now
            if not beats:
                found.checkpoint = checkpoint  # type: ignore[assignment]

    @rule(
        data=st.data(),
        locks=st.lists(st.sampled_from(LOCKS), unique=True, max_size=2).map(tuple),
        is_transactional=st.booleans(),
    )
    def begin_rpc(
        self, data: st.DataObject, locks: tuple[str, ...], is_transactional: bool
    ) -> None:
        flow_id = self.draw_flow(data)
        request = RpcRequest(
            flow_id=flow_id,
            rpc_name="rpc",
            locks=locks,
            is_transactional=is_transactional,
            load_attributes=("map/",),
            load_channels=CHANNELS,
        )
        flow = self.flows.get(flow_id)
        refusal: type[RequestRefused] | None = None
        if flow is None:
            refusal = FlowMissing
        elif request.needs_active_flow and flow.status != "running":
            refusal = FlowNotActive
        elif not self.held_locks(flow).isdisjoint(locks):
            refusal = LocksTaken
        call = self.expect(refusal, lambda core: core.begin_rpc(request))
        if call is not None:
            assert flow is not None
            assert_snapshot(call.snapshot, flow)
            flow.rpc_locks.update(dict.fromkeys(locks, call.token))
            self.calls.append(call)

    @precondition(lambda self: self.calls)
    @rule(data=st.data(), then=then_pauses)
    def finish_rpc(self, data: st.DataObject, then: float | None) -> None:
        call = self.calls.pop(data.draw(st.integers(0, len(self.calls) - 1)))
        effects, deleted = self.draw_effects(data, call.snapshot)
        response = RpcResponse(effects=effects, decision=data.draw(st.none() | decisions()))
        flow = self.flow_of(call)
        refusal = self.refusal_of(call, response, flow, deleted)
        self.expect(refusal, lambda core: core.finish_rpc(call, response))
        if flow is not None:
            self.release(call, flow)
            if refusal is None:
                flow.apply_effects(effects, deleted)
                if response.decision is not None:
                    flow.decide(response.decision, "__rpc/rpc", None, self.now)
            flow.settle(self.now)
        self.maybe_commit(then)

    @precondition(lambda self: self.calls)
    @rule(data=st.data(), then=then_pauses)
    def abandon_rpc(self, data: st.DataObject, then: float | None) -> None:
        call = self.calls.pop(data.draw(st.integers(0, len(self.calls) - 1)))
        self.core.abandon_rpc(call)
        flow = self.flow_of(call)
        if flow is not None:
            self.release(call, flow)
            flow.settle(self.now)
        self.maybe_commit(then)

    @rule(data=st.data(), really=rarely)
    def stop_flow(self, data: st.DataObject, really: bool) -> None:
        if not really:
            return
        flow_id = self.draw_flow(data)
        refusal = self.refusal_unless_running(flow_id)
        self.expect(refusal, lambda core: core.stop_flow(flow_id, RunStatus.CANCELED, "enough"))
        if refusal is None:
            self.flows[flow_id].close("canceled")

    def refusal_unless_running(self, flow_id: str) -> type[RequestRefused] | None:
        flow = self.flows.get(flow_id)
        if flow is None:
            return FlowMissing
        return None if flow.status == "running" else FlowNotActive

    @rule(data=st.data(), index=st.integers(-1, 2), then=then_pauses)
    def skip_timer(self, data: st.DataObject, index: int, then: float | None) -> None:
        flow_id = self.draw_flow(data)
        refusal = self.refusal_unless_running(flow_id)
        steps = self.flows[flow_id].steps if flow_id in self.flows else {}
        step_id = data.draw(st.sampled_from([*steps, "A-99"]))
        step = steps.get(step_id)
        has_timer = step is not None and step.phase == "waiting" and index in range(len(step.timers))
        if refusal is None and not has_timer:
            refusal = InvalidRequest
        self.expect(refusal, lambda core: core.skip_timer(flow_id, step_id, index))
        if refusal is None:
            assert step is not None
            timers = list(step.timers)
            timers[index] = min(timers[index], self.now)
            step.timers = tuple(timers)
            self.flows[flow_id].settle(self.now)
        self.maybe_commit(then)

    @rule()
    def serve_more(self) -> None:
        self.core.serve(SERVED_LATER)
        self.served.add(SERVED_LATER)

    # -- waves ---------------------------------------------------------------------------------

    @rule(pause=pauses)
    def commit(self, pause: float) -> None:
        self.pass_in_model()
        self.core.commit()
        self.committed = {flow_id: flow.copy() for flow_id, flow in self.flows.items()}
        effects = self.core.take_effects()
        for task in effects.tasks:
            self.check_task(task)
        self.tasks = (self.tasks + effects.tasks)[-40:]
        self.check_everything()
        self.now += pause
        self.core.begin(self.now)

    def maybe_commit(self, pause: float | None) -> None:
        if pause is not None:
            self.commit(pause)

    @rule(more=pauses)
    def refuse_commit(self, more: float) -> None:
        def refuse(moment: str, number: int) -> None:
            raise EngineStorageError("the disk is full")

        self.store.on_commit = refuse
        batch_is_empty = not self.store._batch  # whether there is anything to refuse
        try:
            self.core.commit()
        except EngineStorageError:
            self.roll_back()
            # The Flows of a refused wave rest for a second.
            more += 1.0
        else:
            assert batch_is_empty
            self.pass_in_model()
        self.store.on_commit = None
        assert not self.core.take_effects().tasks
        assert_file_equals_memory(self.core)
        self.now += more
        self.core.begin(self.now)
        self.commit(0.0)

    def roll_back(self) -> None:
        before = self.flows
        self.flows = {flow_id: flow.copy() for flow_id, flow in self.committed.items()}
        for flow_id, flow in self.flows.items():
            flow.rpc_locks, flow.beats = before[flow_id].rpc_locks, before[flow_id].beats

    def pass_in_model(self) -> None:
        """Let the model do what a commit does: fire what is due, hand out what is ready."""
        for flow in self.flows.values():
            if flow.status == "running":
                flow.fire_due(self.now)
                for step in list(flow.steps.values()):
                    is_due = step.phase == "ready" and step.due <= self.now
                    if is_due and flow.flow_type in self.served:
                        flow.hand_out(step, self.now)

    # -- what must hold ------------------------------------------------------------------------

    def check_task(self, task: Task) -> None:
        """Check a committed hand-out against the model and everything handed out before."""
        flow = self.flows[task.flow_id]
        step = flow.steps[task.step_id]
        assert task.run_id == self.run_ids[task.flow_id]
        assert (task.method.value, task.attempt) == (step.method, step.attempt)
        assert (task.input, task.source) == (step.movement.input, step.source)
        assert (task.started_at, task.first_attempt_at) == (self.now, step.first_at)
        assert task.checkpoint == step.checkpoint
        assert task.wait_for_failed is step.wait_failed
        maximum = step.current.retry.maximum_attempts
        assert task.attempt <= maximum or not maximum
        if task.attempt == 1 or not self.reuses_snapshots:
            assert_snapshot(task.snapshot, flow)
        # The same Step execution ID is always the same execution.
        identity = (task.step_type, task.input, task.source)
        assert self.inputs.setdefault((task.run_id, task.step_id), identity) == identity
        for channel in task.results.channels if task.results else ():
            for value in channel.values or ():
                payload = str(value.data)
                assert self.consumers.setdefault(payload, task.step_id) == task.step_id

    def check_everything(self) -> None:
        assert_file_equals_memory(self.core)
        for flow_id, flow in self.flows.items():
            record = self.store.find_run(flow_id)
            assert record is not None
            state = self.store.load(record)
            assert_state(state, flow)
            # Each message is in exactly one place.
            waiting = [p for queue in flow.channels.values() for p in queue]
            assert sorted(flow.published) == sorted(waiting + flow.consumed + flow.deleted)
            held = [lock for step in state.steps.values() for lock in step.held_locks]
            held += flow.rpc_locks if flow.status == "running" else []
            assert len(held) == len(set(held))
            if flow.status != "running":
                ended = self.closed_runs.setdefault(record.run_id, flow.status)
                assert ended == record.status.value
        self.check_next_due()

    def check_next_due(self) -> None:
        times = [
            due
            for flow in self.flows.values()
            if flow.status == "running"
            for due in flow.next_due(self.now, flow.flow_type in self.served)
        ]
        assert self.core.next_due() == (min(times) if times else None)

    # -- helpers -------------------------------------------------------------------------------

    def draw_task(self, data: st.DataObject) -> Task:
        """Draw a task, mostly one that still runs."""
        running = [task for task in self.tasks if self.running(task) is not None]
        is_late = not running or data.draw(st.integers(0, 9)) == 0
        return data.draw(st.sampled_from(self.tasks if is_late else running))

    def running(self, task: Task) -> ModelStep | None:
        flow = self.flows.get(task.flow_id)
        if flow is None or self.run_ids[task.flow_id] != task.run_id:
            return None
        return flow.running(task.step_id, task.method.value, task.attempt)

    def draw_effects(
        self, data: st.DataObject, snapshot: Snapshot
    ) -> tuple[Effects, list[tuple[str, str]]]:
        """Draw what a method or RPC writes, and the (channel, payload) of what it deletes."""
        published = []
        for channel in data.draw(st.lists(st.sampled_from(CHANNELS), min_size=1, max_size=3)):
            self.payloads += 1
            published.append((channel, text_value(f"message {self.payloads}")))
        readable = [(c, m) for c, waiting in snapshot.messages.items() for m in waiting]
        doomed = data.draw(st.lists(st.sampled_from(readable), max_size=1)) if readable else []
        attribute = st.tuples(st.sampled_from(ATTRIBUTES), st.sampled_from(["1", "2", None]))
        effects = Effects(
            attributes=tuple(
                (name, text_value(text))
                for name, text in data.draw(st.lists(attribute, max_size=2))
            ),
            deleted_messages=tuple((channel, m.message_id) for channel, m in doomed),
            published=tuple(published),
        )
        return effects, [(channel, str(m.value.data)) for channel, m in doomed]

    def held_locks(self, flow: ModelFlow) -> set[str]:
        steps = [s for s in flow.steps.values() if s.phase in ("ready", "running")]
        return {lock for s in steps for lock in s.current.locks} | flow.rpc_locks.keys()

    def flow_of(self, call: RpcCall) -> ModelFlow | None:
        flow_id = call.request.flow_id
        is_same_run = self.run_ids.get(flow_id) == call.state.run.run_id
        return self.flows.get(flow_id) if is_same_run else None

    def refusal_of(
        self,
        call: RpcCall,
        response: RpcResponse,
        flow: ModelFlow | None,
        deleted: list[tuple[str, str]],
    ) -> type[RequestRefused] | None:
        if not response.has_effects and not call.request.needs_active_flow:
            return None
        if flow is None:
            return FlowMissing
        if flow.status != "running":
            return FlowNotActive
        is_gone = any(payload not in flow.channels.get(channel, []) for channel, payload in deleted)
        return MessageGone if is_gone and call.request.needs_active_flow else None

    def release(self, call: RpcCall, flow: ModelFlow) -> None:
        for lock in call.request.locks:
            if flow.rpc_locks.get(lock) == call.token:
                del flow.rpc_locks[lock]


class RestartingMachine(KernelMachine):
    """The same on a file, with an engine that ends and starts again at any moment."""

    reuses_snapshots = False

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        super().__init__()

    def path(self) -> str:
        return str(Path(self.folder.name, "engine.db"))

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()

    @rule(ending=st.sampled_from(["close", "cut", "cut before", "cut after"]), away=pauses)
    def restart(self, ending: str, away: float) -> None:
        if ending == "close":
            self.store.close()
        else:
            if ending == "cut after":
                self.pass_in_model()
            if ending != "cut":
                self.cut_at_commit(ending.removeprefix("cut "))
            self.store.abandon()
        if ending in ("cut", "cut before"):
            self.flows = {flow_id: flow.copy() for flow_id, flow in self.committed.items()}
        self.calls.clear()
        self.now += away
        self.open_engine()
        for flow in self.flows.values():
            flow.rpc_locks.clear()
            flow.beats.clear()
            if flow.status == "running":
                flow.interrupt(self.now)
        self.commit(0.0)

    def cut_at_commit(self, wanted: str) -> None:
        def cut(moment: str, number: int) -> None:
            if moment == wanted:
                raise StoreCut

        self.store.on_commit = cut
        try:
            self.core.commit()
        except StoreCut:
            return


def assert_snapshot(snapshot: Snapshot, flow: ModelFlow) -> None:
    """Check that a snapshot is the state of now."""
    plain = {name: value for name, value in flow.attributes.items() if "/" not in name}
    items = {
        name.partition("/")[2]: value for name, value in flow.attributes.items() if "/" in name
    }
    assert snapshot.attributes == plain
    assert snapshot.maps == {"map": items}
    waiting = {name: queue for name, queue in flow.channels.items() if queue}
    assert snapshot.channel_sizes == {name: len(queue) for name, queue in waiting.items()}
    assert {
        name: [value_text(m.value) for m in messages]
        for name, messages in snapshot.messages.items()
        if messages
    } == waiting


def assert_state(state: FlowState, flow: ModelFlow) -> None:
    """Compare a loaded run with the model."""
    assert state.run.status.value == flow.status
    assert state.run.completion_requested is flow.completing
    assert list(state.run.outputs) == flow.outputs
    attributes = dict(state.attributes)
    for name, instances in state.maps.items():
        attributes.update((f"{name}/{key}", value) for key, value in instances.items())
    assert attributes == flow.attributes
    assert {
        name: [value_text(m.value) for m in waiting] for name, waiting in state.channels.items()
    } == {name: queue for name, queue in flow.channels.items() if queue}
    assert state.counters == flow.counters
    assert {s.step_id: step_facts(s) for s in state.steps.values()} == {
        s.step_id: model_facts(s) for s in flow.steps.values()
    }
    by_age = sorted(state.steps.values(), key=lambda s: s.since)
    assert [s.step_id for s in by_age] == [
        s.step_id for s in sorted(flow.steps.values(), key=lambda s: s.since)
    ]


def step_facts(step: StepExecution) -> dict[str, object]:
    error = step.recovery_error
    return {
        "movement": (step.step_type, step.input, step.options, step.source),
        "place": (step.method.value, step.phase.value, step.attempt),
        "times": (step.first_attempt_at, step.started_at, step.timers),
        "due": step.due_at if step.phase == "ready" else None,
        "checkpoint": step.checkpoint,
        "condition": step.condition,
        "results": None
        if step.results is None
        else (
            step.results.timers,
            tuple(
                (c.channel, None if c.values is None else tuple(map(value_text, c.values)))
                for c in step.results.channels
            ),
        ),
        "error": None if error is None else (error.detail, error.error_type),
        "wait_failed": step.wait_for_failed,
    }


def model_facts(step: ModelStep) -> dict[str, object]:
    movement = step.movement
    return {
        "movement": (movement.step_type, movement.input, movement.options, step.source),
        "place": (step.method, step.phase, step.attempt),
        "times": (step.first_at, step.started_at, step.timers),
        "due": step.due if step.phase == "ready" else None,
        "checkpoint": step.checkpoint,
        "condition": step.condition,
        "results": step.results,
        "error": step.error,
        "wait_failed": step.wait_failed,
    }


_SETTINGS = settings(
    max_examples=int(__import__("os").environ.get("MX", "60")),
    phases=[__import__("hypothesis").Phase.generate],
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
KernelMachine.TestCase.settings = _SETTINGS
RestartingMachine.TestCase.settings = _SETTINGS
TestKernel = KernelMachine.TestCase
TestKernelWithRestarts = RestartingMachine.TestCase
