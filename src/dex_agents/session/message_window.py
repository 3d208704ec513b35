# twin: shared
"""Stored messages: append them, and read all or some; the only module that knows where they are.

Every message is an `AgentMessages` instance of its own, so storing one writes one, and a Step that
only stores messages loads none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dex_agents.errors import StoredValueError
from dex_agents.model.keys import message_sequence_key
from dex_agents.model.messages import AgentMessage, FrameworkMessage, MessageRole
from dex_agents.model.state import AgentState
from dex_agents.session.ports import MapLoad, StepIO
from dex_agents.session.schema import AGENT_MESSAGES

MESSAGE_LOADS: tuple[MapLoad, ...] = (AGENT_MESSAGES.load_all(),)
"""What a method loads that reads messages."""


def append_messages(
    io: StepIO, state: AgentState, turn_id: str, messages: Iterable[FrameworkMessage]
) -> AgentState:
    """Store messages of a turn, in order.

    Returns:
        The state with the new last sequence; the caller writes it.
    """
    sequence = state.last_message_sequence
    for message in messages:
        sequence += 1
        stored = AgentMessage(
            sequence=sequence,
            turn_id=turn_id,
            role=MessageRole(message.role),
            framework_item=message.framework_item,
            text=message.text,
            created_at=io.now,
            tool_call_id=message.tool_call_id,
            tool_name=message.tool_name,
            tool_arguments=message.tool_arguments,
        )
        AGENT_MESSAGES.set(io, message_sequence_key(sequence), stored)
    return replace(state, last_message_sequence=sequence)


def all_messages(io: StepIO, state: AgentState) -> tuple[AgentMessage, ...]:
    """Return every stored message, oldest first.

    Raises:
        StoredValueError: One is missing or damaged; the text holds its key.
    """
    messages = tuple(message for _, message in AGENT_MESSAGES.items(io))
    if len(messages) == state.last_message_sequence:
        return messages
    return tuple(_read(io, range(1, state.last_message_sequence + 1)))


def last_messages(io: StepIO, state: AgentState, count: int) -> tuple[AgentMessage, ...]:
    """Return the newest `count` messages, oldest first."""
    return messages_before(io, state.last_message_sequence + 1, count)


def messages_before(io: StepIO, before_sequence: int, count: int) -> tuple[AgentMessage, ...]:
    """Return the `count` messages before a sequence, oldest first."""
    return tuple(_read(io, range(max(1, before_sequence - count), before_sequence)))


def _read(io: StepIO, sequences: Sequence[int]) -> Iterable[AgentMessage]:
    for sequence in sequences:
        key = message_sequence_key(sequence)
        message = AGENT_MESSAGES.get(io, key)
        if message is None:
            raise StoredValueError(f"{AGENT_MESSAGES.name}/{key}: is missing")
        yield message
