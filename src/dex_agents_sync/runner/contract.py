# twin: generated from src/dex_agents/runner/contract.py by tools/twin; do not edit.
"""The contract that a framework adapter implements."""

from typing import Protocol

from dex_agents.runner.builders import UserMessageBuilder
from dex_agents.runner.outcomes import AgentTurnOutcome, DeferredOutcomeT
from dex_agents_sync.runner.turn import AgentTurnContext, DeferredToolExecution


class AgentFrameworkRunner(UserMessageBuilder, Protocol[DeferredOutcomeT]):
    """Talk to one framework.

    Every call may run again after a crash or an error, so a runner keeps nothing between calls and
    derives everything from its arguments. Calls of one session, and of many, run in parallel. A
    runner that stores messages while their turn still runs also implements
    `UnfinishedTurnMessageBuilder`.
    """

    def run_model_step(self, turn: AgentTurnContext) -> AgentTurnOutcome:
        """Make one model call and return its answer or the tool calls that it asks for.

        Without `turn.framework_run_state`, the input is rebuilt from each message's
        `framework_item`; with it, the framework continues, and every tool call gets the result in
        its record instead of running. Raise `NonRetryableError` when another attempt cannot help;
        any other exception fails this attempt.
        """
        ...

    def execute_deferred_tool_call(self, call: DeferredToolExecution) -> DeferredOutcomeT:
        """Run one tool call and return its result.

        Raise `ToolExecutionError` for a failure that the model should see, also for a tool that
        does not exist any more. Any other exception is a failure of the attempt, after which the
        call's effect decides whether it runs again.
        """
        ...
