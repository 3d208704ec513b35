# twin: shared
"""CallTool and CallSingleAttemptTool: prepare one tool call, and settle what came of it."""

from dataclasses import replace

from dex_agents.model.keys import idempotency_key
from dex_agents.model.text import bounded_text, clean_text, utf8_size
from dex_agents.model.tool_calls import AgentToolCall, ToolCallStatus, ToolEffect
from dex_agents.runner.outcomes import ToolExecutionResult, ToolResultLeftOut
from dex_agents.session.call_values import (
    CallFailed,
    CallReturned,
    ToolCall,
    ToolReportedFailure,
)
from dex_agents.session.decide.records import (
    event_source,
    failed_record,
    finish_tool_call,
    own_tool_call,
)
from dex_agents.session.definition import CallOutcome, PreparedCall, SessionDefinition
from dex_agents.session.notes import (
    result_left_out_error,
    result_left_out_output,
    result_over_limit_reason,
)
from dex_agents.session.ports import DEAD_END, StepIO, StepPlan


def prepare_tool_call(
    session: SessionDefinition, io: StepIO, step_input: str | None
) -> StepPlan | PreparedCall:
    """Ask for the call, unless its record is final already."""
    tool_call_id, record = own_tool_call(io, step_input)
    if record is None or record.is_final:
        return StepPlan(DEAD_END)
    return ToolCall(
        flow_id=io.flow_id,
        record=record,
        idempotency_key=idempotency_key(io.flow_id, record.turn_id, tool_call_id),
        heartbeat_checkpoint=io.heartbeat_checkpoint,
        source=event_source(io, record.turn_id),
    )


def settle_tool_call(
    session: SessionDefinition,
    io: StepIO,
    step_input: str | None,
    prepared: PreparedCall,
    outcome: CallOutcome,
) -> StepPlan:
    """Record the end of the call and tell the waiting turn."""
    _, record = own_tool_call(io, step_input)
    if record is None or record.is_final:
        return StepPlan(DEAD_END)
    return StepPlan(DEAD_END, (finish_tool_call(io, _ended_record(session, record, outcome)),))


def _ended_record(
    session: SessionDefinition, record: AgentToolCall, outcome: CallOutcome
) -> AgentToolCall:
    max_error_bytes = session.options.max_error_bytes
    if isinstance(outcome, ToolReportedFailure):
        error = bounded_text(outcome.message, max_error_bytes)
        return replace(record, status=ToolCallStatus.FAILED, error=error)
    if isinstance(outcome, CallFailed):
        return failed_record(record, outcome.error, max_error_bytes)
    if not isinstance(outcome, CallReturned):
        raise TypeError(f"a tool Step cannot settle with a {type(outcome).__name__}")
    value = outcome.value
    if isinstance(value, ToolResultLeftOut):
        return _left_out_record(record, value.reason, max_error_bytes)
    output: object = value.output if isinstance(value, ToolExecutionResult) else None
    if not isinstance(output, str):
        error = (
            f"the agent runner is at fault: the result of tool {record.tool_name} must be a "
            f"ToolExecutionResult with text, not {type(value).__name__}"
        )
        return failed_record(record, error, max_error_bytes)
    size, limit = utf8_size(output), session.options.max_tool_result_bytes
    if size > limit:
        reason = result_over_limit_reason(size, limit)
        return _left_out_record(record, reason, max_error_bytes)
    return replace(record, status=ToolCallStatus.SUCCEEDED, output=clean_text(output))


def _left_out_record(record: AgentToolCall, reason: str, max_bytes: int) -> AgentToolCall:
    """Record a tool that ran and whose result cannot be kept; running it again would not help."""
    if record.effect is ToolEffect.READ:
        error = bounded_text(result_left_out_error(record.tool_name, reason), max_bytes)
        return replace(record, status=ToolCallStatus.FAILED, error=error)
    output = bounded_text(result_left_out_output(record.tool_name, reason), max_bytes)
    return replace(record, status=ToolCallStatus.SUCCEEDED, output=output)
