# twin: shared
"""Prove that what is stored as text is read back the same, whatever it holds."""

import json
from dataclasses import MISSING, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex_agents.engine.kernel.options import MethodOptions, RetryPolicy, StepOptions
from dex_agents.engine.kernel.records import (
    event_from_text,
    event_to_text,
    options_from_json,
    run_from_columns,
    run_to_text,
    step_from_text,
    step_to_text,
    value_from_json,
    value_to_json,
)
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
from dex_agents.engine.kernel.values import Value
from dex_agents.engine.kernel.waits import ChannelResult, ConditionResults
from tests.shared.engine.harness import step
from tests.shared.engine.inputs import (
    moments,
    plain_text,
    step_options,
    values,
    waiting_conditions,
)

names = st.lists(plain_text, max_size=2).map(tuple)
any_methods = st.builds(
    MethodOptions,
    timeout=moments,
    retry=st.builds(
        RetryPolicy,
        initial_interval=moments,
        coefficient=moments,
        maximum_interval=moments,
        maximum_attempts=st.integers(0, 1 << 40),
        total_duration=moments,
    ),
    locks=names,
    load_attributes=names,
    load_channels=names,
)
any_options = st.recursive(
    step_options(),
    lambda inner: st.builds(
        StepOptions,
        wait_for=any_methods,
        execute=any_methods,
        heartbeat_timeout=moments,
        skips_wait_for=st.booleans(),
        wait_failure_proceeds=st.booleans(),
        failure_step=st.none() | plain_text,
        failure_options=st.none() | inner,
    ),
    max_leaves=3,
)
channel_results = st.builds(
    ChannelResult, plain_text, st.none() | st.lists(values, max_size=3).map(tuple)
)
results = st.builds(
    ConditionResults,
    timers=st.lists(st.booleans(), max_size=3).map(tuple),
    channels=st.lists(channel_results, max_size=3).map(tuple),
    timer_ids=names,
    channel_ids=names,
)
# By record and field, so that a test can tell when one is forgotten.
STRATEGIES: dict[type, dict[str, st.SearchStrategy[Any]]] = {
    StepExecution: {
        "step_id": plain_text,
        "step_type": plain_text,
        "input": values,
        "options": any_options,
        "source": plain_text,
        "since": st.integers(0, 1 << 50),
        "method": st.sampled_from(Method),
        "phase": st.sampled_from(Phase),
        "attempt": st.integers(0, 1 << 40),
        "due_at": moments,
        "first_attempt_at": moments,
        "started_at": moments,
        "undelivered": st.integers(0, 1 << 40),
        "locals": st.lists(st.tuples(plain_text, values), max_size=3).map(tuple),
        "checkpoint": st.none() | values,
        "condition": st.none() | waiting_conditions(),
        "timers": st.lists(moments, max_size=3).map(tuple),
        "results": st.none() | results,
        "recovery_error": st.none() | st.builds(RecoveryError, plain_text, plain_text),
        "wait_for_failed": st.booleans(),
    },
    RunRecord: {
        "flow_id": plain_text,
        "run_id": plain_text,
        "flow_type": plain_text,
        "status": st.sampled_from(RunStatus),
        "started_at": moments,
        "request_id": plain_text,
        "closed_at": st.none() | moments,
        "error_type": st.none() | plain_text,
        "error_message": st.none() | plain_text,
        "search_mode": st.sampled_from(SearchMode),
        "completion_requested": st.booleans(),
        "outputs": st.lists(st.tuples(plain_text, plain_text, values), max_size=3).map(tuple),
    },
    HistoryEvent: {
        "event_id": st.integers(1, 1 << 50),
        "time": moments,
        "kind": plain_text,
        "step_id": plain_text,
        "step_type": plain_text,
        "source": plain_text,
        "attempt": st.integers(0, 1 << 40),
        "started_at": moments,
        "detail": plain_text,
    },
}
executions = st.builds(StepExecution, **STRATEGIES[StepExecution])
runs = st.builds(RunRecord, **STRATEGIES[RunRecord])
events = st.builds(HistoryEvent, **STRATEGIES[HistoryEvent])


@pytest.mark.parametrize("record", STRATEGIES)
def test_every_stored_field_is_tried(record: type) -> None:
    assert STRATEGIES[record].keys() == {field.name for field in fields(record)}


@given(st.none() | values)
def test_a_value_is_read_back_the_same(value: Value | None) -> None:
    assert value_from_json(json.loads(json.dumps(value_to_json(value)))) == value


@given(executions)
def test_a_step_execution_is_read_back_the_same(execution: StepExecution) -> None:
    assert step_from_text(execution.step_id, step_to_text(execution)) == execution


@given(runs)
def test_a_run_is_read_back_the_same(run: RunRecord) -> None:
    names = [field.name for field in fields(run)]
    stored = {name for name in names if name not in ("completion_requested", "outputs")}
    columns = {name: getattr(run, name) for name in stored} | {"record": run_to_text(run)}
    columns |= {"status": run.status.value, "search_mode": run.search_mode.value}
    before = dict(columns)
    assert run_from_columns(columns) == run
    assert columns == before


@given(events)
def test_a_history_event_is_read_back_the_same(event: HistoryEvent) -> None:
    text = event_to_text(event)
    assert event_from_text(event.event_id, event.time, event.kind, text) == event


def test_a_plain_step_is_stored_in_few_words() -> None:
    movement = step("S", '{"turn": 1}')
    execution = StepExecution(
        step_id="S-1",
        step_type=movement.step_type,
        input=movement.input,
        options=movement.options,
        source="__start__",
        since=1,
        method=Method.EXECUTE,
        phase=Phase.LOCKED,
    )
    stored = json.loads(step_to_text(execution))
    assert stored["options"] == {"skips_wait_for": True}
    assert stored.keys() == {"type", "input", "options", "source", "since", "method", "phase"}


def test_options_of_nothing_are_the_defaults() -> None:
    assert options_from_json({}) == StepOptions()
    assert all(
        field.default is not MISSING or field.default_factory is not MISSING
        for record in (StepOptions, MethodOptions, RetryPolicy)
        for field in fields(record)
    ), "a stored record leaves out what is at its default"
