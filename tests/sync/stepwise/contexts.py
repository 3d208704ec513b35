# twin: generated from tests/aio/stepwise/contexts.py by tools/twin; do not edit.
"""Build by hand what a session gives to a runner, and agents to give it to."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dex_agents.model.events import EventSource
from dex_agents.model.messages import AgentMessage
from dex_agents.model.options import AgentSessionOptions
from dex_agents.model.tool_calls import AgentToolCall
from dex_agents.runner.event_writer import AgentEventWriter
from dex_agents_sync.runner.turn import AgentTurnContext, DeferredToolExecution
from dex_agents_sync.stepwise.definition import AgentDefinition
from dex_agents.stepwise.model_types import ModelRequest
from dex_agents_sync.stepwise.runner import StepwiseAgentRunner
from dex_agents_sync.stepwise.scripted import ScriptedModelClient
from dex_agents.stepwise.scripted_reply import ScriptedModelReply
from dex_agents.stepwise.stored_items import user_text_message
from dex_agents_sync.testing.recorder import RecordingEmitter
from tests.shared.stepwise.histories import stored

SESSION = "session-1"


def turn_context(
    messages: Sequence[AgentMessage] | None = None,
    *,
    run_state: str | None = None,
    records: Iterable[AgentToolCall] = (),
    turn_id: str = "turn-1",
    options: AgentSessionOptions | None = None,
    emitter: RecordingEmitter | None = None,
) -> AgentTurnContext:
    """Return a turn that needs a model call; by default one that has just begun with "hello"."""
    emitter = emitter or RecordingEmitter()
    return AgentTurnContext(
        flow_id=SESSION,
        turn_id=turn_id,
        attempt=1,
        messages=stored([user_text_message("hello")]) if messages is None else messages,
        framework_run_state=run_state,
        tool_calls={record.tool_call_id: record for record in records},
        options=options or AgentSessionOptions(),
        events=AgentEventWriter(EventSource(turn_id, "RunModel-1", 1), emitter.write),
        _emitter=emitter,
    )


def tool_execution(
    record: AgentToolCall,
    *,
    attempt: int = 1,
    checkpoint: str | None = None,
    emitter: RecordingEmitter | None = None,
) -> DeferredToolExecution:
    """Return the execution of a tool call."""
    emitter = emitter or RecordingEmitter()
    source = EventSource(record.turn_id, "CallTool-1", attempt)
    return DeferredToolExecution(
        flow_id=SESSION,
        tool_call=record,
        idempotency_key=f"{SESSION}/{record.turn_id}/{record.tool_call_id}",
        attempt=attempt,
        events=AgentEventWriter(source, emitter.write),
        heartbeat_checkpoint=checkpoint,
        _emitter=emitter,
    )


def model_of(
    *replies: ScriptedModelReply | Callable[[ModelRequest], ScriptedModelReply],
) -> ScriptedModelClient:
    """Return a model that gives these replies one after the other, and the last one for good."""
    left = list(replies)

    def respond(request: ModelRequest) -> ScriptedModelReply:
        reply = left.pop(0) if len(left) > 1 else left[0]
        return reply if isinstance(reply, ScriptedModelReply) else reply(request)

    return ScriptedModelClient(respond)


def agent(model: object = None, **fields: Any) -> AgentDefinition:
    """Return an agent's definition; by default its model says "hi"."""
    chosen: Any = model or model_of(ScriptedModelReply(text="hi"))
    return AgentDefinition(**{"name": "tester", "instructions": "Test.", "model": chosen, **fields})


def runner_of(model: object = None, **fields: Any) -> StepwiseAgentRunner:
    """Return the runner of such an agent."""
    return StepwiseAgentRunner(agent(model, **fields))
