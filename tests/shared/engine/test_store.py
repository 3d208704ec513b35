# twin: shared
"""Prove what the file keeps: whole commits, nothing of refused ones, and no more than it should."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex_agents.engine.core import EngineCore
from dex_agents.engine.kernel.messages import Effects, ExecuteResponse, RpcResponse
from dex_agents.engine.kernel.state import FlowState, RunRecord, RunStatus
from dex_agents.engine.kernel.transition import FlowWrites, HistoryEvent, Transition
from dex_agents.engine.kernel.values import NULL, Value, text_value
from dex_agents.engine.kernel.waits import ChannelCondition, TimerCondition, WaitingCondition
from dex_agents.engine.requests import StartRequest, attempt_key
from dex_agents.engine.store import batch
from dex_agents.engine.store.cut import StoreCut
from dex_agents.engine.store.file import Durability, Store
from dex_agents.engine.store.streams import StreamKey
from dex_agents.errors import EngineStorageError
from tests.shared.engine.harness import (
    FLOW_ID,
    Engine,
    assert_file_equals_memory,
    go_to,
    loaded_flows,
    publishes,
    refuse_next_commit,
    step,
    writes,
)
from tests.shared.engine.inputs import plain_text, values

EVENTS = StreamKey("Flow", "events", FLOW_ID)


def connection(store: Store) -> sqlite3.Connection:
    return store._connection  # what no public method shows


def rows(store: Store, table: str) -> int:
    count: int = connection(store).execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return count


def running(flow_id: str = FLOW_ID) -> FlowState:
    record = RunRecord(
        flow_id=flow_id,
        run_id=f"run of {flow_id}",
        flow_type="Flow",
        status=RunStatus.RUNNING,
        started_at=0.0,
    )
    return FlowState(run=record)


def stored(store: Store, state: FlowState) -> None:
    transition = Transition(state, 0.0)
    transition.run = state.run
    store.write(transition.commit())
    store.commit()


# -- commits ---------------------------------------------------------------------------------------


def test_nothing_to_write_is_no_commit() -> None:
    engine = Engine()
    before = engine.store.commits
    engine.pass_time(10)
    assert engine.store.commits == before


def test_all_requests_of_a_wave_share_one_commit() -> None:
    engine = Engine()
    seen: list[tuple[str, int]] = []
    engine.store.on_commit = lambda moment, number: seen.append((moment, number))
    before = engine.store.commits

    def start_three(core: EngineCore) -> None:
        for number in range(3):
            request = StartRequest(flow_id=f"f{number}", flow_type="Flow", movement=step("S"))
            core.start_flow(request)
        core.append_event(EVENTS, "test", text_value("event"), 1000)

    engine.ask(start_three)
    assert seen == [("before", before + 1), ("after", before + 1)]
    assert len(engine.tasks) == 3


def test_nothing_is_durable_before_its_commit(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "engine.db")
    request = StartRequest(flow_id=FLOW_ID, flow_type="Flow", movement=step("S"))
    engine.core.begin(engine.now)
    engine.core.start_flow(request)
    assert engine.core.take_effects().tasks == []
    engine.cut()
    assert Store(tmp_path / "engine.db").find_run(FLOW_ID) is None


@pytest.mark.parametrize(("moment", "attempts"), [("before", []), ("after", [2])])
def test_a_process_that_dies_at_a_commit_leaves_all_of_it_or_nothing(
    tmp_path: Path, moment: str, attempts: list[int]
) -> None:
    engine = Engine(tmp_path / "engine.db")

    def cut(reached: str, number: int) -> None:
        if reached == moment:
            raise StoreCut

    engine.store.on_commit = cut
    with pytest.raises(StoreCut):
        engine.start(step("S"))
    engine.cut()
    assert Engine(tmp_path / "engine.db").attempts_of("S-1") == attempts


def test_later_writes_of_a_batch_win() -> None:
    store, state = Store(":memory:"), running()
    stored(store, state)
    for text in ("1", "2"):
        transition = Transition(state, 0.0)
        transition.set_attribute("a", text_value(text))
        transition.set_attribute("m/x", text_value(text))
        store.write(transition.commit())
    transition = Transition(state, 0.0)
    transition.set_attribute("m/x", NULL)
    store.write(transition.commit())
    store.commit()
    loaded = store.load(state.run)
    assert (loaded.attributes, loaded.maps) == ({"a": text_value("2")}, {})


@pytest.mark.parametrize("in_one_transition", [True, False])
def test_a_message_that_came_and_went_in_a_batch_is_never_stored(in_one_transition: bool) -> None:
    store, state = Store(":memory:"), running()
    stored(store, state)
    statements: list[str] = []
    connection(store).set_trace_callback(statements.append)
    transition = Transition(state, 0.0)
    transition.publish("c", text_value("1"), "id-1")
    transition.publish("c", text_value("2"), "id-2")
    if not in_one_transition:
        store.write(transition.commit())
        transition = Transition(state, 0.0)
    assert transition.consume("c", 1) == (text_value("1"),)
    store.write(transition.commit())
    store.commit()
    assert [m.message_id for m in store.load(state.run).channels["c"]] == ["id-2"]
    assert not any("DELETE FROM messages" in statement for statement in statements)
    assert sum("INSERT INTO messages" in statement for statement in statements) == 1


@given(st.dictionaries(plain_text, values), st.lists(st.tuples(plain_text, values), max_size=5))
def test_any_value_under_any_name_is_read_back(
    attributes: dict[str, Value], messages: list[tuple[str, Value]]
) -> None:
    store, state = Store(":memory:"), running()
    transition = Transition(state, 0.0)
    transition.run = state.run
    for name, value in attributes.items():
        transition.set_attribute(name, value)
    for number, (channel, value) in enumerate(messages):
        transition.publish(channel, value, f"id-{number}")
    store.write(transition.commit())
    store.commit()
    loaded = store.load(state.run)
    assert loaded.attributes == state.attributes
    assert loaded.maps == state.maps
    assert loaded.channels == state.channels
    store.close()


def test_the_history_of_a_run_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "HISTORY_LIMIT", 300)
    store = Store(":memory:")
    stored(store, running())
    stored(store, running("another"))
    for number in range(1, 1000):
        event = HistoryEvent(event_id=number, time=float(number), kind="rpc_completed", detail="r")
        for flow_id in (FLOW_ID, "another") if number < 5 else (FLOW_ID,):
            store.write(history_only(f"run of {flow_id}", event))
        store.commit()
        assert rows(store, "history") <= 300 + 256 + 4
    kept = [event.event_id for event in store.read_history(f"run of {FLOW_ID}")]
    assert kept == list(range(kept[0], 1000)) and len(kept) >= 300
    assert len(store.read_history("run of another")) == 4


def history_only(run_id: str, event: HistoryEvent) -> FlowWrites:
    return FlowWrites(
        run_id=run_id,
        run=None,
        attributes={},
        added_messages=(),
        removed_messages=(),
        steps={},
        counters={},
        history=(event,),
    )


def test_a_closed_flow_leaves_no_steps_behind() -> None:
    engine = Engine()
    engine.start(step("S"))
    engine.complete("S-1", go_to(step("T"), step("U", waits=True)))
    engine.ask(lambda core: core.stop_flow(FLOW_ID, RunStatus.CANCELED, ""))
    assert rows(engine.store, "steps") == 0
    assert loaded_flows(engine.core) == {}


# -- refused commits -------------------------------------------------------------------------------


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Engine]:
    """Two Flows with a running Step each, on a disk that has just become full."""
    engine = Engine(tmp_path / "engine.db")
    for flow_id in (FLOW_ID, "flow-2"):
        engine.start(step("S"), flow_id)
    connection(engine.store).execute("PRAGMA max_page_count = 1")  # the smallest it can still be
    yield engine
    engine.cut()


def make_room(engine: Engine) -> None:
    connection(engine.store).execute("PRAGMA max_page_count = 100000")


BIG = "x" * 200_000


def test_a_full_disk_refuses_the_change_and_names_the_file(full_disk: Engine) -> None:
    with pytest.raises(EngineStorageError, match=r"cannot write .*engine\.db: .*full; nothing of"):
        full_disk.rpc(RpcResponse(effects=writes(a=BIG)))
    assert full_disk.state().attributes == {}
    assert_file_equals_memory(full_disk.core)


def test_after_a_refused_commit_everything_goes_on_from_what_was_stored(full_disk: Engine) -> None:
    task = next(task for task in full_disk.tasks if task.flow_id == FLOW_ID)
    for _ in range(2):
        with pytest.raises(EngineStorageError):
            full_disk.complete(task, go_to(step("T")), writes(a=BIG))
        assert full_disk.steps()["S-1"].phase == "running"
    make_room(full_disk)
    assert full_disk.complete(task, go_to(step("T")), writes(a=BIG))
    assert full_disk.state().attributes == {"a": text_value(BIG)}
    assert full_disk.task("T-1").attempt == 1


def test_flows_that_a_refused_commit_did_not_touch_keep_their_place_in_the_file(
    full_disk: Engine,
) -> None:
    with pytest.raises(EngineStorageError):
        full_disk.rpc(RpcResponse(effects=writes(a=BIG)))
    make_room(full_disk)
    other = next(task for task in full_disk.tasks if task.flow_id == "flow-2")
    assert full_disk.complete(other, go_to(step("T")), writes(b="2"))
    assert full_disk.state("flow-2").attributes == {"b": text_value("2")}
    assert rows(full_disk.store, "runs") == 2


def test_a_start_that_was_refused_can_be_repeated(full_disk: Engine) -> None:
    with pytest.raises(EngineStorageError):
        full_disk.start(step("S", BIG), "flow-3")
    assert full_disk.store.find_run("flow-3") is None
    make_room(full_disk)
    full_disk.start(step("S", BIG), "flow-3")
    assert full_disk.tasks[-1].attempt == 1


def test_the_callers_of_one_wave_succeed_or_fail_together() -> None:
    engine = Engine()
    engine.start(step("S"))
    task = engine.task("S-1")

    def several(core: EngineCore) -> None:
        core.complete(attempt_key(task), FLOW_ID, ExecuteResponse(effects=writes(a="1")))
        core.start_flow(StartRequest(flow_id="flow-2", flow_type="Flow", movement=step("S")))

    refuse_next_commit(engine)
    with pytest.raises(EngineStorageError):
        engine.ask(several)
    assert engine.core.take_effects().tasks == []
    assert engine.steps()["S-1"].phase == "running"
    assert engine.store.find_run("flow-2") is None
    engine.ask(several)
    assert engine.state().attributes == {"a": text_value("1")}


def test_nothing_of_a_wave_is_kept_when_the_disk_refuses_one_of_its_events() -> None:
    engine = Engine()
    engine.start(step("S"))
    task = engine.task("S-1")

    def refused_in_the_middle(core: EngineCore) -> None:
        core.complete(attempt_key(task), FLOW_ID, ExecuteResponse(effects=writes(a="1")))
        db = connection(engine.store)
        db.execute("PRAGMA max_page_count = 1")
        with pytest.raises(EngineStorageError):
            core.append_event(EVENTS, "test", text_value(BIG), 1 << 30)
        db.execute("PRAGMA max_page_count = 100000")
        core.append_event(EVENTS, "test", text_value("small"), 1 << 30)
        core.start_flow(StartRequest(flow_id="flow-2", flow_type="Flow", movement=step("S")))

    with pytest.raises(EngineStorageError):
        engine.ask(refused_in_the_middle)
    assert engine.state().attributes == {}
    assert engine.steps()["S-1"].phase == "running"
    assert engine.store.find_run("flow-2") is None
    assert engine.store.streams.after(EVENTS, 0) is None
    assert engine.complete(task, effects=writes(a="1"))


def test_work_that_nobody_waits_for_is_taken_up_again_after_a_rest() -> None:
    engine = Engine()
    engine.start(step("S"))
    engine.fail("S-1", retry_after=10)
    engine.now += 10
    engine.core.begin(engine.now)
    refuse_next_commit(engine)
    with pytest.raises(EngineStorageError):
        engine.core.commit()
    assert engine.core.next_due() == engine.now + 1
    engine.pass_time(1)
    assert engine.attempts_of("S-1") == [1, 2]


def test_an_interruption_that_could_not_be_stored_still_counts(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "engine.db")
    engine.start(step("S"))
    engine.cut()
    store = Store(tmp_path / "engine.db")
    core = EngineCore(store)
    core.open(engine.now + 1)
    core.serve("Flow")

    def refuse(moment: str, number: int) -> None:
        raise EngineStorageError("the disk is full")

    store.on_commit = refuse
    with pytest.raises(EngineStorageError):
        core.commit()
    store.on_commit = None
    core.begin(engine.now + 1.5)
    core.start_flow(StartRequest(flow_id="another", flow_type="Flow", movement=step("S")))
    core.commit()
    assert [task.flow_id for task in core.take_effects().tasks] == ["another"]
    core.begin(engine.now + 2)
    core.commit()
    assert [task.attempt for task in core.take_effects().tasks] == [2]
    store.close()


def test_a_sign_of_life_is_not_forgotten_with_a_refused_commit() -> None:
    engine = Engine()
    engine.start(step("S", heartbeat_timeout=10))
    key = attempt_key(engine.task("S-1"))
    engine.pass_time(9)
    engine.ask(lambda core: core.heartbeat(key, FLOW_ID))
    refuse_next_commit(engine)
    with pytest.raises(EngineStorageError):
        engine.rpc(RpcResponse(effects=writes(a="1")))
    engine.pass_time(9)
    assert engine.cancelled == []
    engine.pass_time(1)
    assert engine.cancelled == [key]


# -- memory ----------------------------------------------------------------------------------------


def test_idle_flows_leave_memory_and_come_back_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dex_agents.engine.flows._IDLE_FLOWS_IN_MEMORY", 8)
    engine = Engine()
    engine.core._flows._sweep_above = 8
    for number in range(40):
        flow_id = f"flow-{number}"
        engine.start(step("W", waits=True), flow_id)
        timers = (TimerCondition(1000.0 + number),)
        channels = (ChannelCondition("c", 2, 2),)
        engine.wait(engine.tasks[-1], WaitingCondition(timers=timers, channels=channels))
    assert len(loaded_flows(engine.core)) <= 9
    first = engine.now + 1000
    assert engine.core.next_due() == first, "a Flow's timer goes on without it"
    engine.publish("c", "1", "2", flow_id="flow-0")
    assert (engine.tasks[-1].flow_id, engine.tasks[-1].method) == ("flow-0", "execute")
    assert engine.core.next_due() == engine.now + 60, "the heartbeat of flow-0"
    engine.complete(engine.tasks[-1])
    engine.pass_time(2000)
    fired = [task.flow_id for task in engine.tasks if task.method == "execute"]
    assert sorted(fired) == sorted(f"flow-{number}" for number in range(40))


def test_busy_flows_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dex_agents.engine.flows._IDLE_FLOWS_IN_MEMORY", 4)
    engine = Engine()
    engine.core._flows._sweep_above = 4
    for number in range(12):
        engine.start(step("S"), f"flow-{number}")
    assert len(loaded_flows(engine.core)) == 12
    assert all(engine.complete(task) for task in list(engine.tasks))


def test_a_flow_that_ended_is_not_waited_for() -> None:
    engine = Engine()
    engine.start(step("W", waits=True))
    engine.wait("W-1", WaitingCondition(timers=(TimerCondition(50),)))
    engine.ask(lambda core: core.stop_flow(FLOW_ID, RunStatus.CANCELED, ""))
    assert engine.core.next_due() is None


# -- durability ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("durability", "synchronous"), [(Durability.PROCESS_CRASH, 1), (Durability.POWER_LOSS, 2)]
)
def test_durability_is_what_sqlite_is_told(
    tmp_path: Path, durability: Durability, synchronous: int
) -> None:
    store = Store(tmp_path / "engine.db", durability)
    assert connection(store).execute("PRAGMA synchronous").fetchone() == (synchronous,)
    assert connection(store).execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()


def test_closing_commits_what_is_open(tmp_path: Path) -> None:
    store = Store(tmp_path / "engine.db")
    store.append_event(EVENTS, "test", text_value("1"), 0.0, 100)
    transition = Transition(running(), 0.0)
    transition.run = transition.state.run
    store.write(transition.commit())
    store.close()
    again = Store(tmp_path / "engine.db")
    assert again.find_run(FLOW_ID) is not None
    assert again.streams.after(EVENTS, 0) is not None
    again.close()


def test_reads_after_a_reopening_find_every_message_in_order(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "engine.db")
    engine.start()
    for channel in ("c", "d", "c", "m/x", "c"):
        engine.rpc(RpcResponse(effects=publishes(channel, f"{channel}{engine.store.commits}")))
    before = engine.state().channels
    engine.close()
    again = Engine(tmp_path / "engine.db")
    assert again.state().channels == before
    again.rpc(RpcResponse(effects=Effects(published=(("c", text_value("last")),))))
    assert [m.value.data for m in again.state().channels["c"]][-1] == "last"
