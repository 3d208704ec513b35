# twin: shared
"""Lines of a session's Step history, named as the `dex` protocol names them."""

from collections.abc import Iterable
from dataclasses import dataclass

from dex_agents.engine.kernel.transition import HistoryEvent

WAIT_FOR_COMPLETED_EVENT = "step_wait_for_completed"
WAIT_FOR_FAILED_EVENT = "step_wait_for_failed"
EXECUTE_COMPLETED_EVENT = "step_execute_completed"
EXECUTE_FAILED_EVENT = "step_execute_failed"

_EVENT_TYPES = {
    "wait_for_completed": WAIT_FOR_COMPLETED_EVENT,
    "wait_for_failed": WAIT_FOR_FAILED_EVENT,
    "execute_completed": EXECUTE_COMPLETED_EVENT,
    "execute_failed": EXECUTE_FAILED_EVENT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepHistoryEntry:
    """One method of a Step execution that ended.

    Attributes:
        event_type: One of the `..._EVENT` constants.
        step_type: The Step's name.
        step_execution_id: `<step_type>-<n>`.
        final_attempt: The attempt that ended it, from 1.
        detail: Why a failed one failed.
    """

    event_type: str
    step_type: str
    step_execution_id: str
    final_attempt: int
    detail: str = ""


def step_entries(history: Iterable[HistoryEvent]) -> list[StepHistoryEntry]:
    """Return the Steps' lines of a history."""
    return [
        StepHistoryEntry(
            event_type=_EVENT_TYPES[event.kind],
            step_type=event.step_type,
            step_execution_id=event.step_id,
            final_attempt=event.attempt,
            detail=event.detail,
        )
        for event in history
        if event.kind in _EVENT_TYPES
    ]
