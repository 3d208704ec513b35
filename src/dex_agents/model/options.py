# twin: shared
"""The options of a session, checked when they are made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import cast

from dex_agents.model.limits import MAX_LOAD_BYTES, MESSAGE_CHUNK_MAX_BYTES
from dex_agents.model.text import MAX_ERROR_BYTES, MAX_TOOL_RESULT_BYTES
from dex_agents.model.tool_calls import ToolEffect, ToolPolicy, checked_effect

EVENT_STREAM_CAPACITY_BYTES = 10 * 1024 * 1024

# A text limit below this would cut the session's own sentences.
_SMALLEST_TEXT_LIMIT_BYTES = 256


def _check_duration(value: object, name: str) -> None:
    if not isinstance(value, timedelta):
        raise TypeError(f"{name} must be a timedelta, not {type(value).__name__}")
    if value <= timedelta(0):
        raise ValueError(f"{name} must be longer than zero")


def _check_count(value: object, name: str, *, smallest: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if value < smallest:
        raise ValueError(f"{name} must be at least {smallest}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimit:
    """How long a model or tool call may take, and how often it is tried.

    Attributes:
        timeout: The longest time of one attempt.
        heartbeat_timeout: How long an attempt may be silent. The session sends signs of life by
            itself, so this is how soon a dead process is noticed. The SDK takes 10 s at least.
        maximum_attempts: How often a call is tried, the first time included.
        total_duration: No attempt starts later than this after the first one.
    """

    timeout: timedelta = timedelta(minutes=15)
    heartbeat_timeout: timedelta = timedelta(minutes=2)
    maximum_attempts: int = 3
    total_duration: timedelta = timedelta(minutes=30)

    def __post_init__(self) -> None:
        """Refuse limits that no call could keep.

        Raises:
            TypeError: A field has the wrong type.
            ValueError: A duration is not positive, or there would be no attempt.
        """
        for name in ("timeout", "heartbeat_timeout", "total_duration"):
            _check_duration(getattr(self, name), name)
        _check_count(self.maximum_attempts, "maximum_attempts", smallest=1)


MODEL_CALL_LIMIT = CallLimit()

# Two attempts that use their full 15 minutes, with the pauses between, leave time for a third.
TOOL_CALL_LIMIT = CallLimit(total_duration=timedelta(hours=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSessionOptions:
    """How a session treats tools, people and time.

    Attributes:
        tool_policies: Policies by tool name; they win over what a framework says of its tools.
        default_tool_effect: What a tool is taken for that nothing classifies.
        event_stream_capacity_bytes: How much of the live events is kept for late readers.
        interrupt_deadline: When an unanswered interrupt counts as refused; `None` never.
        run_model_limit: The limits of a model call.
        tool_call_limit: The limits of a tool call. Its attempts are for reads and idempotent
            writes; any other call has one.
        max_tool_result_bytes: The largest tool result that is kept.
        max_error_bytes: The longest error text that is kept.
        message_window_size: How many of the newest messages are stored one by one.
        message_chunk_size: How many older messages are stored together at most.
        message_chunk_max_bytes: How large those may be together; 3 MiB at most.
        retained_message_limit: With compaction, summarized messages are deleted once so many are
            stored after them; `None` keeps all.
    """

    tool_policies: Mapping[str, ToolPolicy] = field(default_factory=dict[str, ToolPolicy])
    default_tool_effect: ToolEffect = ToolEffect.UNCLASSIFIED
    event_stream_capacity_bytes: int = EVENT_STREAM_CAPACITY_BYTES
    interrupt_deadline: timedelta | None = None
    run_model_limit: CallLimit = MODEL_CALL_LIMIT
    tool_call_limit: CallLimit = TOOL_CALL_LIMIT
    max_tool_result_bytes: int = MAX_TOOL_RESULT_BYTES
    max_error_bytes: int = MAX_ERROR_BYTES
    message_window_size: int = 64
    message_chunk_size: int = 32
    message_chunk_max_bytes: int = MESSAGE_CHUNK_MAX_BYTES
    retained_message_limit: int | None = 1000

    def __post_init__(self) -> None:
        """Check every option now, so that no session meets a wrong one later.

        Raises:
            TypeError: An option has the wrong type.
            ValueError: An option is out of its range.
        """
        object.__setattr__(self, "tool_policies", _checked_policies(self.tool_policies))
        object.__setattr__(self, "default_tool_effect", checked_effect(self.default_tool_effect))
        if self.interrupt_deadline is not None:
            _check_duration(self.interrupt_deadline, "interrupt_deadline")
        for name in ("run_model_limit", "tool_call_limit"):
            if not isinstance(getattr(self, name), CallLimit):
                raise TypeError(f"{name} must be a CallLimit")
        _check_count(self.event_stream_capacity_bytes, "event_stream_capacity_bytes", smallest=1)
        for name in ("max_tool_result_bytes", "max_error_bytes"):
            _check_count(getattr(self, name), name, smallest=_SMALLEST_TEXT_LIMIT_BYTES)
        for name in ("message_window_size", "message_chunk_size"):
            _check_count(getattr(self, name), name, smallest=1)
        _check_count(self.message_chunk_max_bytes, "message_chunk_max_bytes", smallest=1024)
        if self.message_chunk_max_bytes > MAX_LOAD_BYTES:
            raise ValueError(
                f"message_chunk_max_bytes must be at most {MAX_LOAD_BYTES:,}: a larger chunk could "
                "not be loaded by a Worker of the dex SDK"
            )
        if self.retained_message_limit is not None:
            _check_count(self.retained_message_limit, "retained_message_limit", smallest=1)

    def resolve_tool_policy(
        self, tool_name: str, framework_effect: ToolEffect | None = None
    ) -> ToolPolicy:
        """Return a tool's policy: the option, else the framework's word, else the default."""
        policy = self.tool_policies.get(tool_name)
        if policy is not None:
            return policy
        return ToolPolicy(framework_effect or self.default_tool_effect)


def _checked_policies(policies: object) -> Mapping[str, ToolPolicy]:
    if not isinstance(policies, Mapping):
        raise TypeError("tool_policies must be a mapping of tool names to ToolPolicy")
    checked: dict[str, ToolPolicy] = {}
    for name, policy in cast("Mapping[object, object]", policies).items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"tool_policies has a key that is no tool name: {name!r}")
        if not isinstance(policy, ToolPolicy):
            raise TypeError(
                f"tool_policies[{name!r}] must be a ToolPolicy, not {type(policy).__name__}; "
                "write ToolPolicy(ToolEffect.READ)"
            )
        checked[name] = policy
    return MappingProxyType(checked)
