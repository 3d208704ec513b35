# twin: async-only
"""What Workers return: from the protocol to the kernel."""

from collections.abc import Iterable, Mapping

from dex.dexpb import dex_pb2 as pb

from dex_agents.engine.kernel.messages import (
    Decision,
    Effects,
    ExecuteResponse,
    RpcResponse,
    WaitForResponse,
)
from dex_agents.engine.kernel.values import IndexEntry, Value, ValueKind
from dex_agents.engine.kernel.waits import (
    ChannelCondition,
    TimerCondition,
    WaitingCondition,
    WaitMode,
)
from dex_agents.engine.refusals import InvalidRequest
from dex_agents.engine.server.options import read_movement
from dex_agents.engine.server.values import INDEX_TYPES, index_entry, read_value

IndexTypes = Mapping[str, str]

_WAIT_MODES = {
    pb.WAITING_CONDITION_TYPE_UNSPECIFIED: WaitMode.ALL,
    pb.WAITING_CONDITION_TYPE_ALL_COMPLETED: WaitMode.ALL,
    pb.WAITING_CONDITION_TYPE_ANY_COMPLETED: WaitMode.ANY,
    pb.WAITING_CONDITION_TYPE_ANY_COMBINATION_COMPLETED: WaitMode.COMBINATIONS,
}
# The longest timer: a thousand years, which every form of time can hold.
_LONGEST_TIMER_SECONDS = 1000 * 366 * 24 * 3600


def read_effects(
    attributes: Iterable[pb.AttributeWrite],
    deletions: Iterable[pb.ChannelMessageDeletion],
    messages: Iterable[pb.ChannelMessage],
    index_types: IndexTypes,
) -> Effects:
    """Return what a method, an RPC or a client writes.

    Args:
        attributes: The Attributes to set or delete.
        deletions: The messages to remove.
        messages: The messages to publish; the engine gives them their IDs.
        index_types: The names that Attributes are indexed by, where a write does not say it.

    Raises:
        InvalidRequest: Something has no name, or a value cannot be indexed.
    """
    written: list[tuple[str, Value]] = []
    indexes: list[IndexEntry] = []
    for write in attributes:
        value = read_value(write.value)
        written.append((_named("an Attribute", write.key), value))
        indexes.extend(_index(write, value, index_types))
    return Effects(
        attributes=tuple(written),
        deleted_messages=tuple((d.channel_name, d.message_id) for d in deletions),
        published=tuple(
            (_named("a channel", m.channel_name), read_value(m.value)) for m in messages
        ),
        indexes=tuple(indexes),
    )


def _index(write: pb.AttributeWrite, value: Value, types: IndexTypes) -> Iterable[IndexEntry]:
    config = write.index_config
    if write.HasField("index_config"):
        if not config.enable:
            return
        key = config.index_key or write.key
        index_type = INDEX_TYPES.get(config.type, types.get(key, "keyword"))
    elif write.key in types:
        key, index_type = write.key, types[write.key]
    else:
        return
    yield index_entry(key, index_type, value)


def _named(what: str, name: str) -> str:
    if not name:
        raise InvalidRequest(f"{what} has no name")
    return name


def read_wait_for(
    message: pb.InvokeWaitForMethodResponse, index_types: IndexTypes
) -> WaitForResponse:
    """Return what a `wait_for` asks for.

    Raises:
        InvalidRequest: It asks for something that this engine does not have.
    """
    condition = None
    if message.HasField("waiting_condition"):
        condition = _condition(message.waiting_condition)
    return WaitForResponse(
        effects=read_effects(
            message.upsert_attributes,
            message.delete_from_channel,
            message.publish_to_channel,
            index_types,
        ),
        condition=condition,
        locals=tuple((kv.key, read_value(kv.value)) for kv in message.upsert_step_exe_locals),
    )


def read_execute(
    message: pb.InvokeExecuteMethodResponse, index_types: IndexTypes
) -> ExecuteResponse:
    """Return what an `execute` decided.

    Raises:
        InvalidRequest: It asks for something that this engine does not have.
    """
    return ExecuteResponse(
        effects=read_effects(
            message.upsert_attributes,
            message.delete_from_channel,
            message.publish_to_channel,
            index_types,
        ),
        decision=_decision(message.step_decision),
    )


