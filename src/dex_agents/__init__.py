# twin: source
"""Durable AI agent sessions: every model call and every tool call is a Step of its own.

Start at `EmbeddedEngine`, `AgentSessionClient` and `dex_agents.stepwise`.
"""

from typing import TYPE_CHECKING

from dex_agents._door import lazy_door

if TYPE_CHECKING:
    from dex_agents.engine.clock import VirtualClock as VirtualClock
    from dex_agents.engine.embedded.runtime import EmbeddedEngine as EmbeddedEngine
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
    from dex_agents.errors import StepInvocationClosed as StepInvocationClosed
    from dex_agents.errors import StoredValueError as StoredValueError
    from dex_agents.errors import ToolExecutionError as ToolExecutionError
    from dex_agents.model.events import AgentEvent as AgentEvent
    from dex_agents.model.events import AgentEventType as AgentEventType
    from dex_agents.model.interrupts import AgentInterrupt as AgentInterrupt
    from dex_agents.model.messages import AgentMessage as AgentMessage
    from dex_agents.model.messages import FrameworkMessage as FrameworkMessage
    from dex_agents.model.messages import MessageRole as MessageRole
    from dex_agents.model.options import AgentSessionOptions as AgentSessionOptions
    from dex_agents.model.options import CallLimit as CallLimit
    from dex_agents.model.requests import AgentMessagesPage as AgentMessagesPage
    from dex_agents.model.requests import AgentSnapshot as AgentSnapshot
    from dex_agents.model.state import AgentSessionStartInput as AgentSessionStartInput
    from dex_agents.model.state import AgentState as AgentState
    from dex_agents.model.state import AgentUsage as AgentUsage
    from dex_agents.model.state import AgentUserMessage as AgentUserMessage
    from dex_agents.model.tool_calls import AgentToolCall as AgentToolCall
    from dex_agents.model.tool_calls import ToolCallStatus as ToolCallStatus
    from dex_agents.model.tool_calls import ToolEffect as ToolEffect
    from dex_agents.model.tool_calls import ToolPolicy as ToolPolicy
    from dex_agents.runner.builders import (
        UnfinishedTurnMessageBuilder as UnfinishedTurnMessageBuilder,
    )
    from dex_agents.runner.contract import AgentFrameworkRunner as AgentFrameworkRunner
    from dex_agents.runner.outcomes import DeferredToolCall as DeferredToolCall
    from dex_agents.runner.outcomes import ModelCallMetadata as ModelCallMetadata
    from dex_agents.runner.outcomes import ToolCallsRequested as ToolCallsRequested
    from dex_agents.runner.outcomes import ToolExecutionResult as ToolExecutionResult
    from dex_agents.runner.outcomes import ToolResultLeftOut as ToolResultLeftOut
    from dex_agents.runner.outcomes import TurnCompleted as TurnCompleted
    from dex_agents.runner.turn import AgentTurnContext as AgentTurnContext
    from dex_agents.runner.turn import DeferredToolExecution as DeferredToolExecution
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

__all__ = [
    "AGENT_SESSION_ACTIVE_STEP_SEARCH_MODE",
    "ActiveStepSearchMode",
    "AgentEvent",
    "AgentEventType",
    "AgentFrameworkRunner",
    "AgentInterrupt",
    "AgentMessage",
    "AgentMessagesPage",
    "AgentSession",
    "AgentSessionClient",
    "AgentSessionFlow",
    "AgentSessionOptions",
    "AgentSessionStartInput",
    "AgentSnapshot",
    "AgentState",
    "AgentToolCall",
    "AgentTurnContext",
    "AgentUsage",
    "AgentUserMessage",
    "CallLimit",
    "DeferredToolCall",
    "DeferredToolExecution",
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
    "InvalidAgentEventResumeTokenError",
    "MessageRole",
    "ModelCallMetadata",
    "NonRetryableError",
    "SearchFlowsPage",
    "StepInvocationClosed",
    "StoredValueError",
    "ToolCallStatus",
    "ToolCallsRequested",
    "ToolEffect",
    "ToolExecutionError",
    "ToolExecutionResult",
    "ToolPolicy",
    "ToolResultLeftOut",
    "TurnCompleted",
    "UnfinishedTurnMessageBuilder",
    "VirtualClock",
]

_MODULES = {
    "AGENT_SESSION_ACTIVE_STEP_SEARCH_MODE": "dex_agents.session.client",
    "ActiveStepSearchMode": "dex_agents.session.flow_values",
    "AgentEvent": "dex_agents.model.events",
    "AgentEventType": "dex_agents.model.events",
    "AgentFrameworkRunner": "dex_agents.runner.contract",
    "AgentInterrupt": "dex_agents.model.interrupts",
    "AgentMessage": "dex_agents.model.messages",
    "AgentMessagesPage": "dex_agents.model.requests",
    "AgentSession": "dex_agents.session.agent_session",
    "AgentSessionClient": "dex_agents.session.client",
    "AgentSessionFlow": "dex_agents.sdk.flow",
    "AgentSessionOptions": "dex_agents.model.options",
    "AgentSessionStartInput": "dex_agents.model.state",
    "AgentSnapshot": "dex_agents.model.requests",
    "AgentState": "dex_agents.model.state",
    "AgentToolCall": "dex_agents.model.tool_calls",
    "AgentTurnContext": "dex_agents.runner.turn",
    "AgentUsage": "dex_agents.model.state",
    "AgentUserMessage": "dex_agents.model.state",
    "CallLimit": "dex_agents.model.options",
    "DeferredToolCall": "dex_agents.runner.outcomes",
    "DeferredToolExecution": "dex_agents.runner.turn",
    "DexAgentsError": "dex_agents.errors",
    "Durability": "dex_agents.engine.store.file",
    "EmbeddedEngine": "dex_agents.engine.embedded.runtime",
    "EngineError": "dex_agents.errors",
    "EngineFileInUseError": "dex_agents.errors",
    "EngineFileVersionError": "dex_agents.errors",
    "EngineStoppedError": "dex_agents.errors",
    "EngineStorageError": "dex_agents.errors",
    "FlowInfo": "dex_agents.session.flow_values",
    "FlowStatus": "dex_agents.session.flow_values",
    "FrameworkMessage": "dex_agents.model.messages",
    "InvalidAgentEventResumeTokenError": "dex_agents.errors",
    "MessageRole": "dex_agents.model.messages",
    "ModelCallMetadata": "dex_agents.runner.outcomes",
    "NonRetryableError": "dex_agents.errors",
    "SearchFlowsPage": "dex_agents.session.flow_values",
    "StepInvocationClosed": "dex_agents.errors",
    "StoredValueError": "dex_agents.errors",
    "ToolCallStatus": "dex_agents.model.tool_calls",
    "ToolCallsRequested": "dex_agents.runner.outcomes",
    "ToolEffect": "dex_agents.model.tool_calls",
    "ToolExecutionError": "dex_agents.errors",
    "ToolExecutionResult": "dex_agents.runner.outcomes",
    "ToolPolicy": "dex_agents.model.tool_calls",
    "ToolResultLeftOut": "dex_agents.runner.outcomes",
    "TurnCompleted": "dex_agents.runner.outcomes",
    "UnfinishedTurnMessageBuilder": "dex_agents.runner.builders",
    "VirtualClock": "dex_agents.engine.clock",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_door(__name__, _MODULES)
