# twin: shared
"""A core beside its model, and what the machine test needs to ask both and to compare them."""

from collections.abc import Callable
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from dex_agents.engine.core import EngineCore
from dex_agents.engine.kernel.messages import (
    Effects,
    RpcResponse,
    Task,
)
from dex_agents.engine.kernel.state import Snapshot
from dex_agents.engine.kernel.values import text_value
from dex_agents.engine.refusals import (
    FlowMissing,
    FlowNotActive,
    MessageGone,
    RequestRefused,
)
from dex_agents.engine.requests import RpcCall
from dex_agents.engine.store.file import Store
from tests.shared.engine.harness import assert_file_equals_memory
from tests.shared.engine.inputs import (
    ATTRIBUTES,
    CHANNELS,
)
from tests.shared.engine.model import ModelFlow, ModelStep, assert_snapshot, assert_state

T = TypeVar("T")

MOST_FLOWS = 5
SERVED_FROM_START = "Served"
SERVED_LATER = "ServedLater"
pauses = st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0, 5.0, 9.0, 30.0])
# Most waves hold one request, some hold several.
then_pauses = pauses | pauses | st.none()
rarely = st.integers(0, 9).map(lambda number: number == 9)


class ModelledCore(RuleBasedStateMachine):
    """One core on a store in memory, the model of it, and what the test has in hand."""

    reuses_snapshots = True

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000.0
        self.flows: dict[str, ModelFlow] = {}
        self.committed: dict[str, ModelFlow] = {}
        self.run_ids: dict[str, str] = {}
        self.tasks: list[Task] = []
        self.calls: list[RpcCall] = []
        self.committed_tokens: set[str] = set()
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

    def roll_back(self) -> None:
        before = self.flows
        self.flows = {flow_id: flow.copy() for flow_id, flow in self.committed.items()}
        for flow_id, flow in self.flows.items():
            flow.beats = before[flow_id].beats
            # RPCs that began in this wave never happened; those that ended in it are over.
            held = before[flow_id].rpc_locks.items() & flow.rpc_locks.items()
            flow.rpc_locks = dict(held)
        self.calls = [call for call in self.calls if call.token in self.committed_tokens]

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
