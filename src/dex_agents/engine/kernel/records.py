# twin: shared
"""The stored form of Step executions, run records and history: compact JSON text.

Fields at their default are left out, so a record of a plain Step stays small; unknown fields are
ignored, since a newer file is refused as a whole (see the store's schema version).
"""

import base64
import json
from dataclasses import MISSING, fields
from functools import lru_cache
from typing import Any

from dex_agents.engine.kernel.options import MethodOptions, RetryPolicy, StepOptions
from dex_agents.engine.kernel.state import (
    Method,
    Phase,
    RecoveryError,
    RunRecord,
    RunStatus,
    SearchMode,
    StepExecution,
)
from dex_agents.engine.kernel.transition import HistoryEvent
from dex_agents.engine.kernel.values import Value, ValueKind
from dex_agents.engine.kernel.waits import (
    ChannelCondition,
    ChannelResult,
    ConditionResults,
    TimerCondition,
    WaitingCondition,
    WaitMode,
)

Json = Any


# One encoder for all: `json.dumps` would build one per call, which takes longer than the encoding.
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)


def dump(value: Json) -> str:
    """Return compact JSON text."""
    return _encoder.encode(value)


def value_to_json(value: Value | None) -> Json:
    """Return `[kind, encoding, data]`, bytes as base64, or `None`."""
    if value is None:
        return None
    data = value.data
    if isinstance(data, bytes):
        return [value.kind.value, value.encoding, base64.b64encode(data).decode()]
    return [value.kind.value, value.encoding, data]


def value_from_json(stored: Json) -> Value | None:
    """Read what `value_to_json` wrote."""
    if stored is None:
        return None
    kind = ValueKind(stored[0])
    data = base64.b64decode(stored[2]) if kind is ValueKind.OBJECT else stored[2]
    return Value(kind, stored[1], data)


def _changed(record: Any) -> dict[str, Json]:
    """Return the fields that differ from their default."""
    found: dict[str, Json] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if field.default is not MISSING and value == field.default:
            continue
        if field.default_factory is not MISSING and value == field.default_factory():
            continue
        found[field.name] = value
    return found


@lru_cache(maxsize=4096)
def _options_to_json(options: StepOptions) -> dict[str, Json]:
    # Steps of one type share an options object or an equal one; the result is only read.
    stored = _changed(options)
    for name in ("wait_for", "execute"):
        if name in stored:
            method = _changed(stored[name])
            if "retry" in method:
                method["retry"] = _changed(method["retry"])
            stored[name] = method
    if "failure_options" in stored:
        stored["failure_options"] = _options_to_json(stored["failure_options"])
    return stored


def _method_from_json(stored: Json) -> MethodOptions:
    values = dict(stored)
    if "retry" in values:
        values["retry"] = RetryPolicy(**values["retry"])
    for name in ("locks", "load_attributes", "load_channels"):
        if name in values:
            values[name] = tuple(values[name])
    return MethodOptions(**values)


def options_from_json(stored: Json) -> StepOptions:
    """Read stored Step options."""
    values = dict(stored)
    for name in ("wait_for", "execute"):
        if name in values:
            values[name] = _method_from_json(values[name])
    if "failure_options" in values:
        values["failure_options"] = options_from_json(values["failure_options"])
    return StepOptions(**values)


def _condition_to_json(condition: WaitingCondition) -> Json:
    return {
        "mode": condition.mode.value,
        "timers": [[t.seconds, t.condition_id] for t in condition.timers],
        "channels": [
            [c.channel, c.at_least, c.at_most, c.condition_id] for c in condition.channels
        ],
        "combinations": condition.combinations,
    }


def _condition_from_json(stored: Json) -> WaitingCondition:
    return WaitingCondition(
        mode=WaitMode(stored["mode"]),
        timers=tuple(TimerCondition(*timer) for timer in stored["timers"]),
        channels=tuple(ChannelCondition(*channel) for channel in stored["channels"]),
        combinations=tuple(tuple(ids) for ids in stored["combinations"]),
    )


def _results_to_json(results: ConditionResults) -> Json:
    channels = [
        [channel, None if values is None else [value_to_json(value) for value in values]]
        for channel, values in results.channels
    ]
    stored: list[Json] = [results.timers, channels]
    if results.timer_ids or results.channel_ids:
        stored.extend([results.timer_ids, results.channel_ids])
    return stored