def read_rpc(message: pb.InvokeWorkerRPCResponse, index_types: IndexTypes) -> RpcResponse:
    """Return what an RPC handler wants written and started.

    Raises:
        InvalidRequest: It asks for something that this engine does not have.
    """
    # A recorded event counts as an effect although nothing else keeps it.
    decides = message.HasField("step_decision") or len(message.record_events) > 0
    return RpcResponse(
        effects=read_effects(
            message.upsert_attributes,
            message.delete_from_channel,
            message.publish_to_channel,
            index_types,
        ),
        decision=_decision(message.step_decision) if decides else None,
    )


def _decision(message: pb.StepDecision) -> Decision:
    movements = tuple(read_movement(movement) for movement in message.next_steps)
    cancelled = tuple(message.cancel_step_types)
    siblings = tuple(message.cancel_sibling_step_types)
    close = message.close_decision
    kind = close.close_decision_type
    if kind in (pb.CLOSE_DECISION_TYPE_UNSPECIFIED, pb.CLOSE_DECISION_TYPE_DEAD_END):
        return Decision(
            movements=movements, cancelled_types=cancelled, cancelled_sibling_types=siblings
        )
    value = read_value(close.close_input)
    if kind == pb.CLOSE_DECISION_TYPE_FORCE_FAIL:
        return Decision(
            cancelled_types=cancelled,
            cancelled_sibling_types=siblings,
            fail_reason=str(value.data) if value.kind is ValueKind.STRING else "",
        )
    if kind not in pb.CloseDecisionType.values():
        raise InvalidRequest(f"unknown close decision {kind}")
    return Decision(
        movements=movements,
        cancelled_types=cancelled,
        cancelled_sibling_types=siblings,
        completes=kind == pb.CLOSE_DECISION_TYPE_GRACEFUL_COMPLETE,
        completes_now=kind != pb.CLOSE_DECISION_TYPE_GRACEFUL_COMPLETE,
        unless_messages_in=tuple(close.conditional_channel_names),
        output=None if value.kind is ValueKind.NULL else value,
    )


def _condition(message: pb.WaitingCondition) -> WaitingCondition:
    if message.sub_flow_conditions:
        raise InvalidRequest("the local engine has no SubFlows; a Dex Server has them")
    mode = _WAIT_MODES.get(message.waiting_condition_type)
    if mode is None:
        raise InvalidRequest(f"unknown waiting condition {message.waiting_condition_type}")
    timers = tuple(_timer(timer) for timer in message.timer_conditions)
    channels = tuple(_channel(channel) for channel in message.channel_conditions)
    combinations = tuple(tuple(c.condition_ids) for c in message.condition_combinations)
    known = {t.condition_id for t in timers} | {c.condition_id for c in channels}
    for name in (name for names in combinations for name in names):
        if name not in known:
            raise InvalidRequest(f"a combination names an unknown condition {name!r}")
    return WaitingCondition(mode=mode, timers=timers, channels=channels, combinations=combinations)


def _timer(message: pb.TimerCondition) -> TimerCondition:
    if not 0 <= message.duration_seconds <= _LONGEST_TIMER_SECONDS:
        raise InvalidRequest(f"a timer of {message.duration_seconds} s is out of range")
    return TimerCondition(float(message.duration_seconds), message.condition_id)


def _channel(message: pb.ChannelCondition) -> ChannelCondition:
    has_least, has_most = message.HasField("at_least"), message.HasField("at_most")
    if not has_least and not has_most:
        return ChannelCondition(
            _named("a channel", message.channel_name), condition_id=message.condition_id
        )
    at_least = message.at_least if has_least else 0
    at_most = message.at_most if has_most else None
    if at_least < 0 or (at_most is not None and at_most < at_least):
        raise InvalidRequest(f"a wait for {at_least} to {at_most} messages cannot end")
    name = _named("a channel", message.channel_name)
    return ChannelCondition(name, at_least, at_most, message.condition_id)
