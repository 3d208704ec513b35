# twin: shared
"""The history of a Flow that an engine sent, in the form that the embedded engine keeps."""

from collections.abc import Iterable

from dex_agents.engine.kernel.transition import HistoryEvent
from dex_agents.sdk.compat import HistoryLine


def history_events(lines: Iterable[HistoryLine]) -> list[HistoryEvent]:
    return [
        HistoryEvent(
            event_id=number,
            time=0.0,
            kind=line.event_type.removeprefix("step_"),
            step_type=line.step_type,
            step_id=line.step_execution_id,
            attempt=line.final_attempt,
            detail=line.detail,
        )
        for number, line in enumerate(lines, start=1)
    ]
