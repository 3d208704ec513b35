# twin: source
"""Durable AI agent sessions: every model call and every tool call is a Step of its own.

Start at `EmbeddedEngine`, `AgentSessionClient` and `dex_agents.stepwise`.
"""

from typing import TYPE_CHECKING

from dex_agents._door import lazy_door

if TYPE_CHECKING:
    from dex_agents.engine.clock import VirtualClock as VirtualClock
    from dex_agents.engine.embedded.runtime import EmbeddedEngine as EmbeddedEngine
    from dex_agents.engine.local import LocalEngine as LocalEngine
    from dex_agents.engine.store.file import Durability as Durability
    from dex_agents.errors import DexAgentsError as DexAgentsError
    from dex_agents.errors import EngineError as EngineError
    from dex_agents.errors import EngineFileInUseError as EngineFileInUseError
    from dex_agents.errors import EngineFileVersionError as EngineFileVersionError
    from dex_agents.errors import EngineStoppedError as EngineStoppedError
    from dex_agents.errors import EngineStorageError as EngineStorageError
    from dex_agents.errors import (
        InvalidAgentEventResumeTokenError as InvalidAgentEventResumeTokenError,
    )
    from dex_agents.errors import NonRetryableError as NonRetryableError
    from dex_agents.errors import StepCallError as StepCallError
    from dex_agents.errors import StepInvocationClosed as StepInvocationClosed
    from dex_agents.errors import StoredValueError as StoredValueError
    from dex_agents.errors import ToolExecutionError as ToolExecutionError
    from dex_agents.model.events import AgentEvent as AgentEvent
    from dex_agents.model.events import AgentEventType as AgentEventType
    from dex_agents.model.interrupts import AgentInterrupt as AgentInterrupt
    from dex_agents.model.interrupts import AgentInterruptResolution as AgentInterruptResolution
    from dex_agents.model.interrupts import InterruptKind as InterruptKind
    from dex_agents.model.keys import message_sequence_key as message_sequence_key
    from dex_agents.model.keys import plan_execution_key as plan_execution_key
    from dex_agents.model.messages import AgentMessage as AgentMessage
    from dex_agents.model.messages import AgentMessageChunk as AgentMessageChunk
    from dex_agents.model.messages import AgentMessageChunkRange as AgentMessageChunkRange
    from dex_agents.model.messages import AgentMessageIndex as AgentMessageIndex
    from dex_agents.model.messages import FrameworkMessage as FrameworkMessage
    from dex_agents.model.messages import MessageRole as MessageRole
    from dex_agents.model.messages import TurnReplySequence as TurnReplySequence
    from dex_agents.model.options import AgentSessionOptions as AgentSessionOptions
    from dex_agents.model.options import CallLimit as CallLimit
    from dex_agents.model.requests import AgentMessagesPage as AgentMessagesPage
    from dex_agents.model.requests import AgentSnapshot as AgentSnapshot
    from dex_agents.model.requests import ListAgentMessagesRequest as ListAgentMessagesRequest
    from dex_agents.model.requests import QueuedMessage as QueuedMessage
    from dex_agents.model.requests import ResolveInterruptRequest as ResolveInterruptRequest
    from dex_agents.model.state import AgentSessionStartInput as AgentSessionStartInput
    from dex_agents.model.state import AgentState as AgentState
    from dex_agents.model.state import AgentStatus as AgentStatus
    from dex_agents.model.state import AgentUsage as AgentUsage
    from dex_agents.model.state import AgentUserMessage as AgentUserMessage
    from dex_agents.model.state import InteractionMode as InteractionMode
    from dex_agents.model.tool_calls import AgentToolCall as AgentToolCall
    from dex_agents.model.tool_calls import CancellationReason as CancellationReason
    from dex_agents.model.tool_calls import ToolCallCompleted as ToolCallCompleted
    from dex_agents.model.tool_calls import ToolCallStatus as ToolCallStatus
    from dex_agents.model.tool_calls import ToolEffect as ToolEffect
    from dex_agents.model.tool_calls import ToolPolicy as ToolPolicy
    from dex_agents.runner.builders import (
        UnfinishedTurnMessageBuilder as UnfinishedTurnMessageBuilder,
    )
    from dex_agents.runner.builders import UserMessageBuilder as UserMessageBuilder
    from dex_agents.runner.contract import AgentFrameworkRunner as AgentFrameworkRunner
    from dex_agents.runner.event_writer import AgentEventWriter as AgentEventWriter
    from dex_agents.runner.outcomes import AgentTurnOutcome as AgentTurnOutcome
    from dex_agents.runner.outcomes import DeferredToolCall as DeferredToolCall
    from dex_agents.runner.outcomes import DeferredToolOutcome as DeferredToolOutcome
    from dex_agents.runner.outcomes import ModelCallMetadata as ModelCallMetadata
    from dex_agents.runner.outcomes import ToolCallsRequested as ToolCallsRequested
    from dex_agents.runner.outcomes import ToolExecutionResult as ToolExecutionResult
    from dex_agents.runner.outcomes import ToolResultLeftOut as ToolResultLeftOut
    from dex_agents.runner.outcomes import TurnCompleted as TurnCompleted
    from dex_agents.runner.turn import AgentTurnContext as AgentTurnContext
    from dex_agents.runner.turn import DeferredToolExecution as DeferredToolExecution
    from dex_agents.runner.turn_values import AgentTurn as AgentTurn
    from dex_agents.sdk.flow import AgentSessionFlow as AgentSessionFlow
    from dex_agents.session.agent_session import AgentSession as AgentSession
    from dex_agents.session.client import (
        AGENT_SESSION_ACTIVE_STEP_SEARCH_MODE as AGENT_SESSION_ACTIVE_STEP_SEARCH_MODE,
    )
    from dex_agents.session.client import AgentSessionClient as AgentSessionClient
    from dex_agents.session.flow_values import ActiveStepSearchMode as ActiveStepSearchMode
    from dex_agents.session.flow_values import FlowInfo as FlowInfo
    from dex_agents.session.flow_values import FlowStatus as FlowStatus
    from dex_agents.session.flow_values import SearchFlowsPage as SearchFlowsPage
    from dex_agents.session.notes import (
        TOOL_CALL_NOT_RUN_ERROR_PREFIX as TOOL_CALL_NOT_RUN_ERROR_PREFIX,
    )
    from dex_agents.session.notes import build_turn_failure_note as build_turn_failure_note
    from dex_agents.session.notes import describe_tool_call_outcome as describe_tool_call_outcome
    from dex_agents.session.schema import AGENT_MESSAGE_CHUNKS as AGENT_MESSAGE_CHUNKS
    from dex_agents.session.schema import AGENT_MESSAGE_INDEX as AGENT_MESSAGE_INDEX
    from dex_agents.session.schema import AGENT_MESSAGES as AGENT_MESSAGES
    from dex_agents.session.schema import AGENT_STATE as AGENT_STATE
    from dex_agents.session.schema import AGENT_TOOL_CALLS as AGENT_TOOL_CALLS
    from dex_agents.session.schema import AGENT_TRACE_CONTEXT as AGENT_TRACE_CONTEXT
    from dex_agents.session.schema import AGENT_USAGE as AGENT_USAGE
    from dex_agents.session.schema import FRAMEWORK_RUN_STATE as FRAMEWORK_RUN_STATE
    from dex_agents.session.schema import INTERRUPT_RESOLUTIONS as INTERRUPT_RESOLUTIONS
    from dex_agents.session.schema import PENDING_INTERRUPTS as PENDING_INTERRUPTS
    from dex_agents.session.schema import QUEUED_USER_MESSAGES as QUEUED_USER_MESSAGES
    from dex_agents.session.schema import TOOL_CALL_RESULTS as TOOL_CALL_RESULTS
    from dex_agents.session.schema import TURN_REPLY_SEQUENCE as TURN_REPLY_SEQUENCE

