# twin: shared
"""Options and policies are checked when they are made."""

from datetime import timedelta
from typing import Any

import pytest

from dex_agents.model.options import AgentSessionOptions, CallLimit
from dex_agents.model.tool_calls import ToolCallStatus, ToolEffect, ToolPolicy


@pytest.mark.parametrize(
    ("effect", "is_required"),
    [
        (ToolEffect.READ, False),
        (ToolEffect.IDEMPOTENT_WRITE, False),
        (ToolEffect.NON_IDEMPOTENT_WRITE, True),
        (ToolEffect.UNCLASSIFIED, True),
    ],
)
def test_the_effect_decides_about_approval_unless_the_policy_does(
    effect: ToolEffect, is_required: bool
) -> None:
    assert ToolPolicy(effect).is_approval_required is is_required
    assert ToolPolicy(effect, requires_approval=True).is_approval_required
    assert not ToolPolicy(effect, requires_approval=False).is_approval_required


def test_only_reads_and_idempotent_writes_may_run_again() -> None:
    again = {effect for effect in ToolEffect if effect.may_run_again}
    assert again == {ToolEffect.READ, ToolEffect.IDEMPOTENT_WRITE}


def test_four_statuses_are_final() -> None:
    assert {status.value for status in ToolCallStatus if status.is_final} == {
        "rejected",
        "succeeded",
        "failed",
        "outcome_unknown",
    }


def test_a_policy_takes_the_name_of_an_effect_and_refuses_others() -> None:
    effect: Any = "read"
    assert ToolPolicy(effect) == ToolPolicy(ToolEffect.READ)
    with pytest.raises(ValueError, match="'reed' is no tool effect; use one of read, idempotent"):
        # The wrong types are what is tested.
        ToolPolicy("reed")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="requires_approval"):
        ToolPolicy(ToolEffect.READ, requires_approval="no")  # type: ignore[arg-type]


def test_the_option_wins_then_the_framework_then_the_default() -> None:
    options = AgentSessionOptions(
        tool_policies={"pay": ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE)},
        default_tool_effect=ToolEffect.IDEMPOTENT_WRITE,
    )
    assert options.resolve_tool_policy("pay", ToolEffect.READ).effect == "non_idempotent_write"
    assert options.resolve_tool_policy("find", ToolEffect.READ).effect == "read"
    assert options.resolve_tool_policy("find").effect == "idempotent_write"


def test_the_defaults_are_the_promised_ones() -> None:
    options = AgentSessionOptions()
    assert options.default_tool_effect is ToolEffect.UNCLASSIFIED
    assert options.event_stream_capacity_bytes == 10 * 1024 * 1024
    assert options.interrupt_deadline is None
    assert options.max_tool_result_bytes == 256 * 1024
    assert options.max_error_bytes == 4 * 1024
    model = options.run_model_limit
    assert (model.timeout, model.heartbeat_timeout) == (timedelta(minutes=15), timedelta(minutes=2))
    assert (model.maximum_attempts, model.total_duration) == (3, timedelta(minutes=30))
    assert options.tool_call_limit.timeout == timedelta(minutes=15)
    assert options.tool_call_limit.maximum_attempts == 3


def test_policies_cannot_change_later() -> None:
    policies = {"find": ToolPolicy(ToolEffect.READ)}
    options = AgentSessionOptions(tool_policies=policies)
    policies["find"] = ToolPolicy(ToolEffect.UNCLASSIFIED)
    assert options.resolve_tool_policy("find").effect is ToolEffect.READ


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"tool_policies": {"x": "read"}}, TypeError, r"tool_policies\['x'\] must be a ToolPolicy"),
        ({"tool_policies": ["x"]}, TypeError, "must be a mapping"),
        ({"tool_policies": {1: ToolPolicy(ToolEffect.READ)}}, TypeError, "no tool name: 1"),
        ({"default_tool_effect": "write"}, ValueError, "'write' is no tool effect"),
        ({"interrupt_deadline": timedelta(0)}, ValueError, "longer than zero"),
        ({"interrupt_deadline": timedelta(seconds=-1)}, ValueError, "interrupt_deadline"),
        ({"interrupt_deadline": 60}, TypeError, "interrupt_deadline must be a timedelta, not int"),
        ({"run_model_limit": timedelta(1)}, TypeError, "run_model_limit must be a CallLimit"),
        ({"event_stream_capacity_bytes": 0}, ValueError, "at least 1"),
        ({"event_stream_capacity_bytes": True}, TypeError, "must be an int, not bool"),
        ({"max_tool_result_bytes": 10}, ValueError, "max_tool_result_bytes must be at least 256"),
        ({"max_error_bytes": "4k"}, TypeError, "max_error_bytes must be an int, not str"),
    ],
)
def test_a_wrong_option_is_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        AgentSessionOptions(**arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"timeout": timedelta(0)}, ValueError, "timeout must be longer than zero"),
        ({"heartbeat_timeout": 5}, TypeError, "heartbeat_timeout must be a timedelta"),
        ({"total_duration": -timedelta(1)}, ValueError, "total_duration"),
        ({"maximum_attempts": 0}, ValueError, "maximum_attempts must be at least 1"),
        ({"maximum_attempts": 1.5}, TypeError, "maximum_attempts must be an int, not float"),
    ],
)
def test_a_limit_that_no_call_could_keep_is_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        CallLimit(**arguments)
