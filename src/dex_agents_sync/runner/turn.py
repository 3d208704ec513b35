# twin: generated from src/dex_agents/runner/turn.py by tools/twin; do not edit.
"""What a runner's calls are given: a turn to call the model for, a tool call to run."""

from dataclasses import dataclass, field

from dex_agents.model.tool_calls import AgentToolCall
from dex_agents.runner.event_writer import AgentEventWriter
from dex_agents.runner.turn_values import AgentTurn
from dex_agents_sync.session.emitter import StepEmitter


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTurnContext(AgentTurn):
    """A turn that needs one model call: its committed state, and how to report meanwhile.

    Attributes:
        events: Writes live events of this call.
    """

    events: AgentEventWriter
    _emitter: StepEmitter = field(repr=False)

    def heartbeat(self) -> None:
        """Record a sign of life; the session also does so every 20 seconds by itself.

        Raises:
            StepInvocationClosed: The Step has ended.
        """
        self._emitter.heartbeat()

    def is_cancelled(self) -> bool:
        """Tell whether the engine has given up on this call; whatever it returns is dropped."""
        return self._emitter.is_cancelled()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferredToolExecution:
    """One tool call to run, once.

    Attributes:
        flow_id: The session ID.
        tool_call: The call's record; its arguments are as the model wrote them.
        idempotency_key: `<flow_id>/<turn_id>/<tool_call_id>`, the same on every attempt.
        attempt: The attempt of this Step, from 1.
        events: Writes live events of this call.
        heartbeat_checkpoint: What an earlier attempt saved last, if anything.
    """

    flow_id: str
    tool_call: AgentToolCall
    idempotency_key: str
    attempt: int
    events: AgentEventWriter
    heartbeat_checkpoint: str | None
    _emitter: StepEmitter = field(repr=False)

    def heartbeat(self) -> None:
        """Record a sign of life; the session also does so every 20 seconds by itself.

        Raises:
            StepInvocationClosed: The Step has ended.
        """
        self._emitter.heartbeat()

    def save_heartbeat_checkpoint(self, checkpoint: str) -> None:
        """Record a sign of life with text that a later attempt reads as `heartbeat_checkpoint`.

        Raises:
            StepInvocationClosed: The Step has ended.
        """
        self._emitter.save_checkpoint(checkpoint)

    def is_cancelled(self) -> bool:
        """Tell whether the engine has given up on this call; whatever it returns is dropped."""
        return self._emitter.is_cancelled()
