# twin: shared
"""Prove the search language, and what an active Step is."""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dex_agents.engine.kernel.messages import Decision, RpcResponse
from dex_agents.engine.kernel.state import RunStatus, SearchMode
from dex_agents.engine.kernel.waits import TimerCondition, WaitingCondition
from dex_agents.engine.store.file import Store
from dex_agents.engine.store.search import SearchQueryError, parse_query
from tests.shared.engine.harness import START, Engine, go_to, step

FIELDS = ["FlowId", "WorkflowId", "RunId", "FlowType", "ExecutionStatus", "StartTime", "CloseTime"]


def found(engine: Engine, query: str) -> list[str]:
    """Return the Flow IDs that match, newest first."""
    records, _ = engine.store.search(parse_query(query), 100, None)
    return [record.flow_id for record in records]


@pytest.fixture(scope="module")
def three() -> Engine:
    """Three Flows: `a` of type A completed, `b` of type A failed, `c` of type C still runs."""
    engine = Engine(serves=("A", "C"))
    for flow_id, flow_type in (("a", "A"), ("b", "A"), ("c", "C")):
        engine.start(step("S"), flow_id, flow_type=flow_type)
        engine.pass_time(10)
    engine.complete(engine.tasks[0], Decision(completes=True))
    engine.complete(engine.tasks[1], Decision(fail_reason="no"))
    return engine


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "cba"),
        ("  ", "cba"),
        ('FlowId = "a"', "a"),
        ("FlowId = 'a'", "a"),
        ('WorkflowId != "a"', "cb"),
        ('FlowId > "a"', "cb"),
        ('FlowId >= "b" AND FlowId <= "b"', "b"),
        ('FlowId < "b"', "a"),
        ('FlowId IN ("a", "c", "x")', "ca"),
        ('FlowType = "A"', "ba"),
        ('ExecutionStatus = "Running"', "c"),
        ('ExecutionStatus = "COMPLETED"', "a"),
        ('ExecutionStatus IN ("completed", "Failed")', "ba"),
        ('NOT FlowType = "A"', "c"),
        ('NOT NOT FlowType = "A"', "ba"),
        ('FlowId = "a" OR FlowId = "b" AND FlowType = "C"', "a"),
        ('(FlowId = "a" OR FlowId = "c") AND FlowType = "C"', "c"),
        ('NOT (FlowId = "a" OR FlowId = "c")', "b"),
        ('NOT FlowId = "a" AND FlowType = "A"', "b"),
        ('FlowId="a"or FlowId="b"', "ba"),
        (f"StartTime > {START:.0f}", "cb"),
        (f"StartTime = {START:.0f}", "a"),
        ('StartTime <= "1970-01-12T13:46:50Z"', "ba"),
        ('StartTime <= "1970-01-12T14:46:50+01:00"', "ba"),
        ("StartTime >= '1970-01-12 13:46:50'", "cb"),
        ('CloseTime > "1970-01-01"', "ba"),
        ("CloseTime < 5", ""),
    ],
)
def test_a_query_finds_what_it_says(three: Engine, query: str, expected: str) -> None:
    assert "".join(found(three, query)) == expected


@pytest.mark.parametrize("text", ["it's", 'say "hi"', "back\\slash", "ünï", "a'b\"c"])
def test_a_string_may_hold_any_character(text: str) -> None:
    engine = Engine()
    engine.start(step("S"), text)
    escaped = text.replace("\\", "\\\\")
    for quote in ("'", '"'):
        query = f"FlowId = {quote}{escaped.replace(quote, chr(92) + quote)}{quote}"
        assert found(engine, query) == [text]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("FlowName = 'a'", "unknown field 'FlowName'; known are ActiveStepTypes, FlowId"),
        ("= 'a'", "unknown field '='"),
        ("FlowId", "'FlowId' ends too early"),
        ("FlowId =", "ends too early"),
        ("FlowId LIKE 'a'", "'LIKE' after FlowId is not one of = != < <= > >= IN"),
        ("FlowId = a", "FlowId is compared with 'a', which is not a value in quotes"),
        ("FlowId = 'a", 'cannot read "\'a"'),
        ("FlowId = 'a' FlowType", "'FlowType' follows a complete condition"),
        ("FlowId = 'a')", "')' follows a complete condition"),
        ("(FlowId = 'a'", "ends too early"),
        ("(FlowId = 'a' , ", "expected ')' before ','"),
        ("FlowId IN 'a'", "expected '(' before"),
        ("FlowId IN ()", "is compared with ')'"),
        ("FlowId = 'a' AND", "ends too early"),
        ("FlowId = 'a' % 2", "cannot read '% 2'"),
        ("StartTime > 'yesterday'", "StartTime needs an ISO 8601 time or seconds since 1970"),
        ("ActiveStepTypes > 'A'", "ActiveStepTypes can only be compared by = != IN"),
        ("(" * 100 + "FlowId = 'a'" + ")" * 100, "nested more than 8 deep"),
        ("NOT " * 100 + "FlowId = 'a'", "nested more than 8 deep"),
        (" OR ".join(["FlowId = 'a'"] * 300), "more than 256 comparisons"),
        ("FlowId = 'a'" + " " * 20_000, "longer than 16384 characters"),
        ("FlowId = '\ud800'", "cannot read"),
    ],
)
def test_a_query_that_cannot_be_read_is_refused_with_the_reason(query: str, says: str) -> None:
    with pytest.raises(SearchQueryError) as error:
        parse_query(query)
    assert str(error.value).startswith("search query: ")
    assert says in str(error.value)


