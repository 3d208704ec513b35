# twin: shared
"""Messages: what a framework makes of them, and how a session stores them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dex_agents.model.wire import WireValue


class MessageRole(StrEnum):
    """Who a message is from."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkMessage:
    """One message as a runner hands it over.

    Attributes:
        role: Who it is from.
        framework_item: What the framework needs to replay it; opaque to the session.
        text: What a person reads, `""` when there is nothing to read.
        tool_call_id: The tool call that this message asks for or answers.
        tool_name: That call's tool.
        tool_arguments: That call's arguments, when the message asks for it.
    """

    role: MessageRole
    framework_item: str
    text: str
    tool_call_id: str | None = None
    tool_name: str | None = None
    tool_arguments: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMessage(WireValue):
    """One stored message; `sequence` counts from 1 without gaps within a session."""

    sequence: int
    turn_id: str
    role: MessageRole
    framework_item: str
    text: str
    created_at: datetime
    tool_call_id: str | None = None
    tool_name: str | None = None
    tool_arguments: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMessageChunk(WireValue):
    """Consecutive messages that left the window, oldest first; never changed once written."""

    messages: tuple[AgentMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMessageChunkRange(WireValue):
    """Which messages one chunk holds, both ends included, and how large its JSON is."""

    first_sequence: int
    last_sequence: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMessageIndex(WireValue):
    """Where the stored messages are.

    Attributes:
        chunks: The kept chunks, oldest first, without gaps.
        window_first_sequence: The oldest message that is stored on its own.
        first_sequence: The oldest message that is stored at all.
    """

    chunks: tuple[AgentMessageChunkRange, ...] = ()
    window_first_sequence: int = 1
    first_sequence: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReplySequence(WireValue):
    """Where the replies of the latest turn start: the sequence after its last user message."""

    turn_id: str
    sequence: int
