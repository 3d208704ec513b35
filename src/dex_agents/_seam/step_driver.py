# twin: seam
"""Run Steps on the SDK's asyncio Worker: a call is a coroutine, and beats are a task beside it."""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable

from dex import AsyncContext, Context, StepDecision, Stream

from dex_agents.errors import StepInvocationClosed
from dex_agents.model.text import clean_text
from dex_agents.sdk.mount import SdkMount, SessionStep, step_type
from dex_agents.session.agent_session import AgentSession
from dex_agents.session.definition import CallOutcome, PreparedCall, StepDefinition
from dex_agents.session.emitter import StepEmitter

_Perform = Callable[[PreparedCall, StepEmitter], Awaitable[CallOutcome]]


def build_steps(session: AgentSession, mount: SdkMount) -> dict[str, SessionStep]:
    """Return the SDK's Steps for a session's table, and tell the mount their classes."""
    steps: dict[str, SessionStep] = {}
    for name, definition in session.steps.items():
        if definition.settle is None:
            steps[name] = step_type(_DecisionStep, definition)(mount, definition)
        else:
            made = step_type(_CallStep, definition)
            steps[name] = made(mount, definition, session.perform_call)
        mount.step_types[name] = type(steps[name])
    return steps


class _DecisionStep(SessionStep):
    """A Step that calls nothing outside: a plain function, which the SDK takes here as well."""

    def execute(self, context: Context, input: str) -> StepDecision:
        """Decide."""
        try:
            end = self.mount.prepare(self.definition, context, input)
            if isinstance(end, PreparedCall):
                raise LookupError(f"Step {self.definition.name!r} cannot settle a call")
            for event in end.events:
                self.mount.events.write(context, event)
            return end.decision
        except Exception as error:  # a fault of the Step; reported as all failures are
            raise self.failure(error, context) from None


class _CallStep(SessionStep):
    """A Step that calls a model or a tool."""

    def __init__(self, mount: SdkMount, definition: StepDefinition, perform: _Perform) -> None:
        """Be one Step of a session, with its session's calls."""
        super().__init__(mount, definition)
        self._perform = perform

    # Its base class types plain handlers only; the Registry asks for this form of a coroutine.
    async def execute(self, context: AsyncContext, input: str) -> StepDecision:  # type: ignore[override]  # see above
        """Prepare, call, settle; cancellation passes through."""
        mount, definition = self.mount, self.definition
        try:
            end = mount.prepare(definition, context, input)
            if isinstance(end, PreparedCall):
                prepared = end
                outcome = await self._called(context, prepared)
                end = mount.settle(definition, context, input, prepared, outcome)
            for event in end.events:
                mount.events.write(context, event)
            return end.decision
        except StepInvocationClosed:
            raise
        except Exception as error:  # of the call, or a fault of the Step
            raise self.failure(error, context) from None

    async def _called(self, context: AsyncContext, prepared: PreparedCall) -> CallOutcome:
        emitter = _ContextEmitter(context, self.mount.events)
        beats = asyncio.create_task(emitter.beat(self.beat_seconds))
        try:
            return await self._perform(prepared, emitter)
        finally:
            emitter.close()
            beats.cancel()


class _ContextEmitter:
    """The `StepEmitter` of one call. All frames enter the SDK's queue on its own loop, in order."""

    def __init__(self, context: AsyncContext, events: Stream[str]) -> None:
        """Speak for one attempt."""
        self._context = context
        self._events = events
        # A checkpoint of an earlier attempt is kept until there is a new one.
        self._checkpoint = context.get_last_heartbeat_value(str)
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._last_frame = self._loop.time()
        self._is_closed = False

    def close(self) -> None:
        """End it: later events are dropped, later heartbeats refused."""
        self._is_closed = True

    def is_cancelled(self) -> bool:
        """Tell whether the engine has given up on this call."""
        return self._is_closed

    def write(self, event: str) -> None:
        """Append an event; from any thread, without waiting."""
        if threading.get_ident() == self._thread:
            self._write(event)
            return
        # The SDK's queue belongs to its loop; a loop that has ended takes nothing any more.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._write, event)

    def _write(self, event: str) -> None:
        if self._is_closed:
            return
        self._last_frame = self._loop.time()
        self._events.write(self._context, event)

    async def heartbeat(self) -> None:
        """Hand the SDK a heartbeat that repeats the last checkpoint.

        Raises:
            StepInvocationClosed: The Step has ended.
        """
        if self._is_closed:
            raise StepInvocationClosed("a heartbeat came after the end of its Step")
        self._last_frame = self._loop.time()
        # Without a value the SDK would clear what an earlier heartbeat has stored.
        if self._checkpoint is None:
            await self._context.heartbeat()
        else:
            await self._context.heartbeat(self._checkpoint)

    async def save_checkpoint(self, checkpoint: str) -> None:
        """Hand the SDK a heartbeat with a new checkpoint.

        Raises:
            StepInvocationClosed: The Step has ended.
        """
        self._checkpoint = clean_text(checkpoint)
        await self.heartbeat()

    async def beat(self, seconds: float) -> None:
        """Send a heartbeat whenever nothing was sent for a time, until cancelled."""
        while True:
            due = self._last_frame + seconds - self._loop.time()
            if due > 0:
                await asyncio.sleep(due)
            else:
                await self.heartbeat()
