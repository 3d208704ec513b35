# twin: shared
"""Drive one Step or RPC of a session at a time on plain mappings, and read what it wrote."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from dex_agents.model.events import AgentEvent
from dex_agents.model.messages import FrameworkMessage, MessageRole
from dex_agents.model.options import AgentSessionOptions
from dex_agents.model.state import AgentState, AgentStatus
from dex_agents.model.tool_calls import AgentToolCall, ToolCallStatus, ToolEffect
from dex_agents.model.wire import WireValue
from dex_agents.runner.builders import UserMessageBuilder
from dex_agents.runner.turn_values import AgentTurn
from dex_agents.session.definition import CallOutcome, PreparedCall, SessionDefinition
from dex_agents.session.persistence import Attribute, AttributeMap
from dex_agents.session.ports import (
    DEAD_END,
    MapLoad,
    Movement,
    PendingMessage,
    RecoveryError,
    RpcResult,
    StepPlan,
    Wait,
)
from dex_agents.session.recording_io import ChannelKey, RecordedWrites, RecordingStepIO
from dex_agents.session.rpcs import RPCS
from dex_agents.session.schema import (
    AGENT_MESSAGES,
    AGENT_STATE,
    AGENT_TOOL_CALLS,
)
from dex_agents.session.step_names import START_AGENT_SESSION
from dex_agents.session.steps import build_steps

NOW = datetime(2026, 12, 1, 12, 0, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class PlainRunner:
    """Stores nothing before its turn ends."""

    def build_user_message(self, text: str) -> FrameworkMessage:
        return message(text, MessageRole.USER)


class StoringRunner(PlainRunner):
    """Stores messages as they appear."""

    def build_unfinished_turn_messages(self, turn: AgentTurn) -> Sequence[FrameworkMessage]:
        return [message(f"result of {call_id}", MessageRole.TOOL) for call_id in turn.tool_calls]


def message(text: str, role: MessageRole = MessageRole.ASSISTANT) -> FrameworkMessage:
    return FrameworkMessage(role=role, framework_item=json.dumps({"text": text}), text=text)


def session_of(
    runner: UserMessageBuilder | None = None, options: AgentSessionOptions | None = None
) -> SessionDefinition:
    runner = runner or PlainRunner()
    options = options or AgentSessionOptions()
    return SessionDefinition(
        flow_type="Support",
        runner=runner,
        options=options,
        steps=build_steps(options, runner),
        rpcs=RPCS,
        start_step=START_AGENT_SESSION,
    )


def running_state(**changes: Any) -> AgentState:
    values = {"status": AgentStatus.RUNNING_MODEL, "active_turn_id": "turn-1", "turn_number": 1}
    return AgentState(**{**values, **changes})


def tool_call(call_id: str = "call-1", **changes: Any) -> AgentToolCall:
    values: dict[str, Any] = {
        "tool_call_id": call_id,
        "turn_id": "turn-1",
        "tool_name": "lookup",
        "arguments": '{"id":7}',
        "effect": ToolEffect.READ,
        "requires_approval": False,
        "status": ToolCallStatus.APPROVED,
        "deferral_order": 0,
    }
    return AgentToolCall(**{**values, **changes})


@dataclass
class Ran:
    """What one Step came to."""

    plan: StepPlan
    writes: RecordedWrites
    prepared: PreparedCall | None = None

    @property
    def movements(self) -> tuple[Movement, ...]:
        return self.plan.decision.movements

    @property
    def next_steps(self) -> list[tuple[str, str | None]]:
        return [(movement.step, movement.input) for movement in self.movements]

    @property
    def events(self) -> list[tuple[str, dict[str, Any]]]:
        events = [AgentEvent.from_text(text) for text in self.plan.events]
        return [(event.type, json.loads(event.payload)) for event in events]

    @property
    def published(self) -> list[tuple[str, str | None, Any]]:
        return [(name, key, json.loads(text)) for name, key, text in self.writes.published]


@dataclass
class Flow:
    """The stored state of one session, and one call of it at a time."""

    session: SessionDefinition = field(default_factory=session_of)
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    maps: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    pending: dict[ChannelKey, list[PendingMessage]] = field(
        default_factory=dict[ChannelKey, list[PendingMessage]]
    )
    now: datetime = NOW
    flow_id: str = "s-1"

    def put(self, attribute: Attribute[Any], value: object) -> "Flow":
        self.attributes[attribute.name] = attribute.codec.encode(value)
        return self

    def put_item(self, attribute_map: AttributeMap[Any], key: str, value: WireValue) -> "Flow":
        self.maps.setdefault(attribute_map.name, {})[key] = value.to_text()
        return self

    def put_calls(self, *records: AgentToolCall) -> "Flow":
        for record in records:
            self.put_item(AGENT_TOOL_CALLS, record.tool_call_id, record)
        return self

    def read(self, attribute: Attribute[Any]) -> Any:
        text = self.attributes.get(attribute.name)
        return None if text is None else attribute.codec.decode(text)

    def items(self, attribute_map: AttributeMap[Any]) -> dict[str, Any]:
        stored = self.maps.get(attribute_map.name, {})
        return {key: attribute_map.codec.decode(text) for key, text in stored.items()}

    @property
    def state(self) -> AgentState:
        state = self.read(AGENT_STATE)
        assert isinstance(state, AgentState)
        return state

    @property
    def message_texts(self) -> list[tuple[str, str]]:
        messages = self.items(AGENT_MESSAGES)
        return [(messages[key].role.value, messages[key].text) for key in sorted(messages)]

    def call(self, call_id: str = "call-1") -> AgentToolCall:
        record = self.items(AGENT_TOOL_CALLS)[call_id]
        assert isinstance(record, AgentToolCall)
        return record

    def io(
        self,
        step: str,
        loads: Sequence[MapLoad],
        *,
        results: Mapping[ChannelKey, Sequence[WireValue]] | None = None,
        timers: Sequence[int] = (),
        attempt: int = 1,
        recovery: RecoveryError | None = None,
        checkpoint: str | None = None,
        pending: Mapping[ChannelKey, Sequence[PendingMessage]] | None = None,
    ) -> RecordingStepIO:
        texts = {key: [v.to_text() for v in values] for key, values in (results or {}).items()}
        return RecordingStepIO(
            flow_id=self.flow_id,
            run_id="run-1",
            step_execution_id=f"{step}-1",
            attempt=attempt,
            now=self.now,
            attributes=self.attributes,
            maps=self.maps,
            loaded_maps=loads,
            wait_results=texts,
            fired_timers=timers,
            recovery_error=recovery,
            heartbeat_checkpoint=checkpoint,
            pending=pending,
        )

    def wait(self, step: str, step_input: str | None = None) -> Wait:
        """Run a Step's `wait_for`, which must write nothing."""
        definition = self.session.steps[step]
        assert definition.wait_for is not None
        io = self.io(step, tuple(definition.wait_for_loads(step_input)))
        wait = definition.wait_for(self.session, io, step_input)
        assert io.writes.is_empty
        return wait

    def prepare(
        self, step: str, step_input: str | None = None, **seen: Any
    ) -> StepPlan | PreparedCall:
        """Run a Step's `execute` and store nothing."""
        definition = self.session.steps[step]
        io = self.io(step, tuple(definition.execute_loads(step_input)), **seen)
        return definition.execute(self.session, io, step_input)

    def run(
        self,
        step: str,
        step_input: str | None = None,
        *,
        outcome: CallOutcome | None = None,
        **seen: Any,
    ) -> Ran:
        """Run a Step and store what it wrote; with an outcome, its call came to that."""
        definition = self.session.steps[step]
        io = self.io(step, tuple(definition.execute_loads(step_input)), **seen)
        plan = definition.execute(self.session, io, step_input)
        prepared = None
        if isinstance(plan, PreparedCall):
            assert io.writes.is_empty, "nothing is written before the call"
            assert outcome is not None and definition.settle is not None
            prepared = plan
            plan = definition.settle(self.session, io, step_input, prepared, outcome)
        self.store(io.writes)
        return Ran(plan, io.writes, prepared)

    def rpc(self, name: str, request: WireValue | None = None) -> tuple[Any, Ran]:
        """Run an RPC, store what it wrote and return its answer as JSON."""
        definition = self.session.rpcs[name]
        pending: dict[ChannelKey, Sequence[PendingMessage]] = {
            (channel, None): self.pending.get((channel, None), ())
            for channel in definition.load_channels
        }
        io = self.io("", (*definition.loads, *definition.free_loads), pending=pending)
        result: RpcResult = definition.handler(
            self.session, io, None if request is None else request.to_text()
        )
        assert result.decision is None
        self.store(io.writes)
        return json.loads(result.output), Ran(StepPlan(DEAD_END, result.events), io.writes)

    def store(self, writes: RecordedWrites) -> None:
        for name, text in writes.attributes.items():
            _write(self.attributes, name, text)
        for (name, key), text in writes.items.items():
            _write(self.maps.setdefault(name, {}), key, text)


def _write(stored: dict[str, str], key: str, text: str | None) -> None:
    if text is None:
        stored.pop(key, None)
    else:
        stored[key] = text
