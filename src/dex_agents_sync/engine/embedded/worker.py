# twin: generated from src/dex_agents/engine/embedded/worker.py by tools/twin; do not edit.
"""The embedded worker: performs handed-out tasks with the sessions of this process."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from dex_agents_sync._seam.scheduler import BackgroundCall, CallPool
from dex_agents.engine.clock import Clock
from dex_agents.engine.core import EngineCore
from dex_agents_sync.engine.embedded.emitter import EmbeddedEmitter, Posting
from dex_agents.engine.embedded.failures import failure_of
from dex_agents.engine.embedded.mount import SessionMount
from dex_agents.engine.kernel.messages import (
    ExecuteResponse,
    Task,
    WaitForResponse,
)
from dex_agents.engine.kernel.state import Method
from dex_agents.engine.kernel.values import text_value, value_text
from dex_agents.engine.requests import AttemptKey, attempt_key
from dex_agents.engine.store.streams import StreamKey
from dex_agents.errors import StepCallError
from dex_agents_sync.session.agent_session import AgentSession
from dex_agents.session.definition import PreparedCall, StepDefinition
from dex_agents.session.schema import AGENT_EVENTS

logger = logging.getLogger("dex_agents.engine")

Work = Callable[[EngineCore], object]


class Engine(Posting, Protocol):
    """What the worker needs of its engine."""

    clock: Clock


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A call and what it speaks through; giving it up ends both."""

    call: BackgroundCall
    emitter: EmbeddedEmitter


class EmbeddedWorker:
    """Run decisions at once and calls in the background.

    Everything but `_call` runs in the engine's loop, so nothing here needs a lock.
    """

    def __init__(self, engine: Engine, pool: CallPool) -> None:
        """Serve an engine with calls of a pool."""
        self.is_draining = False
        self._pool = pool
        self._engine = engine
        self._mounts: dict[str, SessionMount] = {}
        self._calls: dict[AttemptKey, RunningCall] = {}

    def add(self, session: AgentSession) -> None:
        """Take on a session.

        Raises:
            ValueError: Its Flow type is taken.
        """
        if session.flow_type in self._mounts:
            raise ValueError(
                f"this engine already serves {session.flow_type!r}; give each agent a flow_type of "
                "its own"
            )
        self._mounts[session.flow_type] = SessionMount(session)

    @property
    def is_idle(self) -> bool:
        """Whether no call runs."""
        return not self._calls

    def is_running(self, key: AttemptKey) -> bool:
        """Tell whether the call of an attempt runs."""
        return key in self._calls

    def cancel(self, key: AttemptKey) -> None:
        """Stop the call of an attempt that no longer counts."""
        running = self._calls.pop(key, None)
        if running is not None:
            running.emitter.close()
            running.call.cancel()

    def cancel_all(self) -> None:
        """Stop every call."""
        for key in list(self._calls):
            self.cancel(key)

    # -- decisions -----------------------------------------------------------------------------

    def perform(self, task: Task) -> Work | None:
        """Run a task's decision and return its result, or start its call and return nothing."""
        key = attempt_key(task)
        try:
            return self._decide(key, task)
        except Exception as error:  # a fault of a Step or of a runner's plain method
            logger.exception("%s %s attempt %d failed", task.flow_id, task.step_id, task.attempt)
            return self._failed(key, task, error)

    def _decide(self, key: AttemptKey, task: Task) -> Work | None:
        mount = self._mounts[task.flow_type]
        session = mount.session
        definition = session.steps.get(task.step_type)
        if definition is None:
            raise LookupError(f"{session.flow_type} has no Step {task.step_type!r}")
        io = mount.step_io(task, self._engine.clock.now())
        step_input = value_text(task.input)
        if task.method is Method.WAIT_FOR:
            if definition.wait_for is None:
                raise LookupError(f"Step {task.step_type!r} no longer waits")
            wait = definition.wait_for(session, io, step_input)
            return self._completed(key, task, mount.wait_for_response(io, wait), ())
        plan = definition.execute(session, io, step_input)
        if not isinstance(plan, PreparedCall):
            response = mount.execute_response(io, plan.decision)
            return self._completed(key, task, response, plan.events)
        emitter = EmbeddedEmitter(self._engine, key, task, self._event_key(task), mount)
        call = partial(self._call, key, task, mount, definition, plan, emitter)
        name = f"{task.flow_id} {task.step_id}"
        self._calls[key] = RunningCall(self._pool.spawn(call, name), emitter)
        return None

    # -- calls ---------------------------------------------------------------------------------

    def _call(
        self,
        key: AttemptKey,
        task: Task,
        mount: SessionMount,
        definition: StepDefinition,
        prepared: PreparedCall,
        emitter: EmbeddedEmitter,
    ) -> None:
        try:
            work = self._settled(key, task, mount, definition, prepared, emitter)
        except StepCallError as error:
            work = self._failed(key, task, error)
        except Exception as error:  # a fault of our own, not of the call
            logger.exception("%s %s attempt %d failed", task.flow_id, task.step_id, task.attempt)
            work = self._failed(key, task, error)
        finally:
            emitter.close()
        self._engine.post(partial(self._finish, key, work))

    def _settled(
        self,
        key: AttemptKey,
        task: Task,
        mount: SessionMount,
        definition: StepDefinition,
        prepared: PreparedCall,
        emitter: EmbeddedEmitter,
    ) -> Work:
        session = mount.session
        if definition.settle is None or not isinstance(session, AgentSession):
            raise LookupError(f"Step {task.step_type!r} cannot settle a call")
        outcome = session.perform_call(prepared, emitter)
        io = mount.step_io(task, self._engine.clock.now())
        plan = definition.settle(session, io, value_text(task.input), prepared, outcome)
        response = mount.execute_response(io, plan.decision)
        return self._completed(key, task, response, plan.events)

    def _finish(self, key: AttemptKey, work: Work, core: EngineCore) -> None:
        work(core)
        self._calls.pop(key, None)

    # -- results -------------------------------------------------------------------------------

    def _event_key(self, task: Task) -> StreamKey:
        return StreamKey(task.flow_type, AGENT_EVENTS.name, task.flow_id)

    def _completed(
        self,
        key: AttemptKey,
        task: Task,
        response: WaitForResponse | ExecuteResponse,
        events: tuple[str, ...],
    ) -> Work:
        capacity = self._mounts[task.flow_type].session.options.event_stream_capacity_bytes
        stream = self._event_key(task)

        def complete(core: EngineCore) -> None:
            if not core.complete(key, task.flow_id, response):
                return
            for event in events:
                core.append_event(stream, f"#{task.step_id}", text_value(event), capacity)

        return complete

    def _failed(self, key: AttemptKey, task: Task, error: Exception) -> Work:
        failure = failure_of(error)
        return lambda core: core.fail(key, task.flow_id, failure)
