# twin: shared
"""Translate one session's tables into the kernel's terms, and back."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from urllib.parse import quote, unquote

from dex_agents.engine.kernel.messages import (
    Decision,
    Effects,
    ExecuteResponse,
    RpcResponse,
    StepMovement,
    Task,
    WaitForResponse,
)
from dex_agents.engine.kernel.options import MethodOptions, RetryPolicy, StepOptions
from dex_agents.engine.kernel.state import Message, Method, Snapshot, split_name
from dex_agents.engine.kernel.values import NULL, Value, text_value, value_text
from dex_agents.engine.kernel.waits import (
    ChannelCondition,
    ConditionResults,
    TimerCondition,
    WaitingCondition,
)
from dex_agents.engine.requests import RpcCall, RpcRequest
from dex_agents.session import ports
from dex_agents.session.definition import RpcDefinition, SessionDefinition, StepDefinition
from dex_agents.session.recording_io import ChannelKey, RecordedWrites, RecordingStepIO


# Physical names percent-encode the instance, as the `dex` SDK does, so that a file can move
# between this mount and an engine that the SDK talks to.
@lru_cache(maxsize=8192)
def _quote(key: str) -> str:
    return quote(key, safe="")


_unquote: Callable[[str], str] = lru_cache(maxsize=8192)(unquote)


def physical_name(name: str, key: str | None) -> str:
    """Return the name that the kernel knows an Attribute, Channel or map instance by."""
    return name if key is None else f"{name}/{_quote(key)}"


def aware_time(seconds: float) -> datetime:
    """Return seconds since the epoch as an aware time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


