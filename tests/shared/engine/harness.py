# twin: shared
"""An engine core in a test's hand: the test is the clock and the worker."""

from collections.abc import Callable
from pathlib import Path
from typing import TypedDict, TypeVar, Unpack

from dex_agents.engine.core import EngineCore
from dex_agents.engine.kernel.messages import (
    Decision,
    Effects,
    ExecuteResponse,
    Failure,
    RpcResponse,
    StepMovement,
    Task,
    WaitForResponse,
)
from dex_agents.engine.kernel.options import MethodOptions, RetryPolicy, StepOptions
from dex_agents.engine.kernel.state import FlowState, SearchMode, StepExecution
from dex_agents.engine.kernel.values import NULL, Value, text_value
from dex_agents.engine.kernel.waits import WaitingCondition
from dex_agents.engine.requests import (
    AttemptKey,
    RpcCall,
    RpcRequest,
    StartRequest,
    attempt_key,
)
from dex_agents.engine.store.file import Durability, Store
from dex_agents.engine.store.streams import StreamKey
from dex_agents.errors import EngineStorageError

T = TypeVar("T")

FLOW_TYPE = "Flow"
FLOW_ID = "flow-1"
START = 1_000_000.0


class RpcOptions(TypedDict, total=False):
    """What an RPC asks for."""

    run_id: str
    locks: tuple[str, ...]
    is_transactional: bool
    load_attributes: tuple[str, ...]
    load_channels: tuple[str, ...]


def step(
    name: str,
    step_input: str | None = None,
    *,
    waits: bool = False,
    execute: MethodOptions | None = None,
    wait_for: MethodOptions | None = None,
    heartbeat_timeout: float = 60.0,
    wait_failure_proceeds: bool = False,
    failure_step: str | None = None,
    failure_options: StepOptions | None = None,
) -> StepMovement:
    """Return a movement to a Step that has no `wait_for` unless it `waits`."""
    options = StepOptions(
        wait_for=wait_for or MethodOptions(),
        execute=execute or MethodOptions(),
        heartbeat_timeout=heartbeat_timeout,
        skips_wait_for=not waits,
        wait_failure_proceeds=wait_failure_proceeds,
        failure_step=failure_step,
        failure_options=failure_options,
    )
    return StepMovement(name, text_value(step_input), options)


def attempts(maximum: int, **policy: float) -> MethodOptions:
    """Return options with a limited number of attempts."""
    return MethodOptions(retry=RetryPolicy(maximum_attempts=maximum, **policy))


def writes(**attributes: str | None) -> Effects:
    """Return effects that set Attributes; `None` deletes."""
    return Effects(
        attributes=tuple(
            (name, NULL if text is None else text_value(text)) for name, text in attributes.items()
        )
    )


def publishes(channel: str, *texts: str) -> Effects:
    """Return effects that publish messages to one channel."""
    return Effects(published=tuple((channel, text_value(text)) for text in texts))


def go_to(*movements: StepMovement) -> Decision:
    """Return the decision that starts Steps."""
    return Decision(movements=movements)


def texts(values: tuple[Value, ...]) -> list[str | bytes]:
    """Return the payloads of values."""
    return [value.data for value in values]


def assert_file_equals_memory(core: EngineCore) -> None:
    """Compare each Flow in memory with what the file says, field by field."""
    for flow_id, state in loaded_flows(core).items():
        record = core.store.find_run(flow_id)
        assert record == state.run
        assert_same_state(core.store.load(record), state)


def assert_same_state(stored: FlowState, state: FlowState) -> None:
    """Compare a loaded state with the one in memory."""
    assert stored.run == state.run
    assert stored.attributes == state.attributes
    assert stored.maps == state.maps
    assert stored.channels == state.channels
    assert stored.steps == state.steps
    assert stored.counters == state.counters
    assert stored.next_event == state.next_event
    # The file does not keep the order itself: what exists is enough to go on behind it.
    used = [m.order for waiting in state.channels.values() for m in waiting]
    used.extend(s.since for s in state.steps.values())
    assert max(used, default=0) < stored.next_order <= state.next_order


def loaded_flows(core: EngineCore) -> dict[str, FlowState]:
    """Return the Flows in memory."""
    return core._flows._loaded  # the promise is about what is in memory


