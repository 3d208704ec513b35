# twin: generated from src/dex_agents/session/calls.py by tools/twin; do not edit.
"""Perform the calls that Steps ask for: one model call, or one tool call."""

import logging
from functools import partial

from dex_agents.errors import StepCallError, StepInvocationClosed, ToolExecutionError
from dex_agents.model.state import AgentUsage
from dex_agents_sync.runner.contract import AgentFrameworkRunner
from dex_agents.runner.estimates import (
    ASSUMED_OUTPUT_TOKENS,
    ModelCallEstimate,
    estimate_stored_input_tokens,
    model_call_estimator,
)
from dex_agents.runner.event_writer import AgentEventWriter
from dex_agents.runner.outcomes import DeferredToolOutcome
from dex_agents_sync.runner.turn import AgentTurnContext, DeferredToolExecution
from dex_agents.runner.turn_values import AgentTurn
from dex_agents.session.call_values import (
    CallFailed,
    CallReturned,
    ModelCall,
    ToolCall,
    ToolReportedFailure,
    error_text,
    is_permanent,
    root_error,
    step_call_error,
)
from dex_agents.session.definition import CallOutcome
from dex_agents_sync.session.emitter import StepEmitter
from dex_agents_sync.session.spending import ModelCallRefused, call_within_limit
from dex_agents_sync.spend.limit import ModelSpendLimit

_logger = logging.getLogger("dex_agents.session")


def perform_model_call(
    runner: AgentFrameworkRunner[DeferredToolOutcome],
    call: ModelCall,
    emitter: StepEmitter,
    *,
    flow_type: str,
    spend_limit: ModelSpendLimit | None = None,
) -> CallOutcome:
    """Call the model once, if the spend limit allows it.

    Raises:
        StepCallError: The call failed in a way that another attempt may cure.
        StepInvocationClosed: The Step has ended.
    """
    turn = call.turn
    events = AgentEventWriter(call.source, emitter.write)
    context = AgentTurnContext(
        flow_id=turn.flow_id,
        turn_id=turn.turn_id,
        attempt=turn.attempt,
        messages=turn.messages,
        framework_run_state=turn.framework_run_state,
        tool_calls=turn.tool_calls,
        options=turn.options,
        events=events,
        _emitter=emitter,
    )
    try:
        value = call_within_limit(
            spend_limit,
            lambda: call.spend_request(flow_type, _estimate(runner, turn)),
            partial(runner.run_model_step, context),
        )
        return (
            CallFailed(value.error) if isinstance(value, ModelCallRefused) else CallReturned(value)
        )
    except StepInvocationClosed:
        raise
    except Exception as error:
        return _failed(error, f"model call of {turn.flow_id}/{turn.turn_id}")
    finally:
        events.close()


def perform_tool_call(
    runner: AgentFrameworkRunner[DeferredToolOutcome], call: ToolCall, emitter: StepEmitter
) -> CallOutcome:
    """Run one tool call.

    Raises:
        StepCallError: The call failed in a way that another attempt may cure.
        StepInvocationClosed: The Step has ended.
    """
    record = call.record
    events = AgentEventWriter(call.source, emitter.write)
    execution = DeferredToolExecution(
        flow_id=call.flow_id,
        tool_call=record,
        idempotency_key=call.idempotency_key,
        attempt=call.source.attempt,
        events=events,
        heartbeat_checkpoint=call.heartbeat_checkpoint,
        _emitter=emitter,
    )
    emitter.write(call.source.tool_call_started(record.tool_call_id, record.tool_name))
    # Once the engine has taken a sign of life, it can never count this attempt as not started.
    emitter.heartbeat()
    try:
        return CallReturned(runner.execute_deferred_tool_call(execution))
    except StepInvocationClosed:
        raise
    except Exception as error:
        root = root_error(error)
        if isinstance(root, ToolExecutionError):
            return ToolReportedFailure(error_text(root))
        return _failed(error, f"tool call {call.idempotency_key}")
    finally:
        events.close()


def _estimate(runner: object, turn: AgentTurn) -> ModelCallEstimate:
    estimator = model_call_estimator(runner)
    if estimator is not None:
        return estimator.estimate_model_call(turn)
    usage = AgentUsage(
        input_tokens=estimate_stored_input_tokens(turn),
        output_tokens=ASSUMED_OUTPUT_TOKENS,
        model_calls=1,
    )
    return ModelCallEstimate(usage=usage)


def _failed(error: Exception, what: str) -> CallOutcome:
    root = root_error(error)
    if is_permanent(root):
        _logger.debug("%s failed for good", what, exc_info=error)
        return CallFailed(error_text(root))
    _logger.debug("%s failed", what, exc_info=error)
    failure: StepCallError = step_call_error(root)
    raise failure from None
