# twin: shared
"""Attempts that no worker got: taken back, or spent because none came.

The kernel numbers an attempt before any worker sees it. One that certainly did not run keeps its
number; one that waited too long for a worker is spent, and counted, so that a call which never
reached a worker can be told from one that may have run.
"""

from dataclasses import replace

from dex_agents.engine.kernel.messages import (
    NO_WORKER_ERROR_TYPE,
    NOT_STARTED_ERROR_TYPE,
    Failure,
)
from dex_agents.engine.kernel.state import Phase, StepExecution
from dex_agents.engine.kernel.transition import Transition
from dex_agents.engine.kernel.transitions import apply_failure


def give_back(transition: Transition, step: StepExecution) -> None:
    """Offer a running attempt again under its number: no worker ran any of it.

    It stays due since its first offer, so that workers which all refuse it do not keep it for ever.
    """
    transition.put_step(replace(step, phase=Phase.READY, attempt=step.attempt - 1))


def expire_offer(transition: Transition, step: StepExecution, waited: float, detail: str) -> None:
    """Spend an attempt of a READY Step for which no worker came within `waited` seconds."""
    offered_at = transition.now - waited
    attempt = step.attempt + 1
    started = replace(
        step,
        attempt=attempt,
        started_at=offered_at,
        first_attempt_at=offered_at if attempt == 1 else step.first_attempt_at,
    )
    apply_undelivered(transition, started, detail)


def apply_undelivered(
    transition: Transition, step: StepExecution, detail: str, *, is_final: bool = False
) -> None:
    """Spend a numbered attempt that no worker ever got.

    Args:
        transition: Where to.
        step: The Step, its attempt already numbered.
        detail: Why.
        is_final: Another attempt cannot cure it.
    """
    undelivered = step.undelivered + 1
    never_ran = undelivered == step.attempt
    error_type = NOT_STARTED_ERROR_TYPE if never_ran else NO_WORKER_ERROR_TYPE
    failure = Failure(detail=detail, error_type=error_type, is_final=is_final)
    apply_failure(transition, replace(step, undelivered=undelivered), failure)