__all__ = [
    "AGENT_MESSAGES",
    "AGENT_MESSAGE_CHUNKS",
    "AGENT_MESSAGE_INDEX",
    "AGENT_SESSION_ACTIVE_STEP_SEARCH_MODE",
    "AGENT_STATE",
    "AGENT_TOOL_CALLS",
    "AGENT_TRACE_CONTEXT",
    "AGENT_USAGE",
    "FRAMEWORK_RUN_STATE",
    "INTERRUPT_RESOLUTIONS",
    "PENDING_INTERRUPTS",
    "QUEUED_USER_MESSAGES",
    "TOOL_CALL_NOT_RUN_ERROR_PREFIX",
    "TOOL_CALL_RESULTS",
    "TURN_REPLY_SEQUENCE",
    "ActiveStepSearchMode",
    "AgentEvent",
    "AgentEventType",
    "AgentEventWriter",
    "AgentFrameworkRunner",
    "AgentInterrupt",
    "AgentInterruptResolution",
    "AgentMessage",
    "AgentMessageChunk",
    "AgentMessageChunkRange",
    "AgentMessageIndex",
    "AgentMessagesPage",
    "AgentSession",
    "AgentSessionClient",
    "AgentSessionFlow",
    "AgentSessionOptions",
    "AgentSessionStartInput",
    "AgentSnapshot",
    "AgentState",
    "AgentStatus",
    "AgentToolCall",
    "AgentTurn",
    "AgentTurnContext",
    "AgentTurnOutcome",
    "AgentUsage",
    "AgentUserMessage",
    "CallLimit",
    "CancellationReason",
    "DeferredToolCall",
    "DeferredToolExecution",
    "DeferredToolOutcome",
    "DexAgentsError",
    "Durability",
    "EmbeddedEngine",
    "EngineError",
    "EngineFileInUseError",
    "EngineFileVersionError",
    "EngineStoppedError",
    "EngineStorageError",
    "FlowInfo",
    "FlowStatus",
    "FrameworkMessage",
    "InteractionMode",
    "InterruptKind",
    "InvalidAgentEventResumeTokenError",
    "ListAgentMessagesRequest",
    "LocalEngine",
    "MessageRole",
    "ModelCallMetadata",
    "NonRetryableError",
    "QueuedMessage",
    "ResolveInterruptRequest",
    "SearchFlowsPage",
    "StepCallError",
    "StepInvocationClosed",
    "StoredValueError",
    "ToolCallCompleted",
    "ToolCallStatus",
    "ToolCallsRequested",
    "ToolEffect",
    "ToolExecutionError",
    "ToolExecutionResult",
    "ToolPolicy",
    "ToolResultLeftOut",
    "TurnCompleted",
    "TurnReplySequence",
    "UnfinishedTurnMessageBuilder",
    "UserMessageBuilder",
    "VirtualClock",
    "build_turn_failure_note",
    "describe_tool_call_outcome",
    "message_sequence_key",
    "plan_execution_key",
]

