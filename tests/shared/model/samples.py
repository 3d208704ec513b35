# twin: shared
"""One value of every wire type, with every field set; the golden files hold their JSON."""

from datetime import UTC, datetime

from dex_agents.model.context_summary import ContextSummary
from dex_agents.model.events import AgentEvent, AgentEventType
from dex_agents.model.interrupts import AgentInterrupt, AgentInterruptResolution, InterruptKind
from dex_agents.model.messages import (
    AgentMessage,
    AgentMessageChunk,
    AgentMessageChunkRange,
    AgentMessageIndex,
    MessageRole,
    TurnReplySequence,
)
from dex_agents.model.requests import (
    AgentMessagesPage,
    AgentSnapshot,
    ListAgentMessagesRequest,
    QueuedMessage,
    ResolveInterruptRequest,
)
from dex_agents.model.state import (
    AgentSessionStartInput,
    AgentState,
    AgentStatus,
    AgentUsage,
    AgentUserMessage,
    InteractionMode,
)
from dex_agents.model.tool_calls import (
    AgentToolCall,
    CancellationReason,
    ToolCallCompleted,
    ToolCallStatus,
    ToolEffect,
)
from dex_agents.model.wire import WireValue

MOMENT = datetime(2026, 12, 1, 4, 5, 6, 789000, tzinfo=UTC)

MESSAGE = AgentMessage(
    sequence=3,
    turn_id="turn-2",
    role=MessageRole.TOOL,
    framework_item='{"type":"result","output":"für 7 €"}',
    text="für 7 €",
    created_at=MOMENT,
    tool_call_id="call-1",
    tool_name="lookup_order",
    tool_arguments='{"order_id":"7"}',
)
STATE = AgentState(
    status=AgentStatus.RUNNING_TOOLS,
    interaction_mode=InteractionMode.CHAT,
    active_turn_id="turn-2",
    turn_number=2,
    last_message_sequence=3,
    last_turn_error="RuntimeError: no network",
    accepts_turn_control=True,
    window_bytes=1024,
)
TOOL_CALL = AgentToolCall(
    tool_call_id="call-1",
    turn_id="turn-2",
    tool_name="lookup_order",
    arguments='{"order_id":"7"}',
    effect=ToolEffect.READ,
    requires_approval=False,
    status=ToolCallStatus.SUCCEEDED,
    deferral_order=1,
    output="shipped",
    error="none",
    rejection_message="not today",
    cancellation_reason=CancellationReason.STEERED,
    tool_source_reference='{"server":"orders"}',
    trace_context="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)
INTERRUPT = AgentInterrupt(
    interrupt_id="call-2",
    tool_call_id="call-2",
    turn_id="turn-2",
    tool_name="refund_order",
    arguments='{"order_id":"7"}',
    kind=InterruptKind.QUESTION,
    created_at=MOMENT,
    deadline=MOMENT,
    question="Which account?",
    choices=("first", "second"),
    allows_free_text=False,
)
USAGE = AgentUsage(
    input_tokens=100,
    output_tokens=20,
    cached_input_tokens=60,
    reasoning_tokens=5,
    model_calls=1,
)
QUEUED = QueuedMessage(message_id="m-1", text="and order 8", plan_mode=False)

CHUNK_RANGE = AgentMessageChunkRange(first_sequence=1, last_sequence=32, size_bytes=4096)

SAMPLES: tuple[WireValue, ...] = (
    MESSAGE,
    STATE,
    TOOL_CALL,
    INTERRUPT,
    USAGE,
    QUEUED,
    AgentMessageChunk(messages=(MESSAGE,)),
    CHUNK_RANGE,
    AgentMessageIndex(
        chunks=(CHUNK_RANGE,),
        window_first_sequence=33,
        first_sequence=1,
    ),
    ContextSummary(
        generation=2,
        first_sequence=1,
        last_sequence=32,
        text="The user asked for a refund of order 7.",
        created_at=MOMENT,
    ),
    TurnReplySequence(turn_id="turn-2", sequence=4),
    ToolCallCompleted(tool_call_id="call-1", turn_id="turn-2"),
    AgentInterruptResolution(
        interrupt_id="call-2", turn_id="turn-2", approved=False, rejection_message="too much"
    ),
    AgentUserMessage(text="Refund order 7", plan_mode=True),
    AgentSessionStartInput(
        initial_message="Hello",
        session_settings={"model": "small", "depth": [1, 2.5, None, True]},
        trace_context="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ),
    AgentEvent(
        type=AgentEventType.TEXT_DELTA.value,
        turn_id="turn-2",
        step_execution_id="RunModel-2",
        attempt=1,
        payload='{"text":"Hel"}',
    ),
    ResolveInterruptRequest(interrupt_id="call-2", approved=False, rejection_message="too much"),
    ListAgentMessagesRequest(before_sequence=40, limit=10),
    AgentMessagesPage(
        messages=(MESSAGE,),
        next_before_sequence=3,
        deleted_before_sequence=2,
        unread_chunks=(CHUNK_RANGE,),
    ),
    AgentSnapshot(
        state=STATE,
        messages=(MESSAGE,),
        pending_interrupts=(INTERRUPT,),
        tool_calls=(TOOL_CALL,),
        usage=USAGE,
        queued_message_count=1,
        queued_messages=(QUEUED,),
        unread_chunks=(CHUNK_RANGE,),
    ),
)
