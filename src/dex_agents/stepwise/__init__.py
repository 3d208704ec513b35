# twin: source
"""Stepwise mode: an agent defined by instructions, a model client and function tools."""

from typing import TYPE_CHECKING

from dex_agents._door import lazy_door

if TYPE_CHECKING:
    from dex_agents.stepwise.definition import AgentDefinition as AgentDefinition
    from dex_agents.stepwise.instruction_context import InstructionContext as InstructionContext
    from dex_agents.stepwise.model_client import ModelClient as ModelClient
    from dex_agents.stepwise.model_client import ModelOutputWriter as ModelOutputWriter
    from dex_agents.stepwise.model_types import ModelInputItem as ModelInputItem
    from dex_agents.stepwise.model_types import ModelOutputItem as ModelOutputItem
    from dex_agents.stepwise.model_types import ModelOutputKind as ModelOutputKind
    from dex_agents.stepwise.model_types import ModelRequest as ModelRequest
    from dex_agents.stepwise.model_types import ModelResponse as ModelResponse
    from dex_agents.stepwise.model_types import ModelSettings as ModelSettings
    from dex_agents.stepwise.model_types import ModelTool as ModelTool
    from dex_agents.stepwise.model_types import ToolResultItem as ToolResultItem
    from dex_agents.stepwise.model_types import UserTextItem as UserTextItem
    from dex_agents.stepwise.runner import StepwiseAgentRunner as StepwiseAgentRunner
    from dex_agents.stepwise.scripted import ScriptedModelClient as ScriptedModelClient
    from dex_agents.stepwise.scripted_reply import ScriptedModelReply as ScriptedModelReply
    from dex_agents.stepwise.scripted_reply import ScriptedToolCall as ScriptedToolCall
    from dex_agents.stepwise.session import stepwise_agent_session as stepwise_agent_session
    from dex_agents.stepwise.session import (
        stepwise_agent_session_flow as stepwise_agent_session_flow,
    )
    from dex_agents.stepwise.session import (
        stepwise_agent_session_options as stepwise_agent_session_options,
    )
    from dex_agents.stepwise.token_estimate import estimate_input_tokens as estimate_input_tokens
    from dex_agents.tools.function_tool import FunctionTool as FunctionTool
    from dex_agents.tools.function_tool import ToolCallContext as ToolCallContext
    from dex_agents.tools.function_tool import function_tool as function_tool

__all__ = [
    "AgentDefinition",
    "FunctionTool",
    "InstructionContext",
    "ModelClient",
    "ModelInputItem",
    "ModelOutputItem",
    "ModelOutputKind",
    "ModelOutputWriter",
    "ModelRequest",
    "ModelResponse",
    "ModelSettings",
    "ModelTool",
    "ScriptedModelClient",
    "ScriptedModelReply",
    "ScriptedToolCall",
    "StepwiseAgentRunner",
    "ToolCallContext",
    "ToolResultItem",
    "UserTextItem",
    "estimate_input_tokens",
    "function_tool",
    "stepwise_agent_session",
    "stepwise_agent_session_flow",
    "stepwise_agent_session_options",
]

_MODULES = {
    "AgentDefinition": "dex_agents.stepwise.definition",
    "FunctionTool": "dex_agents.tools.function_tool",
    "InstructionContext": "dex_agents.stepwise.instruction_context",
    "ModelClient": "dex_agents.stepwise.model_client",
    "ModelInputItem": "dex_agents.stepwise.model_types",
    "ModelOutputItem": "dex_agents.stepwise.model_types",
    "ModelOutputKind": "dex_agents.stepwise.model_types",
    "ModelOutputWriter": "dex_agents.stepwise.model_client",
    "ModelRequest": "dex_agents.stepwise.model_types",
    "ModelResponse": "dex_agents.stepwise.model_types",
    "ModelSettings": "dex_agents.stepwise.model_types",
    "ModelTool": "dex_agents.stepwise.model_types",
    "ScriptedModelClient": "dex_agents.stepwise.scripted",
    "ScriptedModelReply": "dex_agents.stepwise.scripted_reply",
    "ScriptedToolCall": "dex_agents.stepwise.scripted_reply",
    "StepwiseAgentRunner": "dex_agents.stepwise.runner",
    "ToolCallContext": "dex_agents.tools.function_tool",
    "ToolResultItem": "dex_agents.stepwise.model_types",
    "UserTextItem": "dex_agents.stepwise.model_types",
    "estimate_input_tokens": "dex_agents.stepwise.token_estimate",
    "function_tool": "dex_agents.tools.function_tool",
    "stepwise_agent_session": "dex_agents.stepwise.session",
    "stepwise_agent_session_flow": "dex_agents.stepwise.session",
    "stepwise_agent_session_options": "dex_agents.stepwise.session",
}

__getattr__, __dir__ = lazy_door(__name__, _MODULES)
