# twin: shared
"""Run the methods of one session's Steps and RPCs for the SDK: all of it that has no colour."""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import dex

from dex_agents.errors import StepCallError
from dex_agents.sdk.persistence import new_event_stream, persistence_schema
from dex_agents.sdk.step_io import SdkStepIO
from dex_agents.sdk.translate import Translator, rpc_options, translate_wait
from dex_agents.session.call_values import root_error, step_call_error
from dex_agents.session.definition import (
    CallOutcome,
    PreparedCall,
    RpcDefinition,
    SessionDefinition,
    StepDefinition,
)
from dex_agents.session.ports import StepPlan
from dex_agents.session.remote import RemoteAgentSession

_logger: Final = logging.getLogger("dex_agents.sdk")

_MAX_RETRY_AFTER_SECONDS: Final = 24 * 3600

_MAX_BEAT_SECONDS: Final = 20.0
"""How often a silent call says that it is alive, at least."""


@dataclass(frozen=True, slots=True)
class StepEnd:
    """What an `execute` came to: events to write first, in order, and the decision."""

    decision: dex.StepDecision
    events: tuple[str, ...]


class SdkMount:
    """One session as the SDK sees it: its Stream, its schema, and its methods."""

    def __init__(self, session: SessionDefinition) -> None:
        """Prepare what does not change from call to call."""
        self.session = session
        self.events = new_event_stream(session.options.event_stream_capacity_bytes)
        self.schema = persistence_schema(self.events)
        self.step_types: dict[str, type[dex.Step[Any]]] = {}
        self.translator = Translator(session, self.step_types)

    def wait_for(
        self, definition: StepDefinition, context: dex.Context, step_input: str | None
    ) -> dex.Wait:
        """Run a Step's `wait_for`."""
        if definition.wait_for is None:
            raise LookupError(f"Step {definition.name!r} does not wait")
        io = SdkStepIO(context)
        wait = definition.wait_for(self.session, io, step_input)
        io.commit()
        return translate_wait(wait)

    def prepare(
        self, definition: StepDefinition, context: dex.Context, step_input: str | None
    ) -> StepEnd | PreparedCall:
        """Run a Step's `execute` up to its end, or up to the call that it asks for."""
        io = SdkStepIO(context)
        plan = definition.execute(self.session, io, step_input)
        if isinstance(plan, PreparedCall):
            return plan
        return self._end(io, plan)

    def settle(
        self,
        definition: StepDefinition,
        context: dex.Context,
        step_input: str | None,
        prepared: PreparedCall,
        outcome: CallOutcome,
    ) -> StepEnd:
        """Let a Step commit what its call came to; the time is looked at again."""
        if definition.settle is None:
            raise LookupError(f"Step {definition.name!r} cannot settle a call")
        io = SdkStepIO(context)
        return self._end(io, definition.settle(self.session, io, step_input, prepared, outcome))

    def _end(self, io: SdkStepIO, plan: StepPlan) -> StepEnd:
        io.commit()
        return StepEnd(self.translator.decision(plan.decision), plan.events)

    def rpc(
        self, definition: RpcDefinition, context: dex.Context, rpc_input: str | None
    ) -> dex.RPCResult[str]:
        """Run an RPC handler."""
        if isinstance(self.session, RemoteAgentSession):
            # A Worker serves this Flow by mistake; the answer to a caller is where that is seen.
            self.session.refuse()
        io = SdkStepIO(context)
        result = definition.handler(self.session, io, rpc_input)
        io.commit()
        return self.translator.rpc_result(result)


class SessionStep(dex.Step[str]):
    """The base of the classes that the SDK takes for the rows of the Step table.

    Inputs are annotated as text; a Step without input gets `None` (see `sdk.translate`).
    """

    def __init__(self, mount: SdkMount, definition: StepDefinition) -> None:
        """Be one Step of a session."""
        self.mount = mount
        self.definition = definition

    def get_step_type(self) -> str:
        """Return the durable name."""
        return self.definition.name

    def get_step_options(self) -> dex.StepOptions:
        """Return the options that a start of the Flow uses; a movement brings its own."""
        return self.mount.translator.step_options(self.definition.name, None)

    @property
    def beat_seconds(self) -> float:
        """Return how long a call of this Step may be silent before a heartbeat goes out for it.

        Two may be lost or late before the engine gives the call up.
        """
        return min(_MAX_BEAT_SECONDS, self.definition.options.heartbeat_timeout_seconds / 3)

    def failure(self, error: Exception, context: dex.Context) -> Exception:
        """Return what to raise, `from None`, for an exception of this Step or of its call."""
        what = f"{context.flow_id} {context.step_execution_id} attempt {context.attempt}"
        return reported_failure(error, what)


class WaitingStep(SessionStep):
    """The part of a Step that waits: the SDK calls `wait_for` only where a class defines it."""

    def wait_for(self, context: dex.Context, input: str) -> dex.Wait:
        """Say what to wait for; short, so it is a plain function for both kinds of Worker."""
        try:
            return self.mount.wait_for(self.definition, context, input)
        except Exception as error:  # a fault of the Step; reported as all failures are
            raise self.failure(error, context) from None


StepT = TypeVar("StepT", bound=SessionStep)


def step_type(base: type[StepT], definition: StepDefinition) -> type[StepT]:
    """Return a class of its own for one row of the Step table, as the SDK wants it."""
    bases = (base,) if definition.wait_for is None else (WaitingStep, base)
    made: type[StepT] = type(definition.name, bases, {"__module__": base.__module__})
    return made


def rpc_handler(
    mount: SdkMount, definition: RpcDefinition
) -> Callable[[Any, dex.Context, str], dex.RPCResult[str]]:
    """Return one row of the RPC table as a method of a Flow."""

    def handler(flow: object, context: dex.Context, rpc_input: str) -> dex.RPCResult[str]:
        try:
            return mount.rpc(definition, context, rpc_input)
        except Exception as error:  # the handler's error is the caller's answer
            raise reported_failure(error, f"{context.flow_id} RPC {definition.name}") from None

    handler.__name__ = definition.name
    options = rpc_options(definition.locks, definition.loads, definition.load_channels)
    return dex.rpc(name=definition.name, is_transactional=definition.is_transactional, **options)(
        handler
    )


def reported_failure(error: Exception, what: str) -> Exception:
    """Return what to raise to the SDK for an exception of a method or a call.

    Always of one type and with clean text: the SDK reports an asynchronous handler's `ValueError`
    as another type than a plain handler's, cuts long texts, and cannot send a lone surrogate.
    Raise it `from None`, so that its stack trace does not bring the original text back in.
    """
    if isinstance(error, StepCallError):
        failure = error
    else:
        # Nothing else keeps the traceback of what is a fault in a program.
        _logger.error("%s failed", what, exc_info=error)
        failure = step_call_error(root_error(error))
    seconds = failure.retry_after_seconds
    if seconds is None:
        return failure
    return dex.retry_after(min(math.ceil(seconds), _MAX_RETRY_AFTER_SECONDS), failure)
