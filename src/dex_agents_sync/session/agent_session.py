# twin: generated from src/dex_agents/session/agent_session.py by tools/twin; do not edit.
"""The session of one agent: its Step table, and the calls of its runner."""

from dex_agents_sync._seam.callables import require_colour, require_plain
from dex_agents.model.keys import check_durable_name
from dex_agents.model.options import AgentSessionOptions
from dex_agents.runner.builders import unfinished_turn_builder
from dex_agents_sync.runner.contract import AgentFrameworkRunner
from dex_agents.runner.estimates import model_call_estimator
from dex_agents.runner.outcomes import DeferredToolOutcome
from dex_agents.session.call_values import ModelCall, ToolCall
from dex_agents_sync.session.calls import perform_model_call, perform_tool_call
from dex_agents.session.definition import CallOutcome, PreparedCall, SessionDefinition
from dex_agents_sync.session.emitter import StepEmitter
from dex_agents.session.rpcs import RPCS
from dex_agents.session.step_names import START_AGENT_SESSION
from dex_agents.session.steps import build_steps
from dex_agents_sync.spend.limit import ModelSpendLimit


class AgentSession(SessionDefinition):
    """One agent as durable sessions; every engine runs the same one."""

    __slots__ = ("_calls", "_spend_limit")

    _calls: AgentFrameworkRunner[DeferredToolOutcome]
    _spend_limit: ModelSpendLimit | None

    def __init__(
        self,
        runner: AgentFrameworkRunner[DeferredToolOutcome],
        *,
        flow_type: str,
        options: AgentSessionOptions | None = None,
        spend_limit: ModelSpendLimit | None = None,
    ) -> None:
        """Define the session.

        Args:
            runner: Talks to the framework and runs the tools.
            flow_type: The durable name of this agent, unique in an engine. Without `/`, `$`, `:`.
            options: How the session treats tools, people and time.
            spend_limit: What is asked before each model call; `None` makes no checks.

        Raises:
            TypeError: The runner or the limit lacks a method, or is made for the other package.
            ValueError: The Flow type cannot be stored.
        """
        require_colour(runner, ("run_model_step", "execute_deferred_tool_call"), "agent runner")
        require_plain(runner, ("build_user_message",), "agent runner")
        if unfinished_turn_builder(runner) is not None:
            require_plain(runner, ("build_unfinished_turn_messages",), "agent runner")
        if model_call_estimator(runner) is not None:
            require_plain(runner, ("estimate_model_call",), "agent runner")
        if spend_limit is not None:
            require_colour(spend_limit, ("reserve_model_call", "report_model_call"), "spend limit")
        checked = _checked_options(options)
        super().__init__(
            flow_type=check_durable_name(flow_type, "flow_type"),
            runner=runner,
            options=checked,
            steps=build_steps(checked, runner),
            rpcs=RPCS,
            start_step=START_AGENT_SESSION,
        )
        object.__setattr__(self, "_calls", runner)
        object.__setattr__(self, "_spend_limit", spend_limit)

    def perform_call(self, prepared: PreparedCall, emitter: StepEmitter) -> CallOutcome:
        """Perform what a Step asked for; each mount calls it between `execute` and `settle`.

        Raises:
            StepCallError: The call failed in a way that another attempt may cure.
            StepInvocationClosed: The Step has ended.
        """
        if isinstance(prepared, ModelCall):
            return perform_model_call(
                self._calls,
                prepared,
                emitter,
                flow_type=self.flow_type,
                spend_limit=self._spend_limit,
            )
        if isinstance(prepared, ToolCall):
            return perform_tool_call(self._calls, prepared, emitter)
        raise TypeError(f"a session cannot perform a {type(prepared).__name__}")


def _checked_options(options: object) -> AgentSessionOptions:
    if options is None:
        return AgentSessionOptions()
    if not isinstance(options, AgentSessionOptions):
        raise TypeError(f"options must be AgentSessionOptions, not {type(options).__name__}")
    return options
