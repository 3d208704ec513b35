# twin: shared
"""What the RPCs take and answer."""

from dataclasses import dataclass, field

from dex_agents.model.interrupts import AgentInterrupt
from dex_agents.model.messages import AgentMessage, AgentMessageChunkRange
from dex_agents.model.state import AgentState, AgentUsage
from dex_agents.model.tool_calls import AgentToolCall
from dex_agents.model.wire import WireValue

MAX_PAGE_MESSAGES = 200
SNAPSHOT_MESSAGES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveInterruptRequest(WireValue):
    """A person's answer to an approval; the message is for a refusal only."""

    interrupt_id: str
    approved: bool
    rejection_message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAgentMessagesRequest(WireValue):
    """Ask for the `limit` messages before a sequence; `None` starts at the newest."""

    before_sequence: int | None = None
    limit: int = 50

    @property
    def clamped_limit(self) -> int:
        """Return the limit within 1 to 200."""
        return max(1, min(self.limit, MAX_PAGE_MESSAGES))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMessagesPage(WireValue):
    """Stored messages, oldest first.

    Attributes:
        messages: At most as many as asked for, and 200.
        next_before_sequence: Asks for the page before this one; `None` on the last.
        deleted_before_sequence: Messages before it are no longer stored; `None` when all are.
        unread_chunks: Between engine and client only: the chunks that hold the rest of the page.
    """

    messages: tuple[AgentMessage, ...] = ()
    next_before_sequence: int | None = None
    deleted_before_sequence: int | None = None
    unread_chunks: tuple[AgentMessageChunkRange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedMessage(WireValue):
    """A user message that waits for the running turn to end."""

    message_id: str
    text: str
    plan_mode: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSnapshot(WireValue):
    """A session at one moment.

    Attributes:
        state: Where it stands; `None` until the session has initialized.
        messages: The newest 200 stored messages, oldest first.
        pending_interrupts: What waits for a person, oldest first.
        tool_calls: The running turn's calls, in the model's order.
        usage: What the session used so far.
        queued_message_count: How many user messages wait.
        queued_messages: Those messages, oldest first.
        unread_chunks: Between engine and client only: the chunks that hold the rest of `messages`.
    """

    state: AgentState | None = None
    messages: tuple[AgentMessage, ...] = ()
    pending_interrupts: tuple[AgentInterrupt, ...] = ()
    tool_calls: tuple[AgentToolCall, ...] = ()
    usage: AgentUsage = field(default_factory=AgentUsage)
    queued_message_count: int = 0
    queued_messages: tuple[QueuedMessage, ...] = ()
    unread_chunks: tuple[AgentMessageChunkRange, ...] = ()
