# twin: shared
"""Translate what a session says into the SDK's terms.

All values are text, so a Registry needs no codecs. A Step or RPC without input is sent `None`,
which the SDK stores as its null value and hands back as `None`, whatever the handler's annotation
says; there is no codec for an optional text.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import dex

from dex_agents.sdk.persistence import ATTRIBUTE_MAPS, ATTRIBUTES, CHANNEL_MAPS, CHANNELS
from dex_agents.session import ports
from dex_agents.session.definition import SessionDefinition, StepDefinition

# The protocol counts whole seconds in 32 bits.
_MAX_SECONDS: Final = 2**31 - 1

Loads = tuple[ports.MapLoad, ...]


def whole_seconds(seconds: float) -> int:
    """Return a duration as the protocol takes it: rounded up, since zero asks for a default."""
    return min(math.ceil(seconds), _MAX_SECONDS)


def translate_wait(wait: ports.Wait) -> dex.Wait:
    """Return the SDK's form of a wait."""
    if not wait.any_of:
        return dex.Wait.skip_immediately()
    return dex.Wait.any_of(*(_condition(condition) for condition in wait.any_of))


def _condition(condition: ports.ChannelWait | ports.TimerWait) -> Any:
    # The SDK keeps the type of conditions to itself.
    if isinstance(condition, ports.TimerWait):
        return dex.Timer.by_duration(timedelta(seconds=whole_seconds(condition.seconds)))
    least, most = condition.at_least, condition.at_most
    if condition.key is None:
        return CHANNELS[condition.channel].for_range(at_least=least, at_most=most)
    channels = CHANNEL_MAPS[condition.channel]
    return channels.for_range(condition.key, at_least=least, at_most=most)


class Translator:
    """Translates decisions of one session, whose Steps are classes to the SDK."""

    def __init__(
        self, session: SessionDefinition, step_types: Mapping[str, type[dex.Step[Any]]]
    ) -> None:
        """Know the class of every Step; `step_types` may be filled later."""
        self._session = session
        self._step_types = step_types
        self._options: dict[tuple[str, Loads, Loads], dex.StepOptions] = {}

    def decision(self, decision: ports.StepDecision) -> dex.StepDecision:
        """Return the SDK's form of what a Step decided."""
        if decision.failure_reason is not None:
            translated = dex.force_fail(decision.failure_reason)
        elif decision.movements:
            translated = dex.go_to_many(*self._movements(decision))
        else:
            translated = dex.dead_end()
        return translated.with_canceling_steps(*self._cancelled(decision))

    def rpc_result(self, result: ports.RpcResult) -> dex.RPCResult[str]:
        """Return the SDK's form of what an RPC answered.

        The events of an RPC are dropped: the SDK lets only Steps write to a Stream.

        Raises:
            ValueError: It decided to fail the Flow, which only a Step can do.
        """
        decision = result.decision
        if decision is None:
            return dex.RPCResult(result.output)
        if decision.failure_reason is not None:
            raise ValueError("an RPC cannot fail its Flow; start a Step that does")
        return dex.RPCResult(
            result.output,
            next_steps=tuple(self._movements(decision)),
            canceling_steps=tuple(self._cancelled(decision)),
        )

    def step_options(
        self,
        step: str,
        step_input: str | None,
        execute_loads: Sequence[ports.MapLoad] | None = None,
        failure_loads: Sequence[ports.MapLoad] | None = None,
    ) -> dex.StepOptions:
        """Return the options of a movement: its Step's, with the loads that its input asks for.

        Args:
            step: The Step.
            step_input: The movement's input.
            execute_loads: What `execute` loads instead of what the table says.
            failure_loads: The same for the Step of its failure route.
        """
        definition = self._definition(step)
        waiting = _loads(definition.wait_for_loads(step_input))
        running = _loads(
            definition.execute_loads(step_input) if execute_loads is None else execute_loads
        )
        options = self._own_options(definition, waiting, running)
        failure_step = definition.options.failure_step
        if failure_step is None:
            return options
        # It gets the same input, so its loads follow from that unless the movement names them.
        return options.on_execute_failure_proceed_to(
            self._step_type(failure_step),
            self.step_options(failure_step, step_input, failure_loads),
        )

    def _own_options(
        self, definition: StepDefinition, waiting: Loads, running: Loads
    ) -> dex.StepOptions:
        key = (definition.name, waiting, running)
        known = self._options.get(key)
        if known is None:
            known = _step_options(definition, waiting, running)
            # Loads of single instances differ from input to input; keeping them would never end.
            if all(load.key is None for load in (*waiting, *running)):
                self._options[key] = known
        return known

    def _movements(self, decision: ports.StepDecision) -> list[dex.StepMovement[Any]]:
        return [
            dex.StepMovement(
                self._step_type(one.step),
                one.input,
                self.step_options(one.step, one.input, one.execute_loads, one.failure_loads),
            )
            for one in decision.movements
        ]

    def _cancelled(self, decision: ports.StepDecision) -> list[type[dex.Step[Any]]]:
        return [self._step_type(step) for step in decision.cancelled_steps]

    def _step_type(self, step: str) -> type[dex.Step[Any]]:
        self._definition(step)
        return self._step_types[step]

    def _definition(self, step: str) -> StepDefinition:
        try:
            return self._session.steps[step]
        except KeyError:
            raise LookupError(f"session {self._session.flow_type} has no Step {step!r}") from None


