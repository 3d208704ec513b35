# twin: shared
"""The committed state of a turn, as a runner sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dex_agents.model.messages import AgentMessage
from dex_agents.model.options import AgentSessionOptions
from dex_agents.model.tool_calls import AgentToolCall, ToolEffect, ToolPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTurn:
    """The committed state of a turn.

    Attributes:
        flow_id: The session ID.
        turn_id: `turn-<n>`.
        attempt: The attempt of this Step, from 1.
        messages: Every stored message, oldest first; the last user message is this turn's.
        framework_run_state: What this turn's last `ToolCallsRequested` carried; `None` for the
            turn's first model call.
        tool_calls: This turn's records by tool call ID, in the model's order. All of them are
            final when a model call runs.
        options: The session's options.
    """

    flow_id: str
    turn_id: str
    attempt: int
    messages: Sequence[AgentMessage]
    framework_run_state: str | None
    tool_calls: Mapping[str, AgentToolCall]
    options: AgentSessionOptions

    @property
    def is_resuming(self) -> bool:
        """Tell whether the turn goes on after tool calls."""
        return self.framework_run_state is not None

    def recorded_tool_call(self, tool_call_id: str) -> AgentToolCall | None:
        """Return the record of one of this turn's calls, or `None` when it has no such call."""
        return self.tool_calls.get(tool_call_id)

    def resolve_tool_policy(
        self, tool_name: str, framework_effect: ToolEffect | None = None
    ) -> ToolPolicy:
        """Return a tool's policy: the option, else the framework's word, else the default."""
        return self.options.resolve_tool_policy(tool_name, framework_effect)
