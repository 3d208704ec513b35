# twin: seam
"""Run Steps on the SDK's threaded Worker: a call has a thread, and the handler pumps its frames.

The SDK takes frames only from a generator that it resumes, on the Worker's own thread, and it never
interrupts one. So a call that blocks runs in a helper thread, and the generator passes on what
comes from there. It sends a heartbeat when nothing comes, and ends when the engine gives up.
"""

import logging
import threading
import time
from collections.abc import Callable, Generator
from contextvars import copy_context

import dex
from dex import Context, StepDecision, StepOutput, Stream

from dex_agents.errors import StepInvocationClosed
from dex_agents.model.text import clean_text
from dex_agents.sdk.backlog import FrameBacklog
from dex_agents.sdk.mount import SdkMount, SessionStep, step_type
from dex_agents.session.call_values import step_call_error
from dex_agents.session.definition import CallOutcome, PreparedCall, StepDefinition
from dex_agents_sync.session.agent_session import AgentSession
from dex_agents_sync.session.emitter import StepEmitter

_logger = logging.getLogger("dex_agents.sdk")

# How soon a call that says nothing is seen to be cancelled.
_POLL_SECONDS = 0.25

_Perform = Callable[[PreparedCall, StepEmitter], CallOutcome]


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
    """A Step that calls nothing outside; a generator because events can only be yielded here."""

    def execute(self, context: Context, input: str) -> Generator[StepOutput, None, StepDecision]:
        """Decide."""
        try:
            end = self.mount.prepare(self.definition, context, input)
            if isinstance(end, PreparedCall):
                raise LookupError(f"Step {self.definition.name!r} cannot settle a call")
            for event in end.events:
                yield self.mount.events.write(context, event)
            return end.decision
        except Exception as error:  # a fault of the Step; reported as all failures are
            raise self.failure(error, context) from None


class _CallStep(SessionStep):
    """A Step that calls a model or a tool."""

    def __init__(self, mount: SdkMount, definition: StepDefinition, perform: _Perform) -> None:
        """Be one Step of a session, with its session's calls."""
        super().__init__(mount, definition)
        self._perform = perform

    def execute(self, context: Context, input: str) -> Generator[StepOutput, None, StepDecision]:
        """Prepare, call, settle; a cancelled Step ends with `StepInvocationClosed`."""
        mount, definition = self.mount, self.definition
        try:
            end = mount.prepare(definition, context, input)
            if isinstance(end, PreparedCall):
                prepared = end
                outcome = yield from self._called(context, prepared)
                end = mount.settle(definition, context, input, prepared, outcome)
            for event in end.events:
                yield mount.events.write(context, event)
            return end.decision
        except StepInvocationClosed:
            raise
        except Exception as error:  # of the call, or a fault of the Step
            raise self.failure(error, context) from None

    def _called(
        self, context: Context, prepared: PreparedCall
    ) -> Generator[StepOutput, None, CallOutcome]:
        name = f"{self.definition.name} {context.flow_id}"
        outbox = _Outbox(name)
        emitter = _OutboxEmitter(outbox)

        def call() -> None:
            try:
                outbox.end(_Ended(self._perform(prepared, emitter), None))
            except Exception as error:  # raised again where the Step is told
                outbox.end(_Ended(None, error))
            except BaseException as error:  # a tool that calls sys.exit() must not hang its Step
                outbox.end(_Ended(None, step_call_error(error)))

        # A daemon: a call that does not cooperate may run on after its Step was cancelled.
        threading.Thread(target=copy_context().run, args=(call,), name=name, daemon=True).start()
        return (yield from _pump(context, self.mount.events, outbox, self.beat_seconds))


def _pump(
    context: Context, events: Stream[str], outbox: "_Outbox", beat_seconds: float
) -> Generator[StepOutput, None, CallOutcome]:
    """Pass on frames until the call ends; whatever ends the pump releases the call's threads."""
    # A checkpoint of an earlier attempt is kept until there is a new one.
    checkpoint = context.get_last_heartbeat_value(str)
    last_frame = time.monotonic()
    frame: str | _Beat | _Ended | None = None
    try:
        while True:
            if context.is_cancellation_requested():
                raise StepInvocationClosed(f"{context.step_execution_id} was cancelled")
            beat_due = last_frame + beat_seconds - time.monotonic()
            frame = outbox.take(min(_POLL_SECONDS, max(0.0, beat_due)))
            if isinstance(frame, _Ended):
                return frame.outcome()
            if isinstance(frame, str):
                yield events.write(context, frame)
            elif frame is not None:
                checkpoint = checkpoint if frame.checkpoint is None else frame.checkpoint
                yield _heartbeat(checkpoint)
                # Resumed: the SDK has sent it.
                frame.release(is_sent=True)
            elif beat_due <= 0:
                yield _heartbeat(checkpoint)
            else:
                continue
            last_frame = time.monotonic()
    finally:
        outbox.close()
        if isinstance(frame, _Beat):
            frame.release(is_sent=False)


