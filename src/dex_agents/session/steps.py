# twin: shared
"""The Step table: every Step of a session with its options, loads and decisions.

StartAgentSession ─┬─> AwaitUserMessage <──────────────── RecordTurnFailure
                   └─> RunModel                                  ^
AwaitUserMessage ────> RunModel ─┬─ final answer ──> AwaitUserMessage
                          ^      ├─ used up, or refused ─────────┘
                          │      └─ tool calls ─┬─> AwaitToolApproval ─┐ approved
                          │                     ├─> CallTool <─────────┤
                          │                     ├─> CallSingleAttemptTool
                          └──── ResumeTurn <────┘   used up ──> RecordTool…
"""

from collections.abc import Sequence

from dex_agents.model.options import AgentSessionOptions, CallLimit
from dex_agents.session.decide.model_call import prepare_model_call, settle_model_call
from dex_agents.session.decide.recovery import record_tool_failure, record_tool_outcome_unknown
from dex_agents.session.decide.tool_call import prepare_tool_call, settle_tool_call
from dex_agents.session.decide.turns import (
    await_user_message,
    record_turn_failure,
    start_agent_session,
    wait_for_user_message,
)
from dex_agents.session.decide.waits import (
    await_tool_approval,
    resume_turn,
    wait_for_approval,
    wait_for_results,
)
from dex_agents.session.definition import StepDefinition
from dex_agents.session.ports import MapLoad, RetryPolicy, StepOptions
from dex_agents.session.schema import (
    AGENT_TOOL_CALLS,
    PENDING_INTERRUPTS,
    TURN_CANCELLATION_REQUEST,
)
from dex_agents.session.step_names import (
    AWAIT_TOOL_APPROVAL,
    AWAIT_USER_MESSAGE,
    CALL_SINGLE_ATTEMPT_TOOL,
    CALL_TOOL,
    RECORD_TOOL_FAILURE,
    RECORD_TOOL_OUTCOME_UNKNOWN,
    RECORD_TURN_FAILURE,
    RESUME_TURN,
    RUN_MODEL,
    START_AGENT_SESSION,
)
from dex_agents.session.stored_messages import ALL_CHUNK_LOADS, WINDOW_LOADS

_INTERRUPT_LOCK = (PENDING_INTERRUPTS.name,)
# What a Step loads that is reached without loads of its own, such as one that an earlier release
# moved to; a movement of this one names them exactly (see `turn_loads`).
_TURN_LOADS: tuple[MapLoad, ...] = (*WINDOW_LOADS, *ALL_CHUNK_LOADS, AGENT_TOOL_CALLS.load_all())


def build_steps(options: AgentSessionOptions, runner: object) -> dict[str, StepDefinition]:
    """Return the Step table of a session with these options and this runner, by Step name."""
    steps = (*_turn_steps(options), *_tool_steps(options))
    return {step.name: step for step in steps}


def _turn_steps(options: AgentSessionOptions) -> tuple[StepDefinition, ...]:
    return (
        StepDefinition(
            name=START_AGENT_SESSION,
            options=StepOptions(),
            execute=start_agent_session,
            execute_loads=lambda step_input: WINDOW_LOADS,
        ),
        StepDefinition(
            name=AWAIT_USER_MESSAGE,
            # While it decides that a turn starts, no cancellation may decide that none runs.
            options=StepOptions(execute_locks=(TURN_CANCELLATION_REQUEST.name,)),
            wait_for=wait_for_user_message,
            execute=await_user_message,
            execute_loads=lambda step_input: WINDOW_LOADS,
        ),
        StepDefinition(
            name=RUN_MODEL,
            options=_call_options(
                options.run_model_limit,
                attempts=options.run_model_limit.maximum_attempts,
                failure_step=RECORD_TURN_FAILURE,
            ),
            execute=prepare_model_call,
            settle=settle_model_call,
            execute_loads=lambda step_input: _TURN_LOADS,
        ),
        StepDefinition(
            name=RESUME_TURN,
            options=StepOptions(execute_locks=_INTERRUPT_LOCK),
            wait_for=wait_for_results,
            execute=resume_turn,
            execute_loads=lambda step_input: (AGENT_TOOL_CALLS.load_all(),),
        ),
        StepDefinition(
            name=RECORD_TURN_FAILURE,
            options=StepOptions(execute_locks=_INTERRUPT_LOCK),
            execute=record_turn_failure,
            execute_loads=lambda step_input: (*WINDOW_LOADS, AGENT_TOOL_CALLS.load_all()),
        ),
    )


def _tool_steps(options: AgentSessionOptions) -> tuple[StepDefinition, ...]:
    limit = options.tool_call_limit
    return (
        StepDefinition(
            name=AWAIT_TOOL_APPROVAL,
            # The deadline and resolve_interrupt both hold it, so that only one of them decides.
            options=StepOptions(execute_locks=_INTERRUPT_LOCK),
            wait_for=wait_for_approval,
            execute=await_tool_approval,
            execute_loads=_own_tool_call,
        ),
        StepDefinition(
            name=CALL_TOOL,
            options=_call_options(
                limit, attempts=limit.maximum_attempts, failure_step=RECORD_TOOL_FAILURE
            ),
            execute=prepare_tool_call,
            settle=settle_tool_call,
            execute_loads=_own_tool_call,
        ),
        StepDefinition(
            name=CALL_SINGLE_ATTEMPT_TOOL,
            options=_call_options(limit, attempts=1, failure_step=RECORD_TOOL_OUTCOME_UNKNOWN),
            execute=prepare_tool_call,
            settle=settle_tool_call,
            execute_loads=_own_tool_call,
        ),
        StepDefinition(
            name=RECORD_TOOL_FAILURE,
            options=StepOptions(),
            execute=record_tool_failure,
            execute_loads=_own_tool_call,
        ),
        StepDefinition(
            name=RECORD_TOOL_OUTCOME_UNKNOWN,
            options=StepOptions(),
            execute=record_tool_outcome_unknown,
            execute_loads=_own_tool_call,
        ),
    )


def _call_options(limit: CallLimit, *, attempts: int, failure_step: str) -> StepOptions:
    return StepOptions(
        execute_timeout_seconds=limit.timeout.total_seconds(),
        heartbeat_timeout_seconds=limit.heartbeat_timeout.total_seconds(),
        execute_retry=RetryPolicy(
            maximum_attempts=attempts,
            total_duration_seconds=limit.total_duration.total_seconds(),
        ),
        failure_step=failure_step,
    )


def _own_tool_call(step_input: str | None) -> Sequence[MapLoad]:
    return (AGENT_TOOL_CALLS.load_one(step_input or ""),)
