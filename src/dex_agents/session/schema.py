# twin: shared
"""Everything a session stores, by its durable name.

All names are registered from the first release on, so that processes of any two releases can serve
one session; what no feature uses yet holds plain text until its feature gives it a type.
"""

from typing import Any, Final

from dex_agents.model.context_summary import ContextSummary
from dex_agents.model.events import AgentEvent
from dex_agents.model.interrupts import AgentInterrupt, AgentInterruptResolution
from dex_agents.model.messages import (
    AgentMessage,
    AgentMessageChunk,
    AgentMessageIndex,
    TurnReplySequence,
)
from dex_agents.model.state import AgentState, AgentUsage, AgentUserMessage
from dex_agents.model.tool_calls import AgentToolCall, ToolCallCompleted
from dex_agents.model.wire import cached_decoder
from dex_agents.session.persistence import (
    PLAIN_TEXT,
    Attribute,
    AttributeMap,
    Channel,
    ChannelMap,
    EventStream,
    TextCodec,
    wire_codec,
    wire_list_codec,
)

# 8,192 messages of at most 4,096 characters: some tens of megabytes when it is full.
_MESSAGE_CODEC = TextCodec(
    AgentMessage.to_text,
    cached_decoder(AgentMessage.from_text, max_entries=8192, max_characters=4096),
)

# 512 chunks of at most 65,536 characters: as much again. A chunk never changes.
_CHUNK_CODEC = TextCodec(
    AgentMessageChunk.to_text,
    cached_decoder(AgentMessageChunk.from_text, max_entries=512, max_characters=65536),
)

AGENT_STATE: Final = Attribute("AgentState", wire_codec(AgentState))
AGENT_MESSAGES: Final = AttributeMap("AgentMessages", _MESSAGE_CODEC)
AGENT_MESSAGE_CHUNKS: Final = AttributeMap("AgentMessageChunks", _CHUNK_CODEC)
AGENT_MESSAGE_INDEX: Final = Attribute("AgentMessageIndex", wire_codec(AgentMessageIndex))
TURN_REPLY_SEQUENCE: Final = Attribute("TurnReplySequence", wire_codec(TurnReplySequence))
FRAMEWORK_RUN_STATE: Final = Attribute("FrameworkRunState", PLAIN_TEXT)
AGENT_TOOL_CALLS: Final = AttributeMap("AgentToolCalls", wire_codec(AgentToolCall))
PENDING_INTERRUPTS: Final = Attribute("PendingInterrupts", wire_list_codec(AgentInterrupt))
AGENT_USAGE: Final = Attribute("AgentUsage", wire_codec(AgentUsage))
QUEUED_USER_MESSAGES: Final = Channel("QueuedUserMessages", wire_codec(AgentUserMessage))
INTERRUPT_RESOLUTIONS: Final = ChannelMap(
    "InterruptResolutions", wire_codec(AgentInterruptResolution)
)
TOOL_CALL_RESULTS: Final = Channel("ToolCallResults", wire_codec(ToolCallCompleted))
AGENT_TRACE_CONTEXT: Final = Attribute("AgentTraceContext", PLAIN_TEXT)
AGENT_EVENTS: Final = EventStream("AgentEvents", wire_codec(AgentEvent))

# Steering and cancelling a turn.
STEERED_USER_MESSAGES: Final = Channel("SteeredUserMessages", wire_codec(AgentUserMessage))
TURN_CONTROL_REQUESTS: Final = Channel("TurnControlRequests", PLAIN_TEXT)
TURN_CANCELLATION_REQUEST: Final = Attribute("TurnCancellationRequest", PLAIN_TEXT)
TOOL_CALL_CANCELLATIONS: Final = ChannelMap("ToolCallCancellations", PLAIN_TEXT)

# Plans, compaction, session settings.
AGENT_PLAN: Final = Attribute("AgentPlan", PLAIN_TEXT)
PLAN_EXECUTIONS: Final = ChannelMap("PlanExecutions", PLAIN_TEXT)
PENDING_PLAN_EXECUTION: Final = Attribute("PendingPlanExecution", PLAIN_TEXT)
CONTEXT_SUMMARY: Final = Attribute("ContextSummary", wire_codec(ContextSummary))
SESSION_SETTINGS: Final = Attribute("SessionSettings", PLAIN_TEXT)
TURN_SESSION_SETTINGS: Final = Attribute("TurnSessionSettings", PLAIN_TEXT)

ATTRIBUTES: Final[tuple[Attribute[Any], ...]] = (
    AGENT_STATE,
    AGENT_MESSAGE_INDEX,
    TURN_REPLY_SEQUENCE,
    FRAMEWORK_RUN_STATE,
    PENDING_INTERRUPTS,
    AGENT_USAGE,
    AGENT_TRACE_CONTEXT,
    TURN_CANCELLATION_REQUEST,
    AGENT_PLAN,
    PENDING_PLAN_EXECUTION,
    CONTEXT_SUMMARY,
    SESSION_SETTINGS,
    TURN_SESSION_SETTINGS,
)
ATTRIBUTE_MAPS: Final[tuple[AttributeMap[Any], ...]] = (
    AGENT_MESSAGES,
    AGENT_MESSAGE_CHUNKS,
    AGENT_TOOL_CALLS,
)
CHANNELS: Final[tuple[Channel[Any], ...]] = (
    QUEUED_USER_MESSAGES,
    TOOL_CALL_RESULTS,
    STEERED_USER_MESSAGES,
    TURN_CONTROL_REQUESTS,
)
CHANNEL_MAPS: Final[tuple[ChannelMap[Any], ...]] = (
    INTERRUPT_RESOLUTIONS,
    TOOL_CALL_CANCELLATIONS,
    PLAN_EXECUTIONS,
)
