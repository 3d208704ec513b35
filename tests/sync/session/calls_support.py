# twin: generated from tests/aio/session/calls_support.py by tools/twin; do not edit.
"""A runner, an emitter and a client that record what is asked of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from dex_agents.errors import StepInvocationClosed
from dex_agents.model.messages import FrameworkMessage, MessageRole
from dex_agents.runner.outcomes import AgentTurnOutcome, DeferredToolOutcome, TurnCompleted
from dex_agents_sync.runner.turn import AgentTurnContext, DeferredToolExecution
from dex_agents_sync.session.agent_session import AgentSession
from dex_agents.session.definition import PreparedCall
from dex_agents.session.recording_io import RecordingStepIO

NOW = datetime(2026, 12, 1, 12, 0, 0, tzinfo=UTC)


@dataclass
class RecordingEmitter:
    """Keep what a call said, in order."""

    said: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    is_closed: bool = False

    def write(self, event: str) -> None:
        self.said.append(("event", event))

    def heartbeat(self) -> None:
        if self.is_closed:
            raise StepInvocationClosed("ended")
        self.said.append(("heartbeat", ""))

    def save_checkpoint(self, checkpoint: str) -> None:
        self.said.append(("checkpoint", checkpoint))

    def is_cancelled(self) -> bool:
        return self.is_closed


@dataclass
class ScriptedRunner:
    """Answer with the given value, or raise it."""

    answer: Any = None
    turns: list[AgentTurnContext] = field(default_factory=list[AgentTurnContext])
    executions: list[DeferredToolExecution] = field(default_factory=list[DeferredToolExecution])

    def build_user_message(self, text: str) -> FrameworkMessage:
        return FrameworkMessage(role=MessageRole.USER, framework_item=text, text=text)

    def run_model_step(self, turn: AgentTurnContext) -> AgentTurnOutcome:
        self.turns.append(turn)
        turn.events.write_text_delta("Hel")
        turn.events.write_text_delta("")
        turn.events.write_reasoning_delta("hm")
        turn.heartbeat()
        answer: AgentTurnOutcome = self._answer(TurnCompleted())
        return answer

    def execute_deferred_tool_call(self, call: DeferredToolExecution) -> DeferredToolOutcome:
        self.executions.append(call)
        call.save_heartbeat_checkpoint("job-1")
        answer: DeferredToolOutcome = self._answer(None)
        return answer

    def _answer(self, default: Any) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return default if self.answer is None else self.answer


def prepared(
    session: AgentSession,
    step: str,
    step_input: str | None,
    attributes: Mapping[str, str],
    maps: Mapping[str, Mapping[str, str]],
) -> PreparedCall:
    definition = session.steps[step]
    io = RecordingStepIO(
        flow_id="s-1",
        now=NOW,
        step_execution_id=f"{step}-1",
        attributes=attributes,
        maps=maps,
        loaded_maps=tuple(definition.execute_loads(step_input)),
        heartbeat_checkpoint="job-0",
    )
    call = definition.execute(session, io, step_input)
    assert isinstance(call, PreparedCall)
    return call
