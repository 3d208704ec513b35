# twin: shared
"""Which Step a tool call goes to."""

from dex_agents.model.tool_calls import AgentToolCall, ToolCallStatus
from dex_agents.session.ports import Movement
from dex_agents.session.step_names import AWAIT_TOOL_APPROVAL, CALL_SINGLE_ATTEMPT_TOOL, CALL_TOOL


def first_movement(record: AgentToolCall) -> Movement:
    """Return the movement that a new record starts with."""
    if record.status is ToolCallStatus.AWAITING_APPROVAL:
        return Movement(AWAIT_TOOL_APPROVAL, record.tool_call_id)
    return tool_movement(record)


def tool_movement(record: AgentToolCall) -> Movement:
    """Return the movement that runs the tool."""
    step = CALL_TOOL if record.effect.may_run_again else CALL_SINGLE_ATTEMPT_TOOL
    return Movement(step, record.tool_call_id)
