# twin: shared
"""What a Step asks the mount to call, and what came of it."""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from dex_agents.errors import NonRetryableError, StepCallError, ToolExecutionError
from dex_agents.model.events import EventSource
from dex_agents.model.text import MAX_STEP_FAILURE_BYTES, bounded_text, clean_text
from dex_agents.model.tool_calls import AgentToolCall
from dex_agents.runner.estimates import ModelCallEstimate
from dex_agents.runner.turn_values import AgentTurn
from dex_agents.session.definition import CallOutcome, PreparedCall
from dex_agents.spend.values import ModelCallKind, ModelSpendRequest

# An exception's own text may be of any size; no more of it is looked at than any limit allows.
_ERROR_TEXT_CHARACTERS = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall(PreparedCall):
    """Call the model once for this turn."""

    turn: AgentTurn
    source: EventSource
    run_id: str
    prepared_at: datetime

    def spend_request(self, flow_type: str, estimate: ModelCallEstimate) -> ModelSpendRequest:
        """Return the question to a spend limit for this attempt."""
        source, turn = self.source, self.turn
        attempt = f"{source.step_execution_id}/{source.attempt}"
        return ModelSpendRequest(
            key=f"{turn.flow_id}/{self.run_id}/{attempt}",
            kind=ModelCallKind.TURN,
            flow_id=turn.flow_id,
            turn_id=turn.turn_id,
            attempt=source.attempt,
            flow_type=flow_type,
            requested_at=self.prepared_at,
            estimate=estimate.usage,
            model=estimate.model,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(PreparedCall):
    """Run one tool call."""

    flow_id: str
    record: AgentToolCall
    idempotency_key: str
    heartbeat_checkpoint: str | None
    source: EventSource


@dataclass(frozen=True, slots=True)
class CallReturned(CallOutcome):
    """The runner returned; whether it returned something valid is for `settle` to say."""

    value: object


@dataclass(frozen=True, slots=True)
class CallFailed(CallOutcome):
    """The call failed in a way that another attempt cannot cure."""

    error: str


@dataclass(frozen=True, slots=True)
class ToolReportedFailure(CallOutcome):
    """The tool said itself that it failed."""

    message: str


def error_text(error: BaseException) -> str:
    """Return an exception as clean text: its type and message, or the message of one of ours."""
    try:
        message = clean_text(str(error)[:_ERROR_TEXT_CHARACTERS]).strip()
    except Exception:
        # A broken __str__ must not replace the failure that it belongs to.
        message = ""
    if message and isinstance(error, ToolExecutionError | NonRetryableError):
        return message
    name = type(error).__name__
    return f"{name}: {message}" if message else name


def qualified_name(error: BaseException) -> str:
    """Return an exception type's full name, such as `httpx.ReadTimeout`."""
    error_type = type(error)
    if error_type.__module__ == "builtins":
        return error_type.__qualname__
    return f"{error_type.__module__}.{error_type.__qualname__}"


def is_permanent(error: BaseException) -> bool:
    """Tell whether another attempt cannot help: our type, or an `is_permanent` that is true."""
    return isinstance(error, NonRetryableError) or getattr(error, "is_permanent", False) is True


def retry_after_of(error: BaseException) -> float | None:
    """Return the `retry_after_seconds` of an exception, when it is a time to wait."""
    seconds = getattr(error, "retry_after_seconds", None)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    return float(seconds) if math.isfinite(seconds) and seconds > 0 else None


def root_error(error: BaseException) -> BaseException:
    """Return the one exception inside groups of one, as concurrent code wraps it."""
    found: BaseException = error
    while isinstance(found, BaseExceptionGroup):
        members = cast("BaseExceptionGroup[BaseException]", found).exceptions
        if len(members) != 1:
            return error
        found = members[0]
    return found


def step_call_error(error: BaseException) -> StepCallError:
    """Return what goes to the engine for an exception that another attempt may cure."""
    return StepCallError(
        bounded_text(error_text(error), MAX_STEP_FAILURE_BYTES),
        error_type=qualified_name(error),
        retry_after_seconds=retry_after_of(error),
    )
