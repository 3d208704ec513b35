# twin: shared
"""What the tests of the SDK mount share: scripts for a runner, and an engine's requests.

A test drives one method at a time through the SDK's own dispatchers. `StoredFlow` keeps what an
engine would keep of one Flow between the methods: Attributes and Channels, which it fills from the
results and hands out again as the movements ask for them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from dex._grpc_errors import _worker_error_status
from dex.dexpb import dex_pb2 as pb

from dex_agents.model.messages import FrameworkMessage, MessageRole
from dex_agents.model.options import AgentSessionOptions, CallLimit
from dex_agents.model.tool_calls import ToolEffect, ToolPolicy
from dex_agents.runner.outcomes import DeferredToolCall, ToolCallsRequested, TurnCompleted

FLOW_TYPE = "Support"
FLOW_ID = "session-1"
NOW = datetime(2026, 12, 1, 12, 0, 0, tzinfo=UTC)
NULL = pb.Value(null_value=0)  # type: ignore[arg-type]  # its only member

READ = ToolPolicy(ToolEffect.READ)
REFUND = ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE, requires_approval=True)
OPTIONS = AgentSessionOptions(tool_policies={"lookup": READ, "refund": REFUND})
# A heartbeat every 10 ms: three fit into the timeout. Nothing here enforces the timeout itself.
FAST_BEATS = AgentSessionOptions(
    tool_policies=OPTIONS.tool_policies,
    tool_call_limit=CallLimit(heartbeat_timeout=timedelta(milliseconds=30)),
)


# -- scripts -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Say:
    """Write a piece of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Beat:
    """Send a heartbeat and wait until the SDK has it."""


@dataclass(frozen=True, slots=True)
class Save:
    """Save a checkpoint and wait until the SDK has it."""

    checkpoint: str


@dataclass(frozen=True, slots=True)
class Silence:
    """Say nothing until the test opens the runner's gate."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Raise."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Answer:
    """Return."""

    value: Any


Action: TypeAlias = Say | Beat | Save | Silence | Fail | Answer


def message(text: str, role: MessageRole = MessageRole.ASSISTANT) -> FrameworkMessage:
    """Return a message that a framework could replay."""
    return FrameworkMessage(role=role, framework_item=json.dumps({"text": text}), text=text)


def final_answer(text: str) -> Answer:
    """End the turn with a message."""
    return Answer(TurnCompleted(new_messages=(message(text),)))


def asks_for(*calls: tuple[str, str, ToolPolicy]) -> Answer:
    """Ask for tool calls: ID, tool and policy of each."""
    deferred = [DeferredToolCall(call_id, tool, "{}", policy) for call_id, tool, policy in calls]
    return Answer(ToolCallsRequested(framework_run_state="{}", tool_calls=deferred))


# -- requests ----------------------------------------------------------------------------------


@dataclass(slots=True)
class StoredFlow:
    """What an engine keeps of one Flow."""

    attributes: dict[str, pb.Value] = field(default_factory=dict[str, pb.Value])
    channels: dict[str, list[pb.ChannelMessage]] = field(
        default_factory=dict[str, list[pb.ChannelMessage]]
    )

    def apply(
        self,
        response: pb.InvokeExecuteMethodResponse
        | pb.InvokeWaitForMethodResponse
        | pb.InvokeWorkerRPCResponse,
    ) -> None:
        """Commit a result."""
        for write in response.upsert_attributes:
            if write.value.WhichOneof("kind") == "null_value":
                self.attributes.pop(write.key, None)
            else:
                self.attributes[write.key] = write.value
        for published in response.publish_to_channel:
            waiting = self.channels.setdefault(published.channel_name, [])
            number = len(waiting) + 1
            waiting.append(
                pb.ChannelMessage(
                    channel_name=published.channel_name,
                    value=published.value,
                    message_id=f"message-{number}",
                )
            )

    def stored(self, name: str) -> Any:
        """Return the JSON value of an Attribute or map instance."""
        return json.loads(self.attributes[name].string_value)

    def execute_request(
        self,
        movement: pb.StepMovement,
        *,
        attempt: int = 1,
        checkpoint: str | None = None,
        results: pb.ConditionResults | None = None,
    ) -> pb.InvokeExecuteMethodRequest:
        """Return the request for a movement's `execute`."""
        loads = list(movement.step_options.execute_load_attribute_map_instances)
        request = pb.InvokeExecuteMethodRequest(
            context=_context(movement.step_type, attempt, checkpoint),
            flow_type=FLOW_TYPE,
            step_type=movement.step_type,
            step_input=movement.step_input,
            attributes=self._selected(loads),
            loaded_attribute_map_instances=loads,
            channel_infos=self._channel_infos(),
        )
        if results is not None:
            request.condition_results.CopyFrom(results)
        return request

    def wait_for_request(self, movement: pb.StepMovement) -> pb.InvokeWaitForMethodRequest:
        """Return the request for a movement's `wait_for`."""
        loads = list(movement.step_options.wait_for_load_attribute_map_instances)
        return pb.InvokeWaitForMethodRequest(
            context=_context(movement.step_type, 1, None),
            flow_type=FLOW_TYPE,
            step_type=movement.step_type,
            step_input=movement.step_input,
            attributes=self._selected(loads),
            loaded_attribute_map_instances=loads,
            channel_infos=self._channel_infos(),
        )

    def rpc_request(
        self, name: str, rpc_input: str | None, loads: Sequence[str], channels: Sequence[str]
    ) -> pb.InvokeWorkerRPCRequest:
        """Return the request for an RPC that loads these."""
        return pb.InvokeWorkerRPCRequest(
            context=pb.Context(flow_id=FLOW_ID, run_id="run-1"),
            flow_type=FLOW_TYPE,
            rpc_name=name,
            input=text_value(rpc_input),
            attributes=self._selected(loads),
            loaded_attribute_map_instances=loads,
            loaded_channel_names=channels,
            loaded_channel_messages={
                channel: pb.ChannelValues(messages=self.channels.get(channel, ()))
                for channel in channels
            },
            channel_infos=self._channel_infos(),
        )

    def _selected(self, loads: Sequence[str]) -> list[pb.KV]:
        wanted = set(loads)
        return [
            pb.KV(key=name, value=value)
            for name, value in sorted(self.attributes.items())
            if "/" not in name or name in wanted or f"{name.partition('/')[0]}/" in wanted
        ]

    def _channel_infos(self) -> Mapping[str, pb.ChannelInfo]:
        return {name: pb.ChannelInfo(size=len(some)) for name, some in self.channels.items()}


