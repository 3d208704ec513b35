# twin: shared
"""What the kernel does with each input: the public operations on a `Transition`.

Each function either changes the transition or raises and leaves it to be thrown away.
"""

from collections.abc import Callable
from dataclasses import replace

from dex_agents.engine.kernel.advance import (
    advance,
    begin_execute,
    begin_wait,
    heartbeat_deadline,
    start_step,
)
from dex_agents.engine.kernel.messages import (
    HEARTBEAT_ERROR_TYPE,
    METHOD_TIMEOUT_ERROR_TYPE,
    Decision,
    Effects,
    ExecuteResponse,
    Failure,
    RpcResponse,
    StepMovement,
    Task,
    WaitForResponse,
)
from dex_agents.engine.kernel.options import StepOptions
from dex_agents.engine.kernel.state import (
    FlowState,
    Method,
    Phase,
    RecoveryError,
    RunStatus,
    StepExecution,
    take_snapshot,
)
from dex_agents.engine.kernel.transition import Transition
from dex_agents.engine.kernel.values import Value

NewId = Callable[[], str]

START_SOURCE = "__start__"


class MessageNotFoundError(LookupError):
    """Report a channel message that a transactional RPC deletes and that is gone."""


def start_run(
    transition: Transition,
    movement: StepMovement | None,
    *,
    effects: Effects | None = None,
    delay: float = 0.0,
) -> None:
    """Record the start of a run, write its first state and queue its first Step."""
    transition.record("flow_started")
    transition.run = transition.state.run
    if effects is not None:
        _apply_effects(transition, effects, str)
    if movement is not None:
        start_step(transition, movement, START_SOURCE, delay=delay)
    advance(transition)


def hand_out(state: FlowState, step: StepExecution, now: float) -> tuple[Transition, Task]:
    """Start an attempt: its number is stored before any worker sees the task."""
    transition = Transition(state, now)
    options = step.method_options
    snapshot = state.snapshots.get((step.step_id, step.method))
    if snapshot is None:
        snapshot = take_snapshot(state, options.load_attributes, options.load_channels)
    attempt = step.attempt + 1
    started = replace(
        step,
        phase=Phase.RUNNING,
        attempt=attempt,
        started_at=now,
        first_attempt_at=now if attempt == 1 else step.first_attempt_at,
    )
    transition.put_step(started)
    task = Task(
        flow_id=state.run.flow_id,
        run_id=state.run.run_id,
        flow_type=state.run.flow_type,
        flow_started_at=state.run.started_at,
        step_id=step.step_id,
        step_type=step.step_type,
        method=step.method,
        attempt=attempt,
        input=step.input,
        source=step.source,
        snapshot=snapshot,
        started_at=now,
        first_attempt_at=started.first_attempt_at,
        timeout=options.timeout,
        results=step.results,
        recovery_error=step.recovery_error,
        checkpoint=step.checkpoint,
        wait_for_failed=step.wait_for_failed,
        locals=step.locals,
    )
    return transition, task


def running_step(
    state: FlowState, step_id: str, method: Method, attempt: int
) -> StepExecution | None:
    """Return the Step if this very attempt still runs; late and foreign results find nothing."""
    step = state.steps.get(step_id)
    if step is None or step.phase is not Phase.RUNNING:
        return None
    return step if step.method is method and step.attempt == attempt else None


def apply_wait_for(
    transition: Transition, step: StepExecution, response: WaitForResponse, new_id: NewId
) -> None:
    """Apply what a `wait_for` returned."""
    _apply_effects(transition, response.effects, new_id)
    transition.record("wait_for_completed", step)
    step = replace(step, locals=response.locals)
    if response.condition is None:
        begin_execute(transition, step, None)
    else:
        begin_wait(transition, step, response.condition)
    advance(transition)


def apply_execute(
    transition: Transition, step: StepExecution, response: ExecuteResponse, new_id: NewId
) -> None:
    """Apply what an `execute` returned, and end the Step execution."""
    _apply_effects(transition, response.effects, new_id)
    transition.record("execute_completed", step)
    transition.drop_step(step.step_id)
    _apply_decision(transition, response.decision, step.step_id, step)
    advance(transition)


def apply_rpc(transition: Transition, rpc_name: str, response: RpcResponse, new_id: NewId) -> None:
    """Apply what an RPC handler wants written and started."""
    _apply_effects(transition, response.effects, new_id)
    transition.record("rpc_completed", detail=rpc_name)
    if response.decision is not None:
        _apply_decision(transition, response.decision, f"__rpc/{rpc_name}", None)
    advance(transition)


def apply_writes(transition: Transition, effects: Effects, new_id: NewId) -> None:
    """Apply what a client writes from outside."""
    _apply_effects(transition, effects, new_id)
    advance(transition)


def check_deletions(state: FlowState, effects: Effects) -> None:
    """Check that every message a transactional RPC deletes still waits.

    Raises:
        MessageNotFoundError: One of them is gone.
    """
    for channel, message_id in effects.deleted_messages:
        if all(m.message_id != message_id for m in state.channels.get(channel, ())):
            raise MessageNotFoundError(f"channel {channel} has no message {message_id}")


def apply_failure(transition: Transition, step: StepExecution, failure: Failure) -> None:
    """Spend the running attempt: schedule the next one, or take the failure route."""
    policy = step.method_options.retry
    delay = policy.delay_after(step.attempt)
    if failure.is_interruption:
        # Nobody knows when the engine went away: the attempt itself counts as time away.
        spent = step.started_at - step.first_attempt_at
        step = replace(step, first_attempt_at=transition.now - spent)
        delay = 0.0
    if failure.retry_after is not None:
        delay = failure.retry_after
    due_at = transition.now + delay
    exhausted = 0 < policy.maximum_attempts <= step.attempt
    if (
        not exhausted
        and not failure.is_final
        and due_at - step.first_attempt_at <= policy.total_duration
    ):
        transition.put_step(replace(step, phase=Phase.READY, due_at=due_at))
        return
    _fail_method(transition, step, failure)
    advance(transition)


