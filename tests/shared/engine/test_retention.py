# twin: shared
"""Prove that closed runs go when they have been kept long enough, with all that is theirs."""

from pathlib import Path

import pytest

from dex_agents.engine.kernel.messages import Decision
from dex_agents.engine.kernel.state import RunStatus, SearchMode
from dex_agents.engine.kernel.values import text_value
from dex_agents.engine.refusals import FlowMissing
from dex_agents.engine.requests import IdReuse, StartRequest
from dex_agents.engine.store.streams import StreamKey
from dex_agents.errors import EngineStorageError
from tests.shared.engine.harness import (
    FLOW_TYPE,
    START,
    Engine,
    attempts,
    go_to,
    publishes,
    refuse_next_commit,
    step,
    writes,
)

HOUR = 3600.0
RUN_TABLES = ("runs", "attributes", "messages", "steps", "indexed", "counters", "history")


def run_to_its_end(engine: Engine, flow_id: str) -> None:
    """Start a Flow that leaves something in every table, and let it end."""
    request = StartRequest(
        flow_id=flow_id,
        flow_type=FLOW_TYPE,
        movement=step("Work"),
        search_mode=SearchMode.ALL,
        id_reuse=IdReuse.IF_CLOSED,
    )
    engine.ask(lambda core: core.start_flow(request))
    engine.append_events(events_of(flow_id), "event")
    engine.rpc(flow_id=flow_id)
    task = next(task for task in reversed(engine.tasks) if task.flow_id == flow_id)
    effects = writes(Result="kept")
    engine.complete(task, go_to(step("Last")), effects)
    engine.publish("Left", "message", flow_id=flow_id)
    last = next(task for task in reversed(engine.tasks) if task.flow_id == flow_id)
    engine.complete(last, Decision(completes=True))
    assert engine.status(flow_id) == "completed"


def events_of(flow_id: str) -> StreamKey:
    return StreamKey(FLOW_TYPE, "events", flow_id)


def rows(engine: Engine) -> dict[str, int]:
    """Return how many rows each table has, for those that have any."""
    read = engine.store._connection.execute
    tables = (*RUN_TABLES, "streams", "stream_messages")
    counts = {table: read(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
    return {table: count for table, count in counts.items() if count}


def test_a_closed_run_goes_when_its_time_has_come_with_everything_of_it() -> None:
    engine = Engine(retain_closed=HOUR)
    run_to_its_end(engine, "old")
    assert rows(engine)["stream_messages"] == 1
    engine.pass_time(HOUR - 1)
    assert engine.status("old") == "completed"
    engine.pass_time(2)
    with pytest.raises(FlowMissing):
        engine.status("old")
    assert rows(engine) == {}
    assert engine.core.next_due() is None


def test_the_engine_wakes_for_it_and_for_nothing_else() -> None:
    engine = Engine(retain_closed=HOUR)
    engine.start(None, "running")
    run_to_its_end(engine, "old")
    due = engine.core.next_due()
    assert due is not None
    assert START + HOUR <= due <= START + HOUR + 1
    engine.pass_time(due - engine.now)
    assert engine.core.next_due() != due
    assert engine.status("running") == "running"


def test_without_the_option_nothing_ever_goes() -> None:
    engine = Engine()
    run_to_its_end(engine, "old")
    engine.pass_time(1000 * 365 * 24 * HOUR)
    assert engine.status("old") == "completed"


def test_running_flows_stay_however_old() -> None:
    engine = Engine(retain_closed=0.0)
    engine.start(step("Work", execute=attempts(1)), "running")
    engine.append_events(events_of("running"), "event")
    engine.pass_time(1.0)
    run_to_its_end(engine, "old")
    engine.pass_time(1.0)
    assert engine.status("running") == "running"
    assert rows(engine)["stream_messages"] == 1, "its events stay too"


def test_an_earlier_run_goes_alone_and_the_events_of_the_flow_stay() -> None:
    engine = Engine(retain_closed=HOUR)
    run_to_its_end(engine, "twice")
    engine.pass_time(HOUR / 2)
    run_to_its_end(engine, "twice")
    engine.pass_time(HOUR / 2 + 1)
    assert rows(engine)["runs"] == 1
    assert rows(engine)["stream_messages"] == 2
    engine.pass_time(HOUR / 2)
    assert rows(engine) == {}


def test_the_id_of_a_flow_that_is_gone_is_free_again() -> None:
    engine = Engine(retain_closed=HOUR)
    first = engine.start(None, "again", request_id="same")
    engine.ask(lambda core: core.stop_flow("again", RunStatus.CANCELED, ""))
    assert engine.start(None, "again", request_id="same") == first
    engine.pass_time(HOUR + 1)
    assert engine.start(None, "again", request_id="same") != first


def test_an_engine_that_opens_a_file_catches_up(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "engine.db")
    for number in range(150):
        run_to_its_end(engine, f"f-{number}")
    engine.close()
    late = Engine(tmp_path / "engine.db", now=START + 2 * HOUR, retain_closed=HOUR)
    left = rows(late)["runs"]
    assert 0 < left < 150, "one commit takes a part, so that nobody waits long"
    while (due := late.core.next_due()) is not None and due <= late.now:
        late.pass_time(0.0)
    assert rows(late) == {}
    late.close()


def test_a_disk_that_refuses_is_asked_again() -> None:
    engine = Engine(retain_closed=HOUR)
    run_to_its_end(engine, "old")
    refuse_next_commit(engine)
    with pytest.raises(EngineStorageError):
        engine.pass_time(HOUR + 1)
    assert engine.status("old") == "completed"
    engine.core.take_effects()
    due = engine.core.next_due()
    assert due is not None
    assert due > engine.now, "not at once, or it would turn in a circle"
    engine.pass_time(due - engine.now)
    assert rows(engine) == {}


def test_a_negative_time_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        Engine(retain_closed=-1.0)


def test_a_flow_that_was_stopped_goes_the_same_way() -> None:
    engine = Engine(retain_closed=0.0)
    engine.start(None, "plain")
    engine.ask(lambda core: core.write("plain", publishes("Left", "one")))
    engine.store.append_event(events_of("plain"), "test", text_value("x"), START, 1 << 20)
    engine.ask(lambda core: core.stop_flow("plain", RunStatus.CANCELED, ""))
    engine.pass_time(1.0)
    assert rows(engine) == {}
