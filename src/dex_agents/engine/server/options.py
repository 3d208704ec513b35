# twin: async-only
"""Step options and movements: from the protocol to the kernel, with the protocol's defaults."""

from collections.abc import Iterable
from functools import lru_cache

from dex.dexpb import dex_pb2 as pb

from dex_agents.engine.kernel.messages import StepMovement
from dex_agents.engine.kernel.options import MethodOptions, RetryPolicy, StepOptions
from dex_agents.engine.refusals import InvalidRequest
from dex_agents.engine.server.values import read_value

_DEFAULT_RETRY = RetryPolicy()
_DEFAULT_METHOD = MethodOptions()
_DEFAULT_HEARTBEAT_SECONDS = StepOptions().heartbeat_timeout
# A Dex Server uses them in names of its own.
_RESERVED = "/$:"


def read_name(what: str, name: str) -> str:
    """Return a Flow ID or a type name.

    Raises:
        InvalidRequest: It is empty or has a reserved character.
    """
    if not name:
        raise InvalidRequest(f"{what} is required")
    if any(character in name for character in _RESERVED):
        raise InvalidRequest(f"{what} must not contain / $ or :, got {name!r}")
    return name


def read_movement(message: pb.StepMovement) -> StepMovement:
    """Return a movement.

    Raises:
        InvalidRequest: It has no Step type, or an option makes no sense.
    """
    step_type = read_name("a Step type", message.step_type)
    return StepMovement(
        step_type, read_value(message.step_input), read_options(message.step_options)
    )


def read_options(message: pb.StepOptions) -> StepOptions:
    """Return Step options; equal ones are one object."""
    return _options_of(message.SerializeToString(deterministic=True))


@lru_cache(maxsize=1024)
def _options_of(data: bytes) -> StepOptions:
    message = pb.StepOptions.FromString(data)
    failure_step = None
    failure_options = None
    if (
        message.execute_failure_policy
        == pb.EXECUTE_METHOD_FAILURE_POLICY_PROCEED_TO_CONFIGURED_STEP
        and message.execute_failure_proceed_step_type
    ):
        failure_step = read_name("a Step type", message.execute_failure_proceed_step_type)
        failure_options = read_options(message.execute_failure_proceed_step_options)
    return StepOptions(
        wait_for=_method(
            message.wait_for_timeout_seconds,
            message.wait_for_retry_policy,
            message.wait_for_lock_attribute_keys,
            message.wait_for_load_attribute_map_instances,
            (*message.wait_for_load_channel_names, *message.wait_for_load_channel_map_instances),
        ),
        execute=_method(
            message.execute_timeout_seconds,
            message.execute_retry_policy,
            message.execute_lock_attribute_keys,
            message.execute_load_attribute_map_instances,
            (*message.execute_load_channel_names, *message.execute_load_channel_map_instances),
        ),
        heartbeat_timeout=_seconds(message.heartbeat_timeout_seconds, _DEFAULT_HEARTBEAT_SECONDS),
        skips_wait_for=message.skip_wait_for,
        wait_failure_proceeds=message.wait_for_failure_policy
        == pb.WAIT_FOR_METHOD_FAILURE_POLICY_PROCEED_ON_FAILURE,
        failure_step=failure_step,
        failure_options=failure_options,
    )


def _method(
    timeout: int,
    retry: pb.RetryPolicy,
    locks: Iterable[str],
    attributes: Iterable[str],
    channels: Iterable[str],
) -> MethodOptions:
    return MethodOptions(
        timeout=_seconds(timeout, _DEFAULT_METHOD.timeout),
        retry=_retry(retry),
        locks=tuple(sorted(set(locks))),
        load_attributes=tuple(sorted(set(attributes))),
        load_channels=tuple(sorted(set(channels))),
    )


def _retry(message: pb.RetryPolicy) -> RetryPolicy:
    if message.maximum_attempts < 0:
        raise InvalidRequest(f"maximum_attempts must not be negative: {message.maximum_attempts}")
    coefficient = message.backoff_coefficient or _DEFAULT_RETRY.coefficient
    # Also refuses what is not a number.
    if not 1.0 <= coefficient <= 1e6:
        raise InvalidRequest(f"backoff_coefficient must be from 1 to 1,000,000: {coefficient}")
    return RetryPolicy(
        initial_interval=_seconds(
            message.initial_interval_seconds, _DEFAULT_RETRY.initial_interval
        ),
        coefficient=coefficient,
        maximum_interval=_seconds(
            message.maximum_interval_seconds, _DEFAULT_RETRY.maximum_interval
        ),
        maximum_attempts=message.maximum_attempts,
        total_duration=_seconds(message.total_duration_seconds, _DEFAULT_RETRY.total_duration),
    )


def _seconds(value: int, default: float) -> float:
    if value < 0:
        raise InvalidRequest(f"a duration must not be negative: {value}")
    return float(value) or default