class SessionMount:
    """The kernel's view of one session."""

    def __init__(self, session: SessionDefinition) -> None:
        """Prepare what does not change from call to call."""
        self.session = session
        self._plain_options: dict[str, StepOptions] = {}

    # -- to the kernel -------------------------------------------------------------------------

    def start_movement(self, start_input: str) -> StepMovement:
        """Return the movement to the session's start Step."""
        return self.movement(ports.Movement(self.session.start_step, start_input))

    def movement(self, movement: ports.Movement) -> StepMovement:
        """Translate a movement, with the options of its Step."""
        definition = self._definition(movement.step)
        options = self._options(
            definition, movement.input, movement.execute_loads, movement.failure_loads
        )
        return StepMovement(movement.step, text_value(movement.input), options)

    def _definition(self, step: str) -> StepDefinition:
        try:
            return self.session.steps[step]
        except KeyError:
            raise LookupError(
                f"session {self.session.flow_type} has no Step {step!r}; was it stored by a newer "
                "release?"
            ) from None

    def _options(
        self,
        definition: StepDefinition,
        step_input: str | None,
        execute_loads: Sequence[ports.MapLoad] | None,
        failure_loads: Sequence[ports.MapLoad] | None = None,
    ) -> StepOptions:
        wait_loads = tuple(definition.wait_for_loads(step_input))
        loads = definition.execute_loads(step_input) if execute_loads is None else execute_loads
        failure_step = definition.options.failure_step
        is_plain = not wait_loads and not loads and failure_step is None
        if is_plain and definition.name in self._plain_options:
            return self._plain_options[definition.name]
        failure_options = None
        if failure_step is not None:
            failure_options = self._options(
                self._definition(failure_step), step_input, failure_loads
            )
        options = _step_options(definition, wait_loads, tuple(loads), failure_options)
        if is_plain:
            self._plain_options[definition.name] = options
        return options

    def wait_for_response(self, io: RecordingStepIO, wait: ports.Wait) -> WaitForResponse:
        """Translate what a `wait_for` returned and wrote."""
        if not wait.any_of:
            return WaitForResponse(effects=_effects(io.writes))
        timers = [c for c in wait.any_of if isinstance(c, ports.TimerWait)]
        channels = [c for c in wait.any_of if isinstance(c, ports.ChannelWait)]
        condition = WaitingCondition(
            timers=tuple(TimerCondition(float(timer.seconds)) for timer in timers),
            channels=tuple(
                ChannelCondition(physical_name(c.channel, c.key), c.at_least, c.at_most)
                for c in channels
            ),
        )
        return WaitForResponse(effects=_effects(io.writes), condition=condition)

    def execute_response(
        self, io: RecordingStepIO, decision: ports.StepDecision
    ) -> ExecuteResponse:
        """Translate what an `execute` decided and wrote."""
        return ExecuteResponse(effects=_effects(io.writes), decision=self._decision(decision))

    def _decision(self, decision: ports.StepDecision) -> Decision:
        return Decision(
            movements=tuple(self.movement(movement) for movement in decision.movements),
            cancelled_types=decision.cancelled_steps,
            fail_reason=decision.failure_reason,
        )

    def rpc_request(
        self, rpc: RpcDefinition, flow_id: str, loads: Sequence[ports.MapLoad] = ()
    ) -> RpcRequest:
        """Return what an RPC asks of the core; what it reads besides costs nothing here."""
        return RpcRequest(
            flow_id=flow_id,
            rpc_name=rpc.name,
            locks=rpc.locks,
            is_transactional=rpc.is_transactional,
            load_attributes=_load_names((*rpc.loads, *rpc.free_loads, *loads)),
            load_channels=rpc.load_channels,
        )

    def rpc_response(self, io: RecordingStepIO, result: ports.RpcResult) -> RpcResponse:
        """Translate what an RPC handler decided and wrote."""
        decision = None if result.decision is None else self._decision(result.decision)
        return RpcResponse(effects=_effects(io.writes), decision=decision)

    # -- from the kernel -----------------------------------------------------------------------

    def step_io(self, task: Task, now: float) -> RecordingStepIO:
        """Return what one method call of a Step sees."""
        snapshot, error = task.snapshot, task.recovery_error
        wait_results: dict[ChannelKey, Sequence[str]] = {}
        fired: tuple[int, ...] = ()
        if task.results is not None and task.method is Method.EXECUTE:
            fired = tuple(i for i, has_fired in enumerate(task.results.timers) if has_fired)
            wait_results = _wait_results(task.results)
        return RecordingStepIO(
            flow_id=task.flow_id,
            run_id=task.run_id,
            step_execution_id=task.step_id,
            attempt=task.attempt,
            now=aware_time(now),
            attributes=_texts(snapshot.attributes),
            maps=_map_texts(snapshot),
            loaded_maps=_map_loads(snapshot.loaded_attributes),
            channel_sizes=_channel_sizes(snapshot),
            pending=_pending(snapshot),
            wait_results=wait_results,
            fired_timers=fired,
            recovery_error=None
            if error is None
            else ports.RecoveryError(error.detail, error.error_type),
            heartbeat_checkpoint=None if task.checkpoint is None else value_text(task.checkpoint),
        )

    def rpc_io(self, call: RpcCall, now: float) -> RecordingStepIO:
        """Return what an RPC handler sees."""
        snapshot = call.snapshot
        return RecordingStepIO(
            flow_id=call.state.run.flow_id,
            run_id=call.state.run.run_id,
            now=aware_time(now),
            attributes=_texts(snapshot.attributes),
            maps=_map_texts(snapshot),
            loaded_maps=_map_loads(snapshot.loaded_attributes),
            channel_sizes=_channel_sizes(snapshot),
            pending=_pending(snapshot),
        )


def _wait_results(results: ConditionResults) -> dict[ChannelKey, Sequence[str]]:
    return {
        _channel_key(channel): [_text(value) for value in values]
        for channel, values in results.channels
        if values is not None
    }


def _text(value: Value) -> str:
    if type(value.data) is str:
        return value.data
    raise ValueError(f"expected text, got a value of kind {value.kind}")


def _texts(values: Mapping[str, Value]) -> dict[str, str]:
    return {name: _text(value) for name, value in values.items()}


