# twin: shared
"""Store messages: the window of the newest ones, the chunks that older ones move to, retention.

Every message of the window is an `AgentMessages` instance of its own, so storing one writes one.
What leaves the window moves into `AgentMessageChunks`, which never change. Texts are moved as they
are: nothing that a newer release wrote into a message is lost. `stored_messages` reads them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dex_agents.errors import StoredValueError
from dex_agents.model.keys import message_sequence_key
from dex_agents.model.limits import MAX_ROLLOVER_BYTES, MAX_ROLLOVER_CHUNKS, MAX_WINDOW_BYTES
from dex_agents.model.messages import (
    AgentMessage,
    AgentMessageChunkRange,
    AgentMessageIndex,
    FrameworkMessage,
    MessageRole,
)
from dex_agents.model.options import AgentSessionOptions
from dex_agents.model.state import AgentState
from dex_agents.model.text import utf8_size
from dex_agents.session.context_summaries import summarized_through
from dex_agents.session.definition import SessionDefinition
from dex_agents.session.ports import StepIO
from dex_agents.session.schema import AGENT_MESSAGE_CHUNKS, AGENT_MESSAGE_INDEX, AGENT_MESSAGES

_CHUNK_START = '{"messages":['
_CHUNK_END = "]}"
_CHUNK_FRAME_BYTES = len(_CHUNK_START) + len(_CHUNK_END)


@dataclass(frozen=True, slots=True)
class _Stored:
    """One message of the window as it is stored."""

    sequence: int
    text: str
    size_bytes: int


def message_index(io: StepIO) -> AgentMessageIndex:
    """Return where the stored messages are; a session without chunks has no index yet."""
    return AGENT_MESSAGE_INDEX.get(io) or AgentMessageIndex()


def append_messages(
    session: SessionDefinition,
    io: StepIO,
    state: AgentState,
    turn_id: str,
    messages: Iterable[FrameworkMessage],
) -> AgentState:
    """Store messages of a turn, in order, and let the oldest leave the window; loads the window.

    Returns:
        The state with the new last sequence and window size; the caller writes it.

    Raises:
        StoredValueError: A message of the window is missing; the text holds its key.
    """
    index = message_index(io)
    window = _window(io, index, state)
    first_new = sequence = state.last_message_sequence + 1
    for message in messages:
        text = _message_text(sequence, turn_id, message, io)
        window.append(_Stored(sequence, text, utf8_size(text)))
        sequence += 1
    if sequence == first_new:
        return state
    last = sequence - 1
    moved = _Rollover(io, session.options, first_new)
    moved.roll(window)
    for stored in window[moved.count :]:
        if stored.sequence >= first_new:
            io.set_item(AGENT_MESSAGES.name, message_sequence_key(stored.sequence), stored.text)
    index = replace(
        index,
        chunks=(*index.chunks, *moved.chunks),
        window_first_sequence=index.window_first_sequence + moved.count,
    )
    index = _without_expired_chunks(session, io, index, last)
    if index.chunks or index.first_sequence > 1:
        AGENT_MESSAGE_INDEX.set(io, index)
    return replace(
        state,
        last_message_sequence=last,
        window_bytes=sum(stored.size_bytes for stored in window[moved.count :]),
    )


def delete_expired_chunks(session: SessionDefinition, io: StepIO, state: AgentState) -> None:
    """Delete what retention no longer keeps; for a Step that has stored a new summary."""
    index = message_index(io)
    kept = _without_expired_chunks(session, io, index, state.last_message_sequence)
    if kept is not index:
        AGENT_MESSAGE_INDEX.set(io, kept)


def _without_expired_chunks(
    session: SessionDefinition, io: StepIO, index: AgentMessageIndex, last_sequence: int
) -> AgentMessageIndex:
    """Delete the oldest chunks that are summarized and have enough messages after them."""
    limit = session.options.retained_message_limit
    if limit is None or not index.chunks:
        return index
    summarized = summarized_through(io)
    count = 0
    for chunk in index.chunks:
        if chunk.last_sequence > summarized or last_sequence - chunk.last_sequence < limit:
            break
        AGENT_MESSAGE_CHUNKS.delete(io, message_sequence_key(chunk.first_sequence))
        count += 1
    if not count:
        return index
    first = index.chunks[count - 1].last_sequence + 1
    return replace(index, chunks=index.chunks[count:], first_sequence=first)


def _message_text(sequence: int, turn_id: str, message: FrameworkMessage, io: StepIO) -> str:
    return AgentMessage(
        sequence=sequence,
        turn_id=turn_id,
        role=MessageRole(message.role),
        framework_item=message.framework_item,
        text=message.text,
        created_at=io.now,
        tool_call_id=message.tool_call_id,
        tool_name=message.tool_name,
        tool_arguments=message.tool_arguments,
    ).to_text()


def _window(io: StepIO, index: AgentMessageIndex, state: AgentState) -> list[_Stored]:
    texts = dict(io.items(AGENT_MESSAGES.name))
    window: list[_Stored] = []
    for sequence in range(index.window_first_sequence, state.last_message_sequence + 1):
        key = message_sequence_key(sequence)
        text = texts.get(key)
        if text is None:
            raise StoredValueError(f"{AGENT_MESSAGES.name}/{key}: is missing")
        window.append(_Stored(sequence, text, utf8_size(text)))
    return window


class _Rollover:
    """Moves the oldest messages of a window into chunks, in one commit.

    A message above the chunk limit gets a chunk of its own and takes all before it along, because
    chunks are consecutive. So do too many bytes: they have no limit per commit, or the next Step
    could not load the window. Too many messages have one.
    """

    def __init__(self, io: StepIO, options: AgentSessionOptions, first_new: int) -> None:
        self.count = 0
        self.chunks: list[AgentMessageChunkRange] = []
        self._io = io
        self._options = options
        self._first_new = first_new
        self._bytes = 0

    def roll(self, window: list[_Stored]) -> None:
        max_bytes = self._options.message_chunk_max_bytes
        large = [
            i for i, one in enumerate(window) if one.size_bytes + _CHUNK_FRAME_BYTES > max_bytes
        ]
        forced = large[-1] + 1 if large else 0
        left = sum(one.size_bytes for one in window)
        while self.count < len(window):
            is_forced = self.count < forced or left > MAX_WINDOW_BYTES
            is_long = len(window) - self.count > self._options.message_window_size
            if not is_forced and not (is_long and self._may_move_more()):
                return
            end = self._chunk_end(window, large)
            part = window[self.count : end]
            self._write(part)
            left -= sum(one.size_bytes for one in part)
            self.count = end

    def _may_move_more(self) -> bool:
        return len(self.chunks) < MAX_ROLLOVER_CHUNKS and self._bytes < MAX_ROLLOVER_BYTES

    def _chunk_end(self, window: list[_Stored], large: list[int]) -> int:
        begin = self.count
        if begin in large:
            return begin + 1
        stop = next((i for i in large if i > begin), len(window))
        stop = min(stop, begin + self._options.message_chunk_size)
        size = _CHUNK_FRAME_BYTES
        for position in range(begin, stop):
            size += window[position].size_bytes + 1
            if size > self._options.message_chunk_max_bytes and position > begin:
                return position
        return stop

    def _write(self, part: list[_Stored]) -> None:
        text = f"{_CHUNK_START}{','.join(one.text for one in part)}{_CHUNK_END}"
        size = sum(one.size_bytes for one in part) + len(part) - 1 + _CHUNK_FRAME_BYTES
        first = part[0].sequence
        self._io.set_item(AGENT_MESSAGE_CHUNKS.name, message_sequence_key(first), text)
        for one in part:
            if one.sequence < self._first_new:
                AGENT_MESSAGES.delete(self._io, message_sequence_key(one.sequence))
        self._bytes += size
        self.chunks.append(
            AgentMessageChunkRange(
                first_sequence=first, last_sequence=part[-1].sequence, size_bytes=size
            )
        )
