# twin: shared
"""Messages leave the window for chunks, are read from both, and are deleted by retention only."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dex_agents.errors import StoredValueError
from dex_agents.model.context_summary import ContextSummary
from dex_agents.model.keys import message_sequence_key
from dex_agents.model.limits import MAX_WINDOW_BYTES
from dex_agents.model.messages import AgentMessageIndex, MessageRole
from dex_agents.model.options import AgentSessionOptions
from dex_agents.model.state import AgentState
from dex_agents.session.message_window import append_messages, delete_expired_chunks
from dex_agents.session.recording_io import RecordedWrites
from dex_agents.session.schema import (
    AGENT_MESSAGE_CHUNKS,
    AGENT_MESSAGE_INDEX,
    AGENT_MESSAGES,
    CONTEXT_SUMMARY,
)
from dex_agents.session.stored_messages import (
    ALL_CHUNK_LOADS,
    WINDOW_LOADS,
    chunk_load,
    messages_after,
    read_before,
)
from tests.shared.session.flows import NOW, Flow, message, session_of

CHUNKS = AGENT_MESSAGE_CHUNKS.name
WINDOW = AGENT_MESSAGES.name


class Store:
    """The messages of one session, stored one commit at a time."""

    def __init__(self, **options: Any) -> None:
        self.flow = Flow(session_of(options=AgentSessionOptions(**options)))
        self.state = AgentState()
        self.sent: list[str] = []

    def append(self, *texts: str) -> RecordedWrites:
        io = self.flow.io("test", WINDOW_LOADS)
        messages = [message(text, MessageRole.USER) for text in texts]
        self.state = append_messages(self.flow.session, io, self.state, "turn-1", messages)
        self.flow.store(io.writes)
        self.sent += texts
        return io.writes

    def summarize(self, last_sequence: int) -> None:
        summary = ContextSummary(
            generation=1, first_sequence=1, last_sequence=last_sequence, text="", created_at=NOW
        )
        self.flow.put(CONTEXT_SUMMARY, summary)

    @property
    def index(self) -> AgentMessageIndex:
        return self.flow.read(AGENT_MESSAGE_INDEX) or AgentMessageIndex()

    @property
    def ranges(self) -> list[tuple[int, int]]:
        return [(chunk.first_sequence, chunk.last_sequence) for chunk in self.index.chunks]

    @property
    def window(self) -> list[int]:
        return [int(key) for key in sorted(self.flow.maps.get(WINDOW, {}))]

    def read(self, after: int = 0) -> list[tuple[int, str]]:
        io = self.flow.io("test", (*WINDOW_LOADS, *ALL_CHUNK_LOADS))
        return [(one.sequence, one.text) for one in messages_after(io, self.state, after)]

    def check(self) -> None:
        index, chunks = self.index, self.flow.maps.get(CHUNKS, {})
        assert self.read() == list(enumerate(self.sent, 1))[index.first_sequence - 1 :]
        assert sorted(chunks) == [message_sequence_key(first) for first, _ in self.ranges]
        expected = index.first_sequence
        for chunk in index.chunks:
            assert chunk.first_sequence == expected
            expected = chunk.last_sequence + 1
            text = chunks[message_sequence_key(chunk.first_sequence)]
            assert len(text.encode()) == chunk.size_bytes
        assert index.window_first_sequence == expected
        assert self.window == list(range(expected, len(self.sent) + 1))
        size = sum(len(text.encode()) for text in self.flow.maps.get(WINDOW, {}).values())
        assert self.state.window_bytes == size <= MAX_WINDOW_BYTES


def test_a_window_that_is_not_full_writes_the_message_only() -> None:
    store = Store()
    writes = store.append("a")
    assert list(writes.items) == [(WINDOW, "000000000001")]
    assert not writes.attributes
    store.check()


def test_the_oldest_messages_move_into_a_chunk_in_the_same_commit() -> None:
    store = Store(message_window_size=4, message_chunk_size=3)
    store.append("1", "2", "3", "4")
    assert store.ranges == []
    writes = store.append("5")
    assert store.ranges == [(1, 3)]
    assert store.window == [4, 5]
    deleted = [key for key, text in writes.items.items() if text is None]
    assert deleted == [(WINDOW, message_sequence_key(n)) for n in (1, 2, 3)]
    store.check()


def test_a_chunk_keeps_its_bytes_below_the_limit() -> None:
    store = Store(message_window_size=1, message_chunk_max_bytes=2048)
    store.append(*["x" * 400] * 4)
    assert store.ranges == [(1, 2), (3, 4)]
    store.check()
    assert all(chunk.size_bytes <= 2048 for chunk in store.index.chunks)


def test_a_large_message_goes_straight_into_a_chunk_of_its_own() -> None:
    store = Store(message_chunk_max_bytes=2048)
    store.append("a", "b")
    writes = store.append("x" * 3000, "c")
    assert store.ranges == [(1, 2), (3, 3)]
    assert store.window == [4]
    assert (WINDOW, message_sequence_key(3)) not in writes.items
    store.check()


def test_one_commit_moves_at_most_four_chunks_of_a_long_window() -> None:
    store = Store(message_window_size=500)
    store.append(*map(str, range(300)))
    shrunk = Store(message_window_size=2, message_chunk_size=4)
    shrunk.flow.maps, shrunk.state, shrunk.sent = store.flow.maps, store.state, store.sent
    shrunk.append("next")
    assert len(shrunk.ranges) == 4
    shrunk.append("next")
    assert len(shrunk.ranges) == 8
    shrunk.check()


def test_the_window_never_holds_more_than_a_mebibyte() -> None:
    store = Store()
    for _ in range(3):
        store.append(*["x" * 180_000] * 4)
        store.check()


@settings(max_examples=40, deadline=None)
@given(
    commits=st.lists(
        st.lists(st.integers(0, 3000), min_size=1, max_size=9).map(
            lambda sizes: ["ü" * size for size in sizes]
        ),
        max_size=12,
    ),
    window=st.integers(1, 8),
    chunk=st.integers(1, 5),
    max_bytes=st.integers(1024, 4096),
    retained=st.none() | st.integers(1, 10),
    summarized=st.lists(st.integers(0, 60), max_size=12),
)
def test_no_message_is_lost_doubled_or_out_of_order(
    commits: list[list[str]],
    window: int,
    chunk: int,
    max_bytes: int,
    retained: int | None,
    summarized: list[int],
) -> None:
    store = Store(
        message_window_size=window,
        message_chunk_size=chunk,
        message_chunk_max_bytes=max_bytes,
        retained_message_limit=retained,
    )
    through = 0
    for number, texts in enumerate(commits):
        store.append(*texts)
        if number < len(summarized):
            through = max(through, min(summarized[number], len(store.sent)))
            store.summarize(through)
        store.check()
        first = store.index.first_sequence
        assert first == 1 or (retained is not None and first <= through + 1)
        assert len(store.sent) - first + 1 >= min(retained or 0, len(store.sent))
    assert store.read(through) == list(enumerate(store.sent, 1))[through:]


def test_retention_deletes_what_is_summarized_and_has_enough_messages_after_it() -> None:
    store = Store(message_window_size=2, message_chunk_size=2, retained_message_limit=4)
    store.append(*"1234567")
    assert store.ranges == [(1, 2), (3, 4), (5, 6)]
    store.summarize(4)
    io = store.flow.io("test", ())
    delete_expired_chunks(store.flow.session, io, store.state)
    store.flow.store(io.writes)
    # Three messages follow the second chunk, five the first.
    assert store.index.first_sequence == 3
    store.check()
    store.append("8")
    assert store.index.first_sequence == 5
    store.append(*"9abc")
    assert store.index.first_sequence == 5, "not summarized, so it stays"
    store.check()


def test_without_a_limit_nothing_is_deleted() -> None:
    store = Store(message_window_size=2, message_chunk_size=2, retained_message_limit=None)
    store.append(*"1234567")
    store.summarize(6)
    store.append("8")
    assert store.index.first_sequence == 1


def test_a_moved_message_keeps_what_a_newer_release_wrote() -> None:
    store = Store(message_window_size=1)
    store.append("a")
    key = message_sequence_key(1)
    stored = json.loads(store.flow.maps[WINDOW][key])
    store.flow.maps[WINDOW][key] = json.dumps({**stored, "mood": "good"})
    store.append("b")
    assert json.loads(store.flow.maps[CHUNKS][key])["messages"][0]["mood"] == "good"
    store.check()


def test_a_read_names_the_chunks_that_are_not_loaded() -> None:
    store = Store(message_window_size=2, message_chunk_size=2)
    store.append(*"12345678")
    assert store.ranges == [(1, 2), (3, 4), (5, 6)]
    read = read_before(store.flow.io("", WINDOW_LOADS), 9, 5)
    assert [one.text for one in read.messages] == ["7", "8"]
    assert [chunk.first_sequence for chunk in read.unread_chunks] == [5, 3]
    loads = [chunk_load(chunk) for chunk in read.unread_chunks]
    rest = read_before(store.flow.io("", loads), 7, 3)
    assert [one.text for one in rest.messages] == ["4", "5", "6"]
    assert not rest.unread_chunks


@pytest.mark.parametrize("damage", [None, "{", '{"messages":[]}'])
def test_a_chunk_that_cannot_be_read_is_named(damage: str | None) -> None:
    store = Store(message_window_size=1)
    store.append("a", "b")
    if damage is None:
        del store.flow.maps[CHUNKS]["000000000001"]
    else:
        store.flow.maps[CHUNKS]["000000000001"] = damage
    with pytest.raises(StoredValueError, match="AgentMessageChunks/000000000001: "):
        store.read()


def test_a_message_that_is_missing_from_the_window_is_named() -> None:
    store = Store()
    store.append("a", "b")
    del store.flow.maps[WINDOW]["000000000001"]
    with pytest.raises(StoredValueError, match="AgentMessages/000000000001: is missing"):
        store.append("c")
    with pytest.raises(StoredValueError, match="AgentMessages/000000000001: is missing"):
        store.read()