_MODULES = {
    "AGENT_MESSAGES": "dex_agents.session.schema",
    "AGENT_MESSAGE_CHUNKS": "dex_agents.session.schema",
    "AGENT_MESSAGE_INDEX": "dex_agents.session.schema",
    "AGENT_SESSION_ACTIVE_STEP_SEARCH_MODE": "dex_agents.session.client",
    "AGENT_STATE": "dex_agents.session.schema",
    "AGENT_TOOL_CALLS": "dex_agents.session.schema",
    "AGENT_TRACE_CONTEXT": "dex_agents.session.schema",
    "AGENT_USAGE": "dex_agents.session.schema",
    "ActiveStepSearchMode": "dex_agents.session.flow_values",
    "AgentEvent": "dex_agents.model.events",
    "AgentEventType": "dex_agents.model.events",
    "AgentEventWriter": "dex_agents.runner.event_writer",
    "AgentFrameworkRunner": "dex_agents.runner.contract",
    "AgentInterrupt": "dex_agents.model.interrupts",
    "AgentInterruptResolution": "dex_agents.model.interrupts",
    "AgentMessage": "dex_agents.model.messages",
    "AgentMessageChunk": "dex_agents.model.messages",
    "AgentMessageChunkRange": "dex_agents.model.messages",
    "AgentMessageIndex": "dex_agents.model.messages",
    "AgentMessagesPage": "dex_agents.model.requests",
    "AgentSession": "dex_agents.session.agent_session",
    "AgentSessionClient": "dex_agents.session.client",
    "AgentSessionFlow": "dex_agents.sdk.flow",
    "AgentSessionOptions": "dex_agents.model.options",
    "AgentSessionStartInput": "dex_agents.model.state",
    "AgentSnapshot": "dex_agents.model.requests",
    "AgentState": "dex_agents.model.state",
    "AgentStatus": "dex_agents.model.state",
    "AgentToolCall": "dex_agents.model.tool_calls",
    "AgentTurn": "dex_agents.runner.turn_values",
    "AgentTurnContext": "dex_agents.runner.turn",
    "AgentTurnOutcome": "dex_agents.runner.outcomes",
    "AgentUsage": "dex_agents.model.state",
    "AgentUserMessage": "dex_agents.model.state",
    "CallLimit": "dex_agents.model.options",
    "CancellationReason": "dex_agents.model.tool_calls",
    "DeferredToolCall": "dex_agents.runner.outcomes",
    "DeferredToolExecution": "dex_agents.runner.turn",
    "DeferredToolOutcome": "dex_agents.runner.outcomes",
    "DexAgentsError": "dex_agents.errors",
    "Durability": "dex_agents.engine.store.file",
    "EmbeddedEngine": "dex_agents.engine.embedded.runtime",
    "EngineError": "dex_agents.errors",
    "EngineFileInUseError": "dex_agents.errors",
    "EngineFileVersionError": "dex_agents.errors",
    "EngineStoppedError": "dex_agents.errors",
    "EngineStorageError": "dex_agents.errors",
    "FRAMEWORK_RUN_STATE": "dex_agents.session.schema",
    "FlowInfo": "dex_agents.session.flow_values",
    "FlowStatus": "dex_agents.session.flow_values",
    "FrameworkMessage": "dex_agents.model.messages",
    "INTERRUPT_RESOLUTIONS": "dex_agents.session.schema",
    "InteractionMode": "dex_agents.model.state",
    "InterruptKind": "dex_agents.model.interrupts",
    "InvalidAgentEventResumeTokenError": "dex_agents.errors",
    "ListAgentMessagesRequest": "dex_agents.model.requests",
    "LocalEngine": "dex_agents.engine.local",
    "MessageRole": "dex_agents.model.messages",
    "ModelCallMetadata": "dex_agents.runner.outcomes",
    "NonRetryableError": "dex_agents.errors",
    "PENDING_INTERRUPTS": "dex_agents.session.schema",
    "QUEUED_USER_MESSAGES": "dex_agents.session.schema",
    "QueuedMessage": "dex_agents.model.requests",
    "ResolveInterruptRequest": "dex_agents.model.requests",
    "SearchFlowsPage": "dex_agents.session.flow_values",
    "StepCallError": "dex_agents.errors",
    "StepInvocationClosed": "dex_agents.errors",
    "StoredValueError": "dex_agents.errors",
    "TOOL_CALL_NOT_RUN_ERROR_PREFIX": "dex_agents.session.notes",
    "TOOL_CALL_RESULTS": "dex_agents.session.schema",
    "TURN_REPLY_SEQUENCE": "dex_agents.session.schema",
    "ToolCallCompleted": "dex_agents.model.tool_calls",
    "ToolCallStatus": "dex_agents.model.tool_calls",
    "ToolCallsRequested": "dex_agents.runner.outcomes",
    "ToolEffect": "dex_agents.model.tool_calls",
    "ToolExecutionError": "dex_agents.errors",
    "ToolExecutionResult": "dex_agents.runner.outcomes",
    "ToolPolicy": "dex_agents.model.tool_calls",
    "ToolResultLeftOut": "dex_agents.runner.outcomes",
    "TurnCompleted": "dex_agents.runner.outcomes",
    "TurnReplySequence": "dex_agents.model.messages",
    "UnfinishedTurnMessageBuilder": "dex_agents.runner.builders",
    "UserMessageBuilder": "dex_agents.runner.builders",
    "VirtualClock": "dex_agents.engine.clock",
    "build_turn_failure_note": "dex_agents.session.notes",
    "describe_tool_call_outcome": "dex_agents.session.notes",
    "message_sequence_key": "dex_agents.model.keys",
    "plan_execution_key": "dex_agents.model.keys",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_door(__name__, _MODULES)