pieces = st.sampled_from(
    [
        *FIELDS,
        *("ActiveStepTypes", "AND", "OR", "NOT", "IN", "(", ")", ","),
        *("=", "!=", "<", "<=", ">", ">=", "'a'", '"b"', "12", "-3.5", "'2030-01-01'", "'nan'"),
    ]
)


@given(st.text() | st.lists(pieces | st.text(max_size=3), max_size=12).map(" ".join))
@example("StartTime > '0001-01-01T00:00:00+23:59'")
@example("StartTime > '9999-12-31T23:59:59-23:59'")
@example("StartTime > '1e999'")
@example(f"StartTime > {'9' * 5000}")
@example("(" * 8 + "FlowId = 'a'" + ")" * 8)
@example("(FlowId = 'a' OR NOT " * 4 + "ActiveStepTypes != 'a'" + ")" * 4)
@example("(FlowId = 'a' OR FlowId = 'b' AND " * 8 + "ActiveStepTypes != 'a'" + ")" * 8)
@example(" OR ".join(["ActiveStepTypes IN ('a', 'b')"] * 256))
@example(" AND ".join(["NOT ActiveStepTypes = 'a'"] * 256))
@example(f"FlowId IN ({', '.join(['1'] * 5000)})")
def test_any_text_is_either_a_query_that_runs_or_refused(query: str) -> None:
    try:
        condition = parse_query(query)
    except SearchQueryError:
        return
    store = Store(":memory:")
    assert store.search(condition, 10, None) == ([], None)
    store.close()


# -- active Steps ----------------------------------------------------------------------------------


def active(mode: SearchMode) -> Engine:
    """A Flow with a waiting Step `W` and a running Step `E` that has no `wait_for`."""
    engine = Engine()
    engine.start(step("Start"), search_mode=mode)
    engine.complete("Start-1", go_to(step("W", waits=True), step("E")))
    engine.wait("W-1", WaitingCondition(timers=(TimerCondition(1000),)))
    return engine


@pytest.mark.parametrize(
    ("mode", "types"),
    [
        (SearchMode.ALL, {"W", "E"}),
        (SearchMode.WITH_WAIT_FOR, {"W"}),
        (SearchMode.DISABLED, set[str]()),
    ],
)
def test_the_search_mode_says_which_steps_are_found(mode: SearchMode, types: set[str]) -> None:
    engine = active(mode)
    assert {t for t in ("W", "E", "Start") if found(engine, f"ActiveStepTypes = '{t}'")} == types
    assert {t for t in ("W", "E") if not found(engine, f"ActiveStepTypes != '{t}'")} == types
    assert bool(found(engine, "ActiveStepTypes IN ('X', 'W', 'E')")) is bool(types)


def test_the_search_mode_can_be_changed() -> None:
    engine = active(SearchMode.DISABLED)
    engine.ask(lambda core: core.update_search_mode("flow-1", SearchMode.ALL))
    assert found(engine, "ActiveStepTypes = 'E'") == ["flow-1"]


def phase_changes() -> list[tuple[str, Callable[[Engine], object]]]:
    return [
        ("ready", lambda engine: engine.fail("E-1")),
        ("running", lambda engine: engine.pass_time(1)),
    ]


def test_a_step_is_active_from_its_queueing_to_its_end() -> None:
    engine = active(SearchMode.ALL)
    for phase, change in phase_changes():
        change(engine)
        assert engine.steps()["E-1"].phase == phase
        assert found(engine, "ActiveStepTypes = 'E'") == ["flow-1"]
    engine.complete("E-1")
    assert found(engine, "ActiveStepTypes = 'E'") == []


def test_a_closed_run_has_no_active_steps() -> None:
    engine = active(SearchMode.ALL)
    engine.ask(lambda core: core.stop_flow("flow-1", RunStatus.CANCELED, ""))
    assert found(engine, "ActiveStepTypes IN ('W', 'E')") == []


def test_pages_go_from_the_newest_to_the_oldest_without_gaps() -> None:
    engine = Engine()
    ids = [f"flow-{i}" for i in range(7)]
    for flow_id in ids:
        engine.start(step("S"), flow_id)
    condition = parse_query("FlowType = 'Flow' AND FlowId != 'flow-3'")
    pages: list[list[str]] = []
    before: int | None = None
    while True:
        records, before = engine.store.search(condition, 2, before)
        pages.append([record.flow_id for record in records])
        if before is None:
            break
        engine.start(step("S"), f"newer-{len(pages)}")
    assert pages == [["flow-6", "flow-5"], ["flow-4", "flow-2"], ["flow-1", "flow-0"]]


def test_a_page_that_is_exactly_full_is_the_last_one() -> None:
    engine = Engine()
    engine.start(step("S"), "a")
    engine.start(step("S"), "b")
    records, following = engine.store.search(parse_query(""), 2, None)
    assert ([record.flow_id for record in records], following) == (["b", "a"], None)


def test_an_rpc_that_starts_a_step_makes_it_found_with_its_commit() -> None:
    engine = active(SearchMode.ALL)
    engine.rpc(RpcResponse(decision=go_to(step("New"))))
    assert found(engine, 'ActiveStepTypes = "New" AND FlowType = "Flow"') == ["flow-1"]
