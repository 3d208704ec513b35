# twin: shared
"""Prove that Streams keep their order, their place and their bounds."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dex_agents.engine.kernel.values import Value, text_value
from dex_agents.engine.store.file import Store
from dex_agents.engine.store.streams import StreamKey, StreamRow
from tests.shared.engine.inputs import moments, plain_text, values

KEY = StreamKey("Flow", "events", "flow-1")
OTHER_FLOW = KEY._replace(flow_id="flow-2")
ROOMY = 1 << 30


def append(
    store: Store, *texts: str, key: StreamKey = KEY, now: float = 1000.0, capacity: int = ROOMY
) -> None:
    for text in texts:
        store.append_event(key, "test", text_value(text), now, capacity)


def read_all(store: Store, key: StreamKey = KEY, after: int = 0) -> list[StreamRow]:
    """Read forward, one event at a time, as a client does."""
    found: list[StreamRow] = []
    while (row := store.streams.after(key, after)) is not None:
        found.append(row)
        after = row.message_id
    return found


def texts(rows: list[StreamRow]) -> list[str | bytes]:
    return [row.value.data for row in rows]


def test_events_are_read_in_order_and_at_once() -> None:
    store = Store(":memory:")
    append(store, "1", "2", "3")
    rows = read_all(store)
    assert texts(rows) == ["1", "2", "3"]
    assert {(row.source, row.created_at) for row in rows} == {("test", 1000.0)}


@given(st.lists(st.tuples(plain_text, values, moments), max_size=8))
def test_whatever_is_appended_is_read_back_in_order(
    events: list[tuple[str, Value, float]],
) -> None:
    store = Store(":memory:")
    for source, value, now in events:
        store.append_event(KEY, source, value, now, ROOMY)
    rows = read_all(store)
    assert [(row.source, row.value, row.created_at) for row in rows] == events
    ids = [row.message_id for row in rows]
    assert ids == sorted(set(ids)), "IDs grow, also when the clock goes back"
    store.close()


def test_reading_goes_on_after_any_id() -> None:
    store = Store(":memory:")
    append(store, *"abcdef")
    rows = read_all(store)
    for i, row in enumerate(rows):
        assert read_all(store, after=row.message_id) == rows[i + 1 :]
        assert read_all(store, after=row.message_id - 1) == rows[i:]


def test_an_absent_stream_is_empty() -> None:
    store = Store(":memory:")
    assert store.streams.after(KEY, 0) is None
    assert store.streams.before(KEY, None, 10) == []


def test_each_flow_name_and_type_has_a_stream_of_its_own() -> None:
    store = Store(":memory:")
    keys = [KEY, OTHER_FLOW, KEY._replace(name="other"), KEY._replace(flow_type="Other")]
    for i, key in enumerate(keys):
        append(store, f"{i}", key=key)
    assert [texts(read_all(store, key)) for key in keys] == [["0"], ["1"], ["2"], ["3"]]


def test_pages_go_back_from_the_newest() -> None:
    store = Store(":memory:")
    append(store, *"abcde")
    append(store, "x", key=OTHER_FLOW)
    first = store.streams.before(KEY, None, 2)
    assert texts(first) == ["e", "d"]
    second = store.streams.before(KEY, first[-1].message_id, 2)
    assert texts(second) == ["c", "b"]
    assert texts(store.streams.before(KEY, second[-1].message_id, 2)) == ["a"]
    assert store.streams.before(KEY, 0, 2) == []


def test_ids_grow_across_a_reopening_with_a_clock_that_went_back(tmp_path: Path) -> None:
    store = Store(tmp_path / "engine.db")
    append(store, "old", now=2_000_000_000.0)
    store.close()
    store = Store(tmp_path / "engine.db")
    append(store, "new", now=1000.0)
    old, new = read_all(store)
    assert (old.value.data, new.value.data) == ("old", "new")
    assert read_all(store, after=old.message_id) == [new]
    store.close()


def test_an_id_of_a_lost_event_still_means_after_that_moment(tmp_path: Path) -> None:
    store = Store(tmp_path / "engine.db")
    append(store, "lost", now=5000.0)
    [lost] = read_all(store)
    store.abandon()
    store = Store(tmp_path / "engine.db")
    append(store, "new", now=5000.001)
    assert texts(read_all(store, after=lost.message_id)) == ["new"]
    store.close()


def test_a_full_stream_drops_its_oldest_events_and_keeps_the_newest() -> None:
    store = Store(":memory:")
    for i in range(100):
        append(store, f"{i:010}", capacity=100)
        kept = texts(read_all(store))
        assert len(kept) * 10 <= 100
        assert kept == [f"{n:010}" for n in range(i + 1 - len(kept), i + 1)]
        assert len(kept) == min(i + 1, 9 + (i + 1 - 9) % 2) or len(kept) >= 9


def test_the_capacity_is_shared_by_the_flows_of_a_type_and_counts_bytes() -> None:
    store = Store(":memory:")
    append(store, "é" * 20)
    append(store, "é" * 20, key=OTHER_FLOW, capacity=80)
    assert len(read_all(store)) == 1, "80 bytes fit"
    append(store, "x", key=OTHER_FLOW, capacity=80)
    assert read_all(store) == []
    assert len(read_all(store, OTHER_FLOW)) == 2


def test_other_streams_do_not_count() -> None:
    store = Store(":memory:")
    append(store, "x" * 50, key=KEY._replace(name="other"))
    append(store, "x" * 50, key=KEY._replace(flow_type="Other"))
    append(store, "y" * 50, capacity=60)
    assert len(read_all(store, KEY._replace(name="other"))) == 1
    assert len(read_all(store, KEY._replace(flow_type="Other"))) == 1


def test_an_event_over_the_whole_capacity_is_still_kept_as_the_newest() -> None:
    store = Store(":memory:")
    append(store, "small", capacity=10)
    append(store, "x" * 50, capacity=10)
    assert texts(read_all(store)) == ["x" * 50]


def test_the_capacity_holds_across_a_reopening(tmp_path: Path) -> None:
    store = Store(tmp_path / "engine.db")
    append(store, *["x" * 10] * 9, capacity=100)
    store.close()
    store = Store(tmp_path / "engine.db")
    append(store, "y" * 10, capacity=100)
    assert len(read_all(store)) == 10
    append(store, "z" * 10, capacity=100)
    assert len(read_all(store)) == 9
    store.close()


def test_reading_after_the_dropped_events_goes_on_at_the_oldest_kept() -> None:
    store = Store(":memory:")
    append(store, "first")
    [first] = read_all(store)
    append(store, *[f"{i:05}" for i in range(20)], capacity=50)
    assert texts(read_all(store, after=first.message_id)) == texts(read_all(store))


def test_events_without_a_transition_are_committed_after_a_moment(tmp_path: Path) -> None:
    store = Store(tmp_path / "engine.db")
    assert store.events_due_in() is None
    append(store, "1")
    due_in = store.events_due_in()
    assert due_in is not None and 0 < due_in <= 0.05
    store.commit()
    assert store.commits == 0, "they wait for a transition to share its commit"
    store.commit(forces_events=True)
    assert (store.commits, store.events_due_in()) == (1, None)
    store.abandon()
    assert texts(read_all(Store(tmp_path / "engine.db"))) == ["1"]
