# twin: shared
"""Decisions, waits and options in the SDK's terms."""

from datetime import timedelta
from typing import Any

import dex
import pytest

from dex_agents.model.options import AgentSessionOptions
from dex_agents.sdk.persistence import ATTRIBUTE_MAPS, ATTRIBUTES, CHANNEL_MAPS, CHANNELS
from dex_agents.sdk.translate import Translator, translate_wait, whole_seconds
from dex_agents.session.definition import SessionDefinition, StepDefinition
from dex_agents.session.ports import (
    DEAD_END,
    ChannelWait,
    MapLoad,
    Movement,
    RetryPolicy,
    RpcResult,
    StepDecision,
    StepIO,
    StepOptions,
    StepPlan,
    TimerWait,
    Wait,
    go_to,
)
from tests.sdk_support import message


class Builder:
    def build_user_message(self, text: str) -> Any:
        return message(text)


def plain(session: SessionDefinition, io: StepIO, step_input: str | None) -> StepPlan:
    return StepPlan(DEAD_END)


class First(dex.Step[str]):
    def execute(self, context: dex.Context, input: str) -> dex.StepDecision:
        raise NotImplementedError


class Second(First):
    pass


def translator(first: StepOptions | None = None) -> Translator:
    steps = {
        "First": StepDefinition(
            name="First",
            options=first or StepOptions(),
            execute=plain,
            execute_loads=lambda step_input: (MapLoad("AgentToolCalls", step_input or ""),),
        ),
        "Second": StepDefinition(
            name="Second",
            options=StepOptions(execute_locks=("PendingInterrupts",)),
            execute=plain,
            execute_loads=lambda step_input: (MapLoad("AgentMessages"),),
        ),
    }
    session = SessionDefinition(
        flow_type="Support",
        runner=Builder(),
        options=AgentSessionOptions(),
        steps=steps,
        rpcs={},
        start_step="First",
    )
    return Translator(session, {"First": First, "Second": Second})


def test_a_wait_without_conditions_goes_on_at_once() -> None:
    assert translate_wait(Wait()) == dex.Wait.skip_immediately()


def test_conditions_become_those_of_the_sdk_in_the_same_order() -> None:
    wait = Wait(
        (
            ChannelWait("ToolCallResults", at_least=2, at_most=None),
            TimerWait(5),
            ChannelWait("InterruptResolutions", "c 1"),
        )
    )
    assert translate_wait(wait) == dex.Wait.any_of(
        CHANNELS["ToolCallResults"].at_least(2),
        dex.Timer.by_duration(timedelta(seconds=5)),
        CHANNEL_MAPS["InterruptResolutions"].for_one("c 1"),
    )


@pytest.mark.parametrize(
    ("seconds", "whole"), [(0, 0), (0.01, 1), (1.0, 1), (1.2, 2), (1e12, 2**31 - 1)]
)
def test_durations_are_rounded_up_to_whole_seconds(seconds: float, whole: int) -> None:
    assert whole_seconds(seconds) == whole


def test_options_say_everything_and_are_durable() -> None:
    options = translator(
        StepOptions(
            wait_for_timeout_seconds=1.5,
            execute_timeout_seconds=900,
            heartbeat_timeout_seconds=120,
            execute_retry=RetryPolicy(
                initial_interval_seconds=0.2, maximum_attempts=3, total_duration_seconds=60
            ),
            wait_for_locks=("AgentState",),
        )
    ).step_options("First", "c1")
    assert options.wait_for_method_timeout == timedelta(seconds=2)
    assert options.execute_method_timeout == timedelta(seconds=900)
    assert options.heartbeat_timeout == timedelta(seconds=120)
    assert options.execute_retry == dex.RetryPolicy(
        initial_interval=timedelta(seconds=1),
        backoff_coefficient=2.0,
        maximum_interval=timedelta(seconds=100),
        maximum_attempts=3,
        total_duration=timedelta(seconds=60),
    )
    assert options.wait_for_retry is not None
    assert options.wait_for_retry.total_duration == timedelta(days=365)
    assert options.wait_for_durability is options.execute_durability is dex.StepDurability.SYNC
    assert options.wait_for_lock_attributes == (ATTRIBUTES["AgentState"].lock(),)
    assert options.execute_load_attribute_map_instances == (
        ATTRIBUTE_MAPS["AgentToolCalls"].load("c1"),
    )


def test_a_failure_route_brings_the_options_that_the_same_input_asks_for() -> None:
    options = translator(StepOptions(failure_step="Second")).step_options("First", "c1")
    assert options._execute_failure_target is Second
    route = options._execute_failure_options
    assert route is not None
    assert route.execute_load_attribute_maps == (ATTRIBUTE_MAPS["AgentMessages"],)
    assert route.execute_lock_attributes == (ATTRIBUTES["PendingInterrupts"].lock(),)


def test_only_options_that_serve_every_input_are_kept() -> None:
    subject = translator()
    assert subject.step_options("Second", "a") is subject.step_options("Second", "b")
    assert subject.step_options("First", "a") is not subject.step_options("First", "a")


def test_an_empty_key_loads_nothing_because_it_would_mean_the_whole_map() -> None:
    options = translator().step_options("First", None)
    assert options.execute_load_attribute_map_instances == ()
    assert options.execute_load_attribute_maps == ()


def test_a_movement_may_bring_loads_of_its_own() -> None:
    decision = translator().decision(
        go_to(Movement("Second", "in", execute_loads=(MapLoad("AgentMessages", "000000000007"),)))
    )
    (movement,) = decision.movements
    assert (movement.step, movement.input) == (Second, "in")
    assert movement.options is not None
    assert movement.options.execute_load_attribute_maps == ()
    assert movement.options.execute_load_attribute_map_instances == (
        ATTRIBUTE_MAPS["AgentMessages"].load("000000000007"),
    )


def test_decisions_become_those_of_the_sdk() -> None:
    subject = translator()
    assert subject.decision(DEAD_END) == dex.dead_end()
    assert subject.decision(StepDecision(failure_reason="why")) == dex.force_fail("why")
    cancelling = subject.decision(
        StepDecision(movements=(Movement("First"),), cancelled_steps=("Second",))
    )
    assert [movement.step for movement in cancelling.movements] == [First]
    assert cancelling.canceling_steps == (Second,)


def test_an_rpc_may_start_and_cancel_steps_but_not_fail_its_flow() -> None:
    subject = translator()
    plain_answer = subject.rpc_result(RpcResult(output="true"))
    assert plain_answer == dex.RPCResult("true")
    answer = subject.rpc_result(
        RpcResult(
            output="{}",
            decision=StepDecision(movements=(Movement("First", "x"),), cancelled_steps=("Second",)),
        )
    )
    assert [movement.step for movement in answer.next_steps] == [First]
    assert answer.canceling_steps == (Second,)
    with pytest.raises(ValueError, match="cannot fail its Flow"):
        subject.rpc_result(RpcResult(output="", decision=StepDecision(failure_reason="no")))


def test_an_unknown_step_is_named() -> None:
    with pytest.raises(LookupError, match="session Support has no Step 'Third'"):
        translator().decision(go_to(Movement("Third")))