def _results_from_json(stored: Json) -> ConditionResults:
    channels = tuple(
        ChannelResult(
            channel, None if values is None else tuple(_required_value(v) for v in values)
        )
        for channel, values in stored[1]
    )
    return ConditionResults(tuple(stored[0]), channels, *(tuple(ids) for ids in stored[2:]))


def _required_value(stored: Json) -> Value:
    value = value_from_json(stored)
    if value is None:
        raise ValueError("a stored value is missing")
    return value


_PLAIN_FIELDS = (
    "attempt",
    "due_at",
    "first_attempt_at",
    "started_at",
    "undelivered",
    "wait_for_failed",
)


def step_to_text(step: StepExecution) -> str:
    """Return the stored form of a Step execution."""
    stored: dict[str, Json] = {
        "type": step.step_type,
        "input": value_to_json(step.input),
        "options": _options_to_json(step.options),
        "source": step.source,
        "since": step.since,
        "method": step.method.value,
        "phase": step.phase.value,
    }
    for name in _PLAIN_FIELDS:
        if getattr(step, name):
            stored[name] = getattr(step, name)
    if step.timers:
        stored["timers"] = step.timers
    if step.locals:
        stored["locals"] = [[name, value_to_json(value)] for name, value in step.locals]
    if step.checkpoint is not None:
        stored["checkpoint"] = value_to_json(step.checkpoint)
    if step.condition is not None:
        stored["condition"] = _condition_to_json(step.condition)
    if step.results is not None:
        stored["results"] = _results_to_json(step.results)
    if step.recovery_error is not None:
        stored["error"] = [step.recovery_error.detail, step.recovery_error.error_type]
    return dump(stored)


def step_from_text(step_id: str, text: str) -> StepExecution:
    """Read a stored Step execution."""
    stored = json.loads(text)
    error = stored.get("error")
    condition, results = stored.get("condition"), stored.get("results")
    return StepExecution(
        step_id=step_id,
        step_type=stored["type"],
        input=_required_value(stored["input"]),
        options=options_from_json(stored["options"]),
        source=stored["source"],
        since=stored["since"],
        method=Method(stored["method"]),
        phase=Phase(stored["phase"]),
        attempt=stored.get("attempt", 0),
        due_at=stored.get("due_at", 0.0),
        first_attempt_at=stored.get("first_attempt_at", 0.0),
        started_at=stored.get("started_at", 0.0),
        undelivered=stored.get("undelivered", 0),
        locals=tuple((name, _required_value(v)) for name, v in stored.get("locals", ())),
        checkpoint=value_from_json(stored.get("checkpoint")),
        condition=_condition_from_json(condition) if condition else None,
        timers=tuple(stored.get("timers", ())),
        results=_results_from_json(results) if results else None,
        recovery_error=RecoveryError(*error) if error else None,
        wait_for_failed=stored.get("wait_for_failed", False),
    )


def run_to_text(run: RunRecord) -> str:
    """Return the stored form of what the store keeps no column for."""
    outputs = [[kind, step_id, value_to_json(value)] for kind, step_id, value in run.outputs]
    return dump({"completion_requested": run.completion_requested, "outputs": outputs})


def run_from_columns(columns: dict[str, Json]) -> RunRecord:
    """Read a run record from its columns and text."""
    values = dict(columns)
    rest = json.loads(values.pop("record"))
    values["status"] = RunStatus(values["status"])
    values["search_mode"] = SearchMode(values["search_mode"])
    values["completion_requested"] = rest["completion_requested"]
    values["outputs"] = tuple(
        (kind, step_id, _required_value(value)) for kind, step_id, value in rest["outputs"]
    )
    return RunRecord(**values)


def event_to_text(event: HistoryEvent) -> str:
    """Return the stored form of a history line's details."""
    names = ("step_id", "step_type", "source", "attempt", "started_at", "detail")
    return dump({name: value for name in names if (value := getattr(event, name))})


def event_from_text(event_id: int, time: float, kind: str, text: str) -> HistoryEvent:
    """Read a stored history line."""
    return HistoryEvent(event_id=event_id, time=time, kind=kind, **json.loads(text))