def _heartbeat(checkpoint: str | None) -> StepOutput:
    # Without a value the SDK would clear what an earlier heartbeat has stored.
    return dex.heartbeat() if checkpoint is None else dex.heartbeat(checkpoint)


class _Beat:
    """A heartbeat that a thread of the call waits for."""

    def __init__(self, checkpoint: str | None) -> None:
        self.checkpoint = checkpoint
        self._released = threading.Event()
        self._is_sent = False

    def release(self, *, is_sent: bool) -> None:
        """Tell the waiting thread; only the first answer counts."""
        if not self._released.is_set():
            self._is_sent = is_sent
            self._released.set()

    def wait(self) -> bool:
        """Wait for the answer: whether the frame was sent."""
        self._released.wait()
        return self._is_sent


class _Ended:
    """The end of the call."""

    def __init__(self, outcome: CallOutcome | None, error: Exception | None) -> None:
        self._outcome = outcome
        self._error = error

    def outcome(self) -> CallOutcome:
        """Return what the call came to, or raise what it raised."""
        if self._error is not None:
            raise self._error
        assert self._outcome is not None
        return self._outcome


class _Outbox:
    """Frames on their way from any thread to the pump; never waits for the pump to take them."""

    def __init__(self, name: str) -> None:
        self.is_closed = False
        self._name = name
        self._changed = threading.Condition()
        self._frames: FrameBacklog[_Beat | _Ended] = FrameBacklog()

    def put(self, frame: str | _Beat) -> bool:
        """Append a frame; tell whether it was still possible."""
        with self._changed:
            if self.is_closed:
                return False
            self._frames.add(frame)
            self._changed.notify()
        return True

    def end(self, ended: _Ended) -> None:
        """Append the last frame."""
        with self._changed:
            if not self.is_closed:
                self._frames.add(ended)
                self.is_closed = True
                self._changed.notify()

    def take(self, timeout_seconds: float) -> str | _Beat | _Ended | None:
        """Return the oldest frame, waiting for one at most for a time."""
        with self._changed:
            if not self._frames:
                self._changed.wait(timeout_seconds)
            return self._frames.take() if self._frames else None

    def close(self) -> None:
        """Refuse everything from now on, and release whoever waits."""
        with self._changed:
            self.is_closed = True
            left = [self._frames.take() for _ in range(len(self._frames))]
        for frame in left:
            if isinstance(frame, _Beat):
                frame.release(is_sent=False)
        if self._frames.dropped:
            _logger.warning(
                "%s: %d live events were dropped, because the engine took them too slowly",
                self._name,
                self._frames.dropped,
            )


class _OutboxEmitter:
    """The `StepEmitter` of one call."""

    def __init__(self, outbox: _Outbox) -> None:
        """Speak for one attempt."""
        self._outbox = outbox

    def is_cancelled(self) -> bool:
        """Tell whether the engine has given up on this call."""
        return self._outbox.is_closed

    def write(self, event: str) -> None:
        """Append an event; from any thread, without waiting."""
        self._outbox.put(event)

    def heartbeat(self) -> None:
        """Return once the SDK has sent a heartbeat that repeats the last checkpoint.

        Raises:
            StepInvocationClosed: The Step has ended.
        """
        self._send(_Beat(None))

    def save_checkpoint(self, checkpoint: str) -> None:
        """Return once the SDK has sent a heartbeat with a new checkpoint.

        Raises:
            StepInvocationClosed: The Step has ended.
        """
        self._send(_Beat(clean_text(checkpoint)))

    def _send(self, beat: _Beat) -> None:
        if not self._outbox.put(beat) or not beat.wait():
            raise StepInvocationClosed("a heartbeat came after the end of its Step")