class InstanceTexts(Mapping[str, str]):
    """The instances of one map as texts by key, translated when they are read.

    A Step that loads a long history reads each instance once or not at all, so nothing is copied.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Value]) -> None:
        """Wrap values by encoded key."""
        self._values = values

    def __getitem__(self, key: str) -> str:
        """Return the text of an instance."""
        return _text(self._values[_quote(key)])

    # Mapping's overloads of `get` say the same at more length.
    def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """Return the text of an instance, or the default; the hot path, without an exception."""
        value = self._values.get(_quote(key))
        return default if value is None else _text(value)

    def items(self) -> list[tuple[str, str]]:  # type: ignore[override]  # a list is faster to read
        """Return all keys and texts."""
        # The longest loop of a model call. A value that is no text fails where it is decoded.
        return [
            (_unquote(key) if "%" in key else key, value.data)  # type: ignore[misc]  # text here
            for key, value in self._values.items()
        ]

    def __contains__(self, key: object) -> bool:
        """Tell whether there is such an instance."""
        return isinstance(key, str) and _quote(key) in self._values

    def __iter__(self) -> Iterator[str]:
        """Return the keys."""
        return map(_unquote, self._values)

    def __len__(self) -> int:
        """Return how many instances there are."""
        return len(self._values)


def _map_texts(snapshot: Snapshot) -> dict[str, InstanceTexts]:
    return {name: InstanceTexts(instances) for name, instances in snapshot.maps.items()}


def _load_names(loads: Sequence[ports.MapLoad]) -> tuple[str, ...]:
    # An empty key names no instance, and on the wire its name would mean all of them.
    return tuple(
        f"{load.map_name}/" if load.key is None else physical_name(load.map_name, load.key)
        for load in loads
        if load.key != ""
    )


@lru_cache(maxsize=8192)
def _map_loads(names: tuple[str, ...]) -> tuple[ports.MapLoad, ...]:
    loads: list[ports.MapLoad] = []
    for name in names:
        map_name, instance = split_name(name)
        loads.append(ports.MapLoad(map_name, _unquote(instance) if instance else None))
    return tuple(loads)


def _channel_key(name: str) -> ChannelKey:
    channel, instance = split_name(name)
    return channel, None if instance is None else _unquote(instance)


def _channel_sizes(snapshot: Snapshot) -> dict[ChannelKey, int]:
    return {_channel_key(name): size for name, size in snapshot.channel_sizes.items()}


def _pending(snapshot: Snapshot) -> dict[ChannelKey, tuple[ports.PendingMessage, ...]]:
    return {
        _channel_key(name): tuple(_pending_message(message) for message in waiting)
        for name, waiting in snapshot.messages.items()
    }


def _pending_message(message: Message) -> ports.PendingMessage:
    return ports.PendingMessage(message.message_id, _text(message.value))


def _effects(writes: RecordedWrites) -> Effects:
    attributes = [(name, _written(text)) for name, text in writes.attributes.items()]
    attributes.extend(
        (physical_name(name, key), _written(text)) for (name, key), text in writes.items.items()
    )
    return Effects(
        attributes=tuple(attributes),
        deleted_messages=tuple(
            (physical_name(channel, key), message_id)
            for channel, key, message_id in writes.deleted_messages
        ),
        published=tuple(
            (physical_name(channel, key), text_value(text))
            for channel, key, text in writes.published
        ),
    )


def _written(text: str | None) -> Value:
    return NULL if text is None else text_value(text)


def _retry(policy: ports.RetryPolicy) -> RetryPolicy:
    return RetryPolicy(
        initial_interval=policy.initial_interval_seconds,
        coefficient=policy.backoff_coefficient,
        maximum_interval=policy.maximum_interval_seconds,
        maximum_attempts=policy.maximum_attempts,
        total_duration=policy.total_duration_seconds,
    )


def _step_options(
    definition: StepDefinition,
    wait_loads: tuple[ports.MapLoad, ...],
    loads: tuple[ports.MapLoad, ...],
    failure_options: StepOptions | None,
) -> StepOptions:
    options = definition.options
    return StepOptions(
        wait_for=MethodOptions(
            timeout=options.wait_for_timeout_seconds,
            retry=_retry(options.wait_for_retry),
            locks=options.wait_for_locks,
            load_attributes=_load_names(wait_loads),
        ),
        execute=MethodOptions(
            timeout=options.execute_timeout_seconds,
            retry=_retry(options.execute_retry),
            locks=options.execute_locks,
            load_attributes=_load_names(loads),
        ),
        heartbeat_timeout=options.heartbeat_timeout_seconds,
        skips_wait_for=definition.wait_for is None,
        failure_step=options.failure_step,
        failure_options=failure_options,
    )
