# twin: generated from src/dex_agents/stepwise/session.py by tools/twin; do not edit.
"""From the definition of an agent to its durable sessions."""

from typing import TYPE_CHECKING

from dex_agents.model.options import AgentSessionOptions
from dex_agents_sync.session.agent_session import AgentSession
from dex_agents_sync.spend.limit import ModelSpendLimit
from dex_agents_sync.stepwise.definition import AgentDefinition
from dex_agents_sync.stepwise.runner import StepwiseAgentRunner

if TYPE_CHECKING:
    from dex_agents_sync.sdk.flow import AgentSessionFlow


def stepwise_agent_session_options(definition: AgentDefinition) -> AgentSessionOptions:
    """Return the session options that follow from an agent's definition.

    To change one that the definition has no field for, use `dataclasses.replace` on them.
    """
    return AgentSessionOptions(
        tool_policies=definition.policies_by_tool,
        default_tool_effect=definition.default_tool_effect,
        event_stream_capacity_bytes=definition.event_stream_capacity_bytes,
        interrupt_deadline=definition.interrupt_deadline,
    )


def stepwise_agent_session(
    definition: AgentDefinition,
    *,
    flow_type: str,
    options: AgentSessionOptions | None = None,
    spend_limit: ModelSpendLimit | None = None,
) -> AgentSession:
    """Return the sessions of an agent, for the engine inside this process.

    Args:
        definition: The agent.
        flow_type: The durable name of this agent, unique in an engine.
        options: How the sessions treat tools, people and time, instead of what
            `stepwise_agent_session_options` returns.
        spend_limit: What is asked before each model call; `None` makes no checks.

    Raises:
        TypeError: The definition, the options or the spend limit have the wrong type.
        ValueError: The Flow type cannot be stored.
    """
    runner = StepwiseAgentRunner(definition)
    if options is None:
        options = stepwise_agent_session_options(definition)
    return AgentSession(runner, flow_type=flow_type, options=options, spend_limit=spend_limit)


def stepwise_agent_session_flow(
    definition: AgentDefinition,
    *,
    flow_type: str,
    options: AgentSessionOptions | None = None,
    spend_limit: ModelSpendLimit | None = None,
) -> "AgentSessionFlow":
    """Return the Flow that serves the sessions of an agent through the `dex` SDK.

    The arguments are those of `stepwise_agent_session`.

    Raises:
        TypeError: The definition, the options or the spend limit have the wrong type.
        ValueError: The Flow type cannot be stored.
    """
    # The SDK takes time to load, and an engine inside the process does without it.
    from dex_agents_sync.sdk.flow import AgentSessionFlow

    return AgentSessionFlow.of(
        stepwise_agent_session(
            definition, flow_type=flow_type, options=options, spend_limit=spend_limit
        )
    )
