# twin: shared
"""Prove the kernel, the core and the store together against a naive second kernel.

The machine drives one core with everything a shell can ask, in waves of any size; it refuses
commits and cuts the engine dead at random. After each commit the file, the memory and the model
must say the same.
"""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from dex_agents.engine.kernel.messages import (
    ExecuteResponse,
    Failure,
    RpcResponse,
    StepMovement,
    WaitForResponse,
)
from dex_agents.engine.kernel.state import Method, RunStatus
from dex_agents.engine.kernel.values import Value, text_value
from dex_agents.engine.refusals import (
    FlowAlreadyExists,
    FlowMissing,
    FlowNotActive,
    InvalidRequest,
    LocksTaken,
    RequestRefused,
)
from dex_agents.engine.requests import RpcRequest, StartRequest, attempt_key
from dex_agents.engine.store.cut import StoreCut
from dex_agents.errors import EngineStorageError
from tests.shared.engine.harness import assert_file_equals_memory
from tests.shared.engine.inputs import (
    CHANNELS,
    LOCKS,
    decisions,
    movements,
    waiting_conditions,
)
from tests.shared.engine.machine import (
    MOST_FLOWS,
    SERVED_FROM_START,
    SERVED_LATER,
    ModelledCore,
    pauses,
    rarely,
    then_pauses,
)
from tests.shared.engine.model import ModelFlow, assert_snapshot


class KernelMachine(ModelledCore):
    """Everything a shell can ask of a core, and commits that succeed or are refused."""

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
    def show_life(self, data: st.DataObject, checkpoint: Value | None, beats: bool) -> None:
        task = self.draw_task(data)
        found = self.running(task)
        if beats:
            counted = self.core.heartbeat(attempt_key(task), task.flow_id)
        else:
            counted = self.core.checkpoint(attempt_key(task), task.flow_id, checkpoint)
        assert counted is (found is not None)
        if found is not None:
            self.flows[task.flow_id].beats[task.step_id] = self.now
            if not beats:
                found.checkpoint = checkpoint

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

    @rule(data=st.data(), request=st.sampled_from(["skip", "skip", "serve", "stop"]))
    def administer(self, data: st.DataObject, request: str) -> None:
        flow_id = self.draw_flow(data)
        flow = self.flows.get(flow_id)
        refusal: type[RequestRefused] | None = None
        if flow is None:
            refusal = FlowMissing
        elif flow.status != "running":
            refusal = FlowNotActive
        if request == "serve":
            self.core.serve(SERVED_LATER)
            self.served.add(SERVED_LATER)
        elif request == "skip":
            self.skip_timer(data, flow_id, refusal)
        elif data.draw(rarely):
            self.expect(refusal, lambda core: core.stop_flow(flow_id, RunStatus.CANCELED, "enough"))
            if flow is not None and refusal is None:
                flow.close("canceled")

    def skip_timer(
        self, data: st.DataObject, flow_id: str, refusal: type[RequestRefused] | None
    ) -> None:
        index = data.draw(st.integers(-1, 2))
        flow = self.flows.get(flow_id)
        waiting = [s for s in flow.steps.values() if s.timers] if flow is not None else []
        step = data.draw(st.sampled_from(waiting)) if waiting else None
        step_id = "A-99" if step is None else step.step_id
        if refusal is None and (step is None or index not in range(len(step.timers))):
            refusal = InvalidRequest
        self.expect(refusal, lambda core: core.skip_timer(flow_id, step_id, index))
        if refusal is None:
            assert flow is not None and step is not None
            timers = list(step.timers)
            timers[index] = min(timers[index], self.now)
            step.timers = tuple(timers)
            flow.settle(self.now)

    # -- waves ---------------------------------------------------------------------------------

    @rule(pause=pauses)
    def commit(self, pause: float) -> None:
        self.pass_in_model()
        self.core.commit()
        self.committed = {flow_id: flow.copy() for flow_id, flow in self.flows.items()}
        self.committed_tokens = {call.token for call in self.calls}
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

    @rule(
        data=st.data(),
        ending=st.sampled_from(["close", "cut", "cut before", "cut after"]),
        away=pauses,
    )
    def restart(self, data: st.DataObject, ending: str, away: float) -> None:
        if not data.draw(st.sampled_from([True, False, False])):
            return
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


# A failing run is not shrunk: that would replay thousands of waves and outlast the test's timeout.
_SETTINGS = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=60,
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
KernelMachine.TestCase.settings = _SETTINGS
RestartingMachine.TestCase.settings = _SETTINGS
TestKernel = KernelMachine.TestCase
TestKernelWithRestarts = RestartingMachine.TestCase
