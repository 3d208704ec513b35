# twin: shared
"""Read stored messages, and say what a Step or RPC must load to do so.

Where values travel (the SDK's Workers), no Step or RPC loads more than `MAX_LOAD_BYTES`. A Step's
loads are chosen by the Step that moves to it, from the index; an RPC answers from what its caller
chose to load, and names the chunks that it would have needed besides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dex_agents.errors import StoredValueError
from dex_agents.model.keys import message_sequence_key
from dex_agents.model.messages import AgentMessage, AgentMessageChunkRange
from dex_agents.model.state import AgentState
from dex_agents.session.context_summaries import summarized_through
from dex_agents.session.message_window import message_index
from dex_agents.session.ports import MapLoad, StepIO
from dex_agents.session.schema import (
    AGENT_MESSAGE_CHUNKS,
    AGENT_MESSAGES,
    TURN_REPLY_SEQUENCE,
)

WINDOW_LOADS: tuple[MapLoad, ...] = (AGENT_MESSAGES.load_all(),)
"""What a method loads that stores messages, or reads the newest."""

ALL_CHUNK_LOADS: tuple[MapLoad, ...] = (AGENT_MESSAGE_CHUNKS.load_all(),)


@dataclass(frozen=True, slots=True)
class MessageRead:
    """What an RPC could read: messages, oldest first, and the chunks that it would need besides."""

    messages: tuple[AgentMessage, ...]
    unread_chunks: tuple[AgentMessageChunkRange, ...] = ()


def chunk_load(chunk: AgentMessageChunkRange) -> MapLoad:
    """Return the load of one chunk."""
    return AGENT_MESSAGE_CHUNKS.load_one(message_sequence_key(chunk.first_sequence))


def chunks_after(io: StepIO, sequence: int) -> tuple[AgentMessageChunkRange, ...]:
    """Return the kept chunks that hold messages after a sequence, oldest first."""
    return tuple(one for one in message_index(io).chunks if one.last_sequence > sequence)


def chunks_within(
    chunks: Sequence[AgentMessageChunkRange], max_bytes: int
) -> tuple[AgentMessageChunkRange, ...]:
    """Return as many of the first chunks as fit into some bytes; at least one, if there is one."""
    chosen: list[AgentMessageChunkRange] = []
    for chunk in chunks:
        max_bytes -= chunk.size_bytes
        if chosen and max_bytes < 0:
            break
        chosen.append(chunk)
    return tuple(chosen)


def model_input_bytes(io: StepIO, state: AgentState) -> int:
    """Return how many bytes of messages the next model call loads."""
    chunks = chunks_after(io, summarized_through(io))
    return state.window_bytes + sum(chunk.size_bytes for chunk in chunks)


def model_input_loads(io: StepIO) -> tuple[MapLoad, ...]:
    """Return the loads of the messages that the next model call reads."""
    summarized = summarized_through(io)
    if not summarized:
        # A long history has thousands of chunks; all of them need no list of their keys.
        return (*WINDOW_LOADS, *ALL_CHUNK_LOADS)
    return (*WINDOW_LOADS, *(chunk_load(chunk) for chunk in chunks_after(io, summarized)))


def failed_turn_loads(io: StepIO, max_bytes: int | None) -> tuple[MapLoad, ...]:
    """Return the loads of a turn's own messages: the newest that fit, when there is a limit."""
    reply = TURN_REPLY_SEQUENCE.get(io)
    chunks = chunks_after(io, 0 if reply is None else reply.sequence - 1)
    if max_bytes is not None:
        newest_first = chunks_within(chunks[::-1], max_bytes)
        # What does not fit is left out: the older a call, the surer its result is stored too.
        chunks = tuple(one for one in newest_first if one.size_bytes <= max_bytes)[::-1]
    return (*WINDOW_LOADS, *map(chunk_load, chunks))