def text_value(text: str | None) -> pb.Value:
    """Return text as a stored value."""
    return NULL if text is None else pb.Value(string_value=text)


def channel_result(name: str, *texts: str) -> pb.ConditionResults:
    """Return the results of a wait that one Channel won."""
    result = pb.ChannelResult(
        condition_status=pb.CONDITION_STATUS_COMPLETED,
        channel_name=name,
        values=[text_value(text) for text in texts],
    )
    return pb.ConditionResults(channel_results=[result])


def _context(step_type: str, attempt: int, checkpoint: str | None) -> pb.Context:
    context = pb.Context(
        flow_id=FLOW_ID,
        run_id="run-1",
        step_execution_id=f"{step_type}-1",
        attempt=attempt,
        first_attempt_timestamp=int(NOW.timestamp()) - 60,
    )
    if checkpoint is not None:
        context.last_heartbeat_value.CopyFrom(text_value(checkpoint))
    return context


# -- answers -----------------------------------------------------------------------------------


def result_of(
    outputs: Sequence[pb.InvokeExecuteMethodOutput],
) -> pb.InvokeExecuteMethodResponse:
    """Return the result, which comes last and once."""
    assert [one.WhichOneof("output") for one in outputs].count("result") == 1
    assert outputs[-1].HasField("result")
    return outputs[-1].result


def shown(outputs: Sequence[pb.InvokeExecuteMethodOutput]) -> list[str]:
    """Return the frames before the result in short: event types with their text, heartbeats."""
    return [frame for frame in map(shown_frame, outputs) if frame != "result"]


def shown_frame(output: pb.InvokeExecuteMethodOutput) -> str:
    """Return one frame in short."""
    if output.HasField("stream_write"):
        event = json.loads(output.stream_write.value.string_value)
        text = json.loads(event["payload"]).get("text")
        return event["type"] if text is None else f"{event['type']} {text}"
    if output.HasField("heartbeat"):
        has_value = output.heartbeat.HasField("value")
        return f"heartbeat {output.heartbeat.value.string_value}" if has_value else "heartbeat"
    return "result"


def movements_of(response: pb.InvokeExecuteMethodResponse) -> dict[str, pb.StepMovement]:
    """Return the started Steps by type."""
    return {movement.step_type: movement for movement in response.step_decision.next_steps}


def reported(error: BaseException) -> pb.WorkerErrorResponse:
    """Return what a Worker tells its engine of an exception, without the stack trace."""
    answer = pb.WorkerErrorResponse()
    _worker_error_status(error).details[0].Unpack(answer)
    answer.ClearField("stack_trace")
    return answer
