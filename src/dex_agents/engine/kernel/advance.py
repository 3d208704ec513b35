# twin: shared
"""Let Steps go on: grant locks, end waits, make methods ready, choose when timers matter.

`advance` runs after every change, within the same transition, so that consumed messages, granted
locks and what caused them are one commit.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from dex_agents.engine.kernel.messages import StepMovement
from dex_agents.engine.kernel.options import MethodOptions
from dex_agents.engine.kernel.state import (
    FlowState,
    Method,
    Phase,
    RecoveryError,
    RunStatus,
    StepExecution,
)
from dex_agents.engine.kernel.transition import Transition
from dex_agents.engine.kernel.waits import (
    ChannelResult,
    ConditionResults,
    WaitingCondition,
    match,
)


def start_step(
    transition: Transition,
    movement: StepMovement,
    source: str,
    recovery_error: RecoveryError | None = None,
    *,
    delay: float = 0.0,
) -> StepExecution:
    """Queue one Step execution, to be handed out after `delay` seconds."""
    options = movement.options
    method = options.execute if options.skips_wait_for else options.wait_for
    step = StepExecution(
        step_id=transition.next_step_id(movement.step_type),
        step_type=movement.step_type,
        input=movement.input,
        options=options,
        source=source,
        since=transition.take_order(),
        method=Method.EXECUTE if options.skips_wait_for else Method.WAIT_FOR,
        phase=_first_phase(method),
        due_at=transition.now + delay,
        recovery_error=recovery_error,
    )
    transition.put_step(step)
    return step


def _first_phase(method: MethodOptions) -> Phase:
    # Most Steps lock nothing, and need not stand in line for it.
    return Phase.LOCKED if method.locks else Phase.READY


def begin_wait(transition: Transition, step: StepExecution, condition: WaitingCondition) -> None:
    """Let a Step wait for a condition, its timers counted from now."""
    transition.put_step(
        replace(
            step,
            phase=Phase.WAITING,
            since=transition.take_order(),
            condition=condition,
            timers=tuple(transition.now + timer.seconds for timer in condition.timers),
            checkpoint=None,
        )
    )


def begin_execute(
    transition: Transition,
    step: StepExecution,
    results: ConditionResults | None,
    recovery_error: RecoveryError | None = None,
) -> None:
    """Move a Step from `wait_for` to `execute`; a recovery error means that `wait_for` failed."""
    transition.put_step(
        replace(
            step,
            method=Method.EXECUTE,
            phase=_first_phase(step.options.execute),
            since=transition.take_order(),
            attempt=0,
            due_at=transition.now,
            first_attempt_at=0.0,
            started_at=0.0,
            undelivered=0,
            checkpoint=None,
            condition=None,
            timers=(),
            results=results,
            recovery_error=recovery_error or step.recovery_error,
            wait_for_failed=recovery_error is not None,
        )
    )


def advance(transition: Transition) -> None:
    """End every wait that can end and grant every lock that is free, oldest first."""
    if transition.run.status is not RunStatus.RUNNING:
        return
    steps = transition.steps()
    waiting = sorted((s for s in steps if s.phase is Phase.WAITING), key=lambda s: s.since)
    for step in waiting:
        _try_end_wait(transition, step)
    _grant_locks(transition)


def _try_end_wait(transition: Transition, step: StepExecution) -> None:
    condition = step.condition
    if condition is None:
        raise ValueError(f"{step.step_id} waits without a condition")
    fired = tuple(fire_at <= transition.now for fire_at in step.timers)
    sizes = transition.channel_sizes(c.channel for c in condition.channels)
    found = match(condition, fired, sizes)
    if found is None:
        return
    consumed = [
        ChannelResult(
            channel.channel,
            transition.consume(channel.channel, found.taken[i]) if i in found.taken else None,
        )
        for i, channel in enumerate(condition.channels)
    ]
    results = ConditionResults(
        fired,
        tuple(consumed),
        _ids(timer.condition_id for timer in condition.timers),
        _ids(channel.condition_id for channel in condition.channels),
    )
    begin_execute(transition, step, results)


def _ids(ids: Iterator[str]) -> tuple[str, ...]:
    found = tuple(ids)
    return found if any(found) else ()


def _grant_locks(transition: Transition) -> None:
    steps = transition.steps()
    locked = [s for s in steps if s.phase is Phase.LOCKED]
    if not locked:
        return
    taken = set(transition.state.rpc_locks)
    for step in steps:
        taken.update(step.held_locks)
    for step in sorted(locked, key=lambda s: s.since):
        locks = step.method_options.locks
        if taken.isdisjoint(locks):
            transition.put_step(
                replace(step, phase=Phase.READY, due_at=max(step.due_at, transition.now))
            )
        # A Step that must wait keeps its place: a later one may not overtake it on the same keys.
        taken.update(locks)


def ready_steps(state: FlowState, now: float) -> list[StepExecution]:
    """Return the Steps that may be handed out now."""
    if not state.is_active:
        return []
    return [s for s in state.steps.values() if s.phase is Phase.READY and s.due_at <= now]


def next_due(
    state: FlowState,
    *,
    fired_until: float,
    hands_out: bool,
    gives_up: Callable[[StepExecution], float] | None = None,
) -> float:
    """Return when time alone will next change this run; infinity when it will not.

    Args:
        state: The run.
        fired_until: Timers up to this time have had their effect. Such a timer may still be part
            of a wait, for a message that is missing; it is not due again.
        hands_out: Whether a READY Step is handed out when its time comes.
        gives_up: When a READY Step that was offered and that no worker took spends an attempt;
            without it all are taken.
    """
    return min(_due_times(state, fired_until, hands_out, gives_up), default=math.inf)


def _due_times(
    state: FlowState,
    fired_until: float,
    hands_out: bool,
    gives_up: Callable[[StepExecution], float] | None,
) -> Iterator[float]:
    if not state.is_active:
        return
    for step in state.steps.values():
        if step.phase is Phase.READY and hands_out:
            was_offered = gives_up is not None and step.due_at <= fired_until
            yield gives_up(step) if gives_up is not None and was_offered else step.due_at
        elif step.phase is Phase.WAITING:
            yield from (fire_at for fire_at in step.timers if fire_at > fired_until)
        elif step.phase is Phase.RUNNING:
            yield step.started_at + step.method_options.timeout
            yield heartbeat_deadline(state, step)


def heartbeat_deadline(state: FlowState, step: StepExecution) -> float:
    """Return when a running attempt counts as lost unless it shows life before."""
    last = max(step.started_at, state.heartbeats.get(step.step_id, 0.0))
    return last + step.options.heartbeat_timeout