def _fail_method(transition: Transition, step: StepExecution, failure: Failure) -> None:
    options = step.options
    error = RecoveryError(failure.detail, failure.error_type)
    if step.method is Method.WAIT_FOR:
        transition.record("wait_for_failed", step, failure.detail)
        if options.wait_failure_proceeds:
            begin_execute(transition, step, None, error)
            return
    else:
        transition.record("execute_failed", step, failure.detail)
        if options.failure_step is not None:
            transition.drop_step(step.step_id)
            failure_options = options.failure_options or StepOptions()
            movement = StepMovement(options.failure_step, step.input, failure_options)
            start_step(transition, movement, step.step_id, error)
            return
    transition.drop_step(step.step_id)
    detail = f"{step.step_type} failed: {failure.detail}"
    close_run(transition, RunStatus.FAILED, "worker_api_failed", detail)


def fire_due(transition: Transition) -> list[StepExecution]:
    """Let time pass: end waits whose timers fired, fail attempts that ran out of time.

    Returns:
        The Steps whose attempts were failed, so that their calls can be told.
    """
    expired: list[StepExecution] = []
    # Oldest first, so that what two failures lead to is the same before and after a restart.
    for step in sorted(transition.steps(), key=lambda s: s.since):
        # The failure before this one may have closed the run, and this Step with it.
        if step.phase is Phase.RUNNING and transition.step(step.step_id) is not None:
            failure = _timeout_of(transition, step)
            if failure is not None:
                expired.append(step)
                apply_failure(transition, step, failure)
    advance(transition)
    return expired


def _timeout_of(transition: Transition, step: StepExecution) -> Failure | None:
    timeout = step.method_options.timeout
    if step.started_at + timeout <= transition.now:
        detail = f"attempt {step.attempt} took longer than {timeout:g} s"
        return Failure(detail=detail, error_type=METHOD_TIMEOUT_ERROR_TYPE)
    if heartbeat_deadline(transition.state, step) <= transition.now:
        limit = step.options.heartbeat_timeout
        detail = f"attempt {step.attempt} gave no sign of life for {limit:g} s"
        return Failure(detail=detail, error_type=HEARTBEAT_ERROR_TYPE)
    return None


def save_checkpoint(transition: Transition, step: StepExecution, checkpoint: Value | None) -> None:
    """Keep what a heartbeat saved for the next attempt; `None` clears it."""
    transition.put_step(replace(step, checkpoint=checkpoint))


def skip_timer(transition: Transition, step: StepExecution, index: int) -> None:
    """Let one timer of a waiting Step fire now.

    Raises:
        LookupError: The Step does not wait, or has no such timer.
    """
    if step.phase is not Phase.WAITING or not 0 <= index < len(step.timers):
        raise LookupError(f"{step.step_id} does not wait for a timer {index}")
    timers = list(step.timers)
    timers[index] = min(timers[index], transition.now)
    transition.put_step(replace(step, timers=tuple(timers)))
    advance(transition)


def close_run(
    transition: Transition,
    status: RunStatus,
    error_type: str | None = None,
    error_message: str | None = None,
) -> None:
    """Close the run: every Step ends; Attributes and messages stay readable."""
    transition.run = replace(
        transition.run,
        status=status,
        closed_at=transition.now,
        error_type=error_type,
        error_message=error_message,
    )
    for step in transition.steps():
        _cancel(transition, step)
    transition.record("flow_closed", detail=status.value)


def _cancel(transition: Transition, step: StepExecution) -> None:
    transition.cancelled.append(step)
    transition.drop_step(step.step_id)


def _apply_effects(transition: Transition, effects: Effects, new_id: NewId) -> None:
    for name, value in effects.attributes:
        transition.set_attribute(name, value)
    for channel, message_id in effects.deleted_messages:
        transition.remove_message(channel, message_id)
    for channel, value in effects.published:
        transition.publish(channel, value, new_id())
    for entry in effects.indexes:
        transition.set_index(entry)


def _apply_decision(
    transition: Transition, decision: Decision, source: str, step: StepExecution | None
) -> None:
    if decision.cancelled_types or decision.cancelled_sibling_types:
        for other in transition.steps():
            is_sibling = step is not None and other.source == step.source
            if other.step_type in decision.cancelled_types or (
                is_sibling and other.step_type in decision.cancelled_sibling_types
            ):
                _cancel(transition, other)
    if decision.fail_reason is not None:
        close_run(transition, RunStatus.FAILED, "step_decision_failed", decision.fail_reason)
        return
    if decision.completes_now and not any(map(transition.messages, decision.unless_messages_in)):
        _request_completion(transition, decision, step)
        close_run(transition, RunStatus.COMPLETED)
        return
    for movement in decision.movements:
        start_step(transition, movement, source)
    if decision.completes:
        _request_completion(transition, decision, step)
    if transition.run.completion_requested and not transition.steps():
        close_run(transition, RunStatus.COMPLETED)


def _request_completion(
    transition: Transition, decision: Decision, step: StepExecution | None
) -> None:
    outputs = transition.run.outputs
    if decision.output is not None and step is not None:
        outputs = (*outputs, (step.step_type, step.step_id, decision.output))
    transition.run = replace(transition.run, completion_requested=True, outputs=outputs)