def messages_after(io: StepIO, state: AgentState, sequence: int = 0) -> tuple[AgentMessage, ...]:
    """Return the stored messages after a sequence, oldest first.

    Raises:
        LookupError: The method does not load them.
        StoredValueError: One is missing or damaged; the text holds its key.
    """
    index = message_index(io)
    parts: list[AgentMessage] = []
    for chunk in chunks_after(io, sequence):
        parts.extend(_chunk_messages(io, chunk))
    parts.extend(_window_messages(io, index.window_first_sequence, state))
    if parts and parts[0].sequence <= sequence:
        return tuple(message for message in parts if message.sequence > sequence)
    return tuple(parts)


def turn_messages(io: StepIO, state: AgentState, turn_id: str) -> tuple[AgentMessage, ...]:
    """Return the newest consecutive messages of a turn that are loaded, oldest first.

    Raises:
        StoredValueError: One is missing or damaged; the text holds its key.
    """
    found = list(_newest_first(io, state.last_message_sequence + 1, None, []))
    messages: list[AgentMessage] = []
    for message in found:
        if message.turn_id != turn_id:
            break
        messages.append(message)
    return tuple(reversed(messages))


def read_before(io: StepIO, before_sequence: int, count: int) -> MessageRead:
    """Return the newest `count` messages before a sequence, as far as they are loaded.

    Raises:
        StoredValueError: One is missing or damaged; the text holds its key.
    """
    unread: list[AgentMessageChunkRange] = []
    found = list(_newest_first(io, before_sequence, count, unread))
    return MessageRead(tuple(reversed(found)), tuple(unread))


def _newest_first(
    io: StepIO, before: int, count: int | None, unread: list[AgentMessageChunkRange]
) -> Iterator[AgentMessage]:
    """Yield messages before a sequence, newest first, up to the first chunk that is not loaded."""
    index = message_index(io)
    first_wanted = index.first_sequence if count is None else before - count
    for sequence in range(before - 1, max(index.window_first_sequence, first_wanted) - 1, -1):
        yield _window_message(io, sequence)
    for chunk in reversed(index.chunks):
        if chunk.first_sequence >= before:
            continue
        if chunk.last_sequence < first_wanted:
            return
        if not unread:
            try:
                messages = _chunk_messages(io, chunk)
            except LookupError:
                unread.append(chunk)
                continue
            wanted = range(max(first_wanted, chunk.first_sequence), before)
            yield from (one for one in reversed(messages) if one.sequence in wanted)
        else:
            unread.append(chunk)


def _chunk_messages(io: StepIO, chunk: AgentMessageChunkRange) -> tuple[AgentMessage, ...]:
    key = message_sequence_key(chunk.first_sequence)
    stored = AGENT_MESSAGE_CHUNKS.get(io, key)
    if stored is None:
        raise StoredValueError(f"{AGENT_MESSAGE_CHUNKS.name}/{key}: is missing")
    messages = stored.messages
    count = chunk.last_sequence - chunk.first_sequence + 1
    if len(messages) != count or messages[0].sequence != chunk.first_sequence:
        raise StoredValueError(
            f"{AGENT_MESSAGE_CHUNKS.name}/{key}: does not hold messages {chunk.first_sequence} to "
            f"{chunk.last_sequence}"
        )
    return messages


def _window_messages(io: StepIO, first: int, state: AgentState) -> Sequence[AgentMessage]:
    count = state.last_message_sequence - first + 1
    messages = [message for _, message in AGENT_MESSAGES.items(io)]
    if len(messages) == count:
        return messages
    return [_window_message(io, one) for one in range(first, state.last_message_sequence + 1)]


def _window_message(io: StepIO, sequence: int) -> AgentMessage:
    key = message_sequence_key(sequence)
    message = AGENT_MESSAGES.get(io, key)
    if message is None:
        raise StoredValueError(f"{AGENT_MESSAGES.name}/{key}: is missing")
    return message
