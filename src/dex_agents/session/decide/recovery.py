# twin: shared
"""RecordToolFailure and RecordToolOutcomeUnknown: the tool Step used up its attempts."""

from dataclasses import replace
from typing import Final

from dex_agents.model.text import bounded_text
from dex_agents.model.tool_calls import AgentToolCall, ToolCallStatus
from dex_agents.session.decide.records import failed_record, finish_tool_call, own_tool_call
from dex_agents.session.definition import SessionDefinition
from dex_agents.session.notes import tool_not_run_error
from dex_agents.session.ports import DEAD_END, RecoveryError, StepIO, StepPlan

NOT_STARTED_ERROR_TYPE: Final = "dex_agents.engine.NotStarted"
"""What this project's engines report when no attempt of a call was ever handed out."""

_NOT_STARTED_PROGRESS: Final = "NOT_STARTED"
_UNKNOWN_DETAIL: Final = "the call did not complete"


def record_tool_failure(session: SessionDefinition, io: StepIO, step_input: str | None) -> StepPlan:
    """End a call that may run again: a read failed, a write may have taken effect."""
    _, record = own_tool_call(io, step_input)
    if record is None or record.is_final:
        return StepPlan(DEAD_END)
    limit = session.options.max_error_bytes
    ended = _never_ran_record(io, record, limit) or failed_record(record, _detail(io), limit)
    return StepPlan(DEAD_END, (finish_tool_call(io, ended),))


def record_tool_outcome_unknown(
    session: SessionDefinition, io: StepIO, step_input: str | None
) -> StepPlan:
    """End a call that had one attempt, which may have taken effect."""
    _, record = own_tool_call(io, step_input)
    if record is None or record.is_final:
        return StepPlan(DEAD_END)
    limit = session.options.max_error_bytes
    ended = _never_ran_record(io, record, limit)
    if ended is None:
        error = bounded_text(_detail(io), limit)
        ended = replace(record, status=ToolCallStatus.OUTCOME_UNKNOWN, error=error)
    return StepPlan(DEAD_END, (finish_tool_call(io, ended),))


def has_never_run(error: RecoveryError | None) -> bool:
    """Tell whether the failure proves that no attempt ran; without proof the tool may have run."""
    return error is not None and (
        error.error_type == NOT_STARTED_ERROR_TYPE
        or error.attempt_progress == _NOT_STARTED_PROGRESS
    )


def _never_ran_record(io: StepIO, record: AgentToolCall, limit: int) -> AgentToolCall | None:
    if not has_never_run(io.recovery_error):
        return None
    error = bounded_text(tool_not_run_error(_detail(io)), limit)
    return replace(record, status=ToolCallStatus.FAILED, error=error)


def _detail(io: StepIO) -> str:
    error = io.recovery_error
    return (error.detail or error.error_type if error else "") or _UNKNOWN_DETAIL