class Engine:
    """Run one request per wave, and keep what was handed out.

    Attributes:
        tasks: Every task handed out so far, oldest first.
        cancelled: Every attempt that was cancelled so far.
    """

    def __init__(
        self,
        path: str | Path = ":memory:",
        *,
        now: float = START,
        serves: tuple[str, ...] = (FLOW_TYPE,),
        reuses_snapshots: bool = True,
        is_alive: Callable[[AttemptKey], bool] | None = None,
        durability: Durability = Durability.PROCESS_CRASH,
        retain_closed: float | None = None,
    ) -> None:
        """Open a store and take up what is in it."""
        self.now = now
        self.tasks: list[Task] = []
        self.cancelled: list[AttemptKey] = []
        self.store = Store(path, durability)
        self.core = EngineCore(
            self.store,
            seed=1,
            reuses_snapshots=reuses_snapshots,
            is_alive=is_alive,
            retain_closed=retain_closed,
        )
        self.core.open(now)
        for flow_type in serves:
            self.core.serve(flow_type)
        self.commit()

    # -- waves ---------------------------------------------------------------------------------

    def ask(self, work: Callable[[EngineCore], T]) -> T:
        """Do one request, commit, and return its result."""
        self.core.begin(self.now)
        result = work(self.core)
        self.commit()
        return result

    def commit(self) -> None:
        """Commit the wave and take what it allows."""
        self.core.commit()
        effects = self.core.take_effects()
        self.tasks.extend(effects.tasks)
        self.cancelled.extend(effects.cancelled)
        assert_file_equals_memory(self.core)

    def pass_time(self, seconds: float) -> None:
        """Let time pass and do what is due."""
        self.now += seconds
        self.core.begin(self.now)
        self.commit()

    def close(self) -> None:
        """End the engine in good order."""
        self.store.close()

    def cut(self) -> None:
        """End the engine as a killed process would."""
        self.store.abandon()

    # -- requests ------------------------------------------------------------------------------

    def start(
        self,
        movement: StepMovement | None = None,
        flow_id: str = FLOW_ID,
        *,
        flow_type: str = FLOW_TYPE,
        search_mode: SearchMode = SearchMode.DISABLED,
        request_id: str = "",
    ) -> str:
        """Start a Flow and return its run ID."""
        request = StartRequest(
            flow_id=flow_id,
            flow_type=flow_type,
            movement=movement,
            search_mode=search_mode,
            request_id=request_id,
        )
        return self.ask(lambda core: core.start_flow(request))

    def task(self, step_id: str) -> Task:
        """Return the newest task of a Step execution."""
        return next(task for task in reversed(self.tasks) if task.step_id == step_id)

    def attempts_of(self, step_id: str) -> list[int]:
        """Return the numbers of the attempts that were handed out for a Step execution."""
        return [task.attempt for task in self.tasks if task.step_id == step_id]

    def complete(
        self, task: Task | str, decision: Decision | None = None, effects: Effects | None = None
    ) -> bool:
        """Answer an `execute`; by default with a dead end."""
        task = self.task(task) if isinstance(task, str) else task
        response = ExecuteResponse(
            effects=effects or Effects(), decision=decision if decision else Decision()
        )
        return self.ask(lambda core: core.complete(attempt_key(task), task.flow_id, response))

    def wait(
        self,
        task: Task | str,
        condition: WaitingCondition | None = None,
        effects: Effects | None = None,
    ) -> bool:
        """Answer a `wait_for`."""
        task = self.task(task) if isinstance(task, str) else task
        response = WaitForResponse(effects=effects or Effects(), condition=condition)
        return self.ask(lambda core: core.complete(attempt_key(task), task.flow_id, response))

    def fail(
        self, task: Task | str, detail: str = "broken", *, retry_after: float | None = None
    ) -> bool:
        """Report that an attempt failed."""
        task = self.task(task) if isinstance(task, str) else task
        failure = Failure(detail=detail, error_type="tests.Broken", retry_after=retry_after)
        return self.ask(lambda core: core.fail(attempt_key(task), task.flow_id, failure))

    def rpc(
        self,
        response: RpcResponse | None = None,
        flow_id: str = FLOW_ID,
        **options: Unpack[RpcOptions],
    ) -> RpcCall:
        """Run an RPC whose handler answers at once."""
        request = rpc_request(flow_id, **options)

        def run(core: EngineCore) -> RpcCall:
            call = core.begin_rpc(request)
            core.finish_rpc(call, response or RpcResponse())
            return call

        return self.ask(run)

    def publish(self, channel: str, *payloads: str, flow_id: str = FLOW_ID) -> None:
        """Publish messages from outside."""
        self.rpc(RpcResponse(effects=publishes(channel, *payloads)), flow_id)

    def append_events(self, key: StreamKey, *payloads: str, capacity_bytes: int = 1 << 20) -> None:
        """Append events to a Stream."""

        def run(core: EngineCore) -> None:
            for payload in payloads:
                core.append_event(key, "test", text_value(payload), capacity_bytes)

        self.ask(run)

    # -- what is there -------------------------------------------------------------------------

    def steps(self, flow_id: str = FLOW_ID) -> dict[str, StepExecution]:
        """Return the active Step executions by ID."""
        return {step.step_id: step for step in self.core.active_steps(flow_id)}

    def status(self, flow_id: str = FLOW_ID) -> str:
        """Return the status of a Flow's latest run."""
        return self.core.describe(flow_id).status.value

    def state(self, flow_id: str = FLOW_ID) -> FlowState:
        """Return the stored state of a Flow's latest run."""
        record = self.store.find_run(flow_id)
        assert record is not None
        return self.store.load(record)

    def history(self, flow_id: str = FLOW_ID) -> list[str]:
        """Return the kinds of the recorded history."""
        return [event.kind for event in self.store.read_history(self.core.describe(flow_id).run_id)]


def rpc_request(flow_id: str = FLOW_ID, **options: Unpack[RpcOptions]) -> RpcRequest:
    """Return an RPC request."""
    return RpcRequest(flow_id=flow_id, rpc_name="rpc", **options)


def refuse_next_commit(engine: Engine) -> None:
    """Let the disk refuse one commit, before anything of it is written."""

    def refuse(moment: str, number: int) -> None:
        engine.store.on_commit = None
        raise EngineStorageError("the disk is full")

    engine.store.on_commit = refuse