def _loads(loads: Sequence[ports.MapLoad]) -> Loads:
    # No instance has an empty key, and to the protocol it would mean the whole map.
    return tuple(load for load in loads if load.key != "")


def _whole_maps(loads: Loads) -> tuple[dex.AttributeMap[str], ...]:
    return tuple(ATTRIBUTE_MAPS[load.map_name] for load in loads if load.key is None)


def _instances(loads: Loads) -> tuple[dex.AttributeMapLoad, ...]:
    return tuple(
        ATTRIBUTE_MAPS[load.map_name].load(load.key) for load in loads if load.key is not None
    )


def instance_loads(loads: Sequence[ports.MapLoad]) -> tuple[dex.AttributeMapLoad, ...]:
    """Return loads of single instances as one invocation of an RPC takes them."""
    return _instances(_loads(loads))


def rpc_options(
    locks: Sequence[str], loads: Loads, load_channels: Sequence[str]
) -> Mapping[str, Any]:
    """Return locks and loads as keyword arguments of `dex.rpc`."""
    return {
        "lock_attributes": tuple(ATTRIBUTES[name].lock() for name in locks),
        "load_attribute_maps": _whole_maps(loads),
        "load_attribute_map_instances": _instances(loads),
        "load_channels": tuple(CHANNELS[name] for name in load_channels),
    }


def _step_options(definition: StepDefinition, waiting: Loads, running: Loads) -> dex.StepOptions:
    options = definition.options
    return dex.StepOptions(
        wait_for_method_timeout=_duration(options.wait_for_timeout_seconds),
        execute_method_timeout=_duration(options.execute_timeout_seconds),
        heartbeat_timeout=_duration(options.heartbeat_timeout_seconds),
        wait_for_retry=_retry(options.wait_for_retry),
        execute_retry=_retry(options.execute_retry),
        # A session is worth its name only if every result is stored before it counts.
        wait_for_durability=dex.StepDurability.SYNC,
        execute_durability=dex.StepDurability.SYNC,
        wait_for_lock_attributes=_locks(options.wait_for_locks),
        execute_lock_attributes=_locks(options.execute_locks),
        wait_for_load_attribute_maps=_whole_maps(waiting),
        wait_for_load_attribute_map_instances=_instances(waiting),
        execute_load_attribute_maps=_whole_maps(running),
        execute_load_attribute_map_instances=_instances(running),
    )


def _locks(names: Sequence[str]) -> tuple[dex.AttributeLock, ...]:
    return tuple(ATTRIBUTES[name].lock() for name in names)


def _duration(seconds: float) -> timedelta:
    return timedelta(seconds=whole_seconds(seconds))


def _retry(policy: ports.RetryPolicy) -> dex.RetryPolicy:
    return dex.RetryPolicy(
        initial_interval=_duration(policy.initial_interval_seconds),
        backoff_coefficient=policy.backoff_coefficient,
        maximum_interval=_duration(policy.maximum_interval_seconds),
        maximum_attempts=policy.maximum_attempts,
        total_duration=_duration(policy.total_duration_seconds),
    )
