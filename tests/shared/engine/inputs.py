# twin: shared
"""Hypothesis strategies for what the kernel is asked to do."""

from hypothesis import strategies as st

from dex_agents.engine.kernel.messages import Decision, StepMovement
from dex_agents.engine.kernel.options import MethodOptions, RetryPolicy, StepOptions
from dex_agents.engine.kernel.values import NULL, Value, ValueKind, text_value
from dex_agents.engine.kernel.waits import (
    ChannelCondition,
    TimerCondition,
    WaitingCondition,
    WaitMode,
)

CHANNELS = ("c", "map/x")
LOCKS = ("a", "b")
ATTRIBUTES = ("a", "b", "map/x", "map/y")
STEP_TYPES = ("A", "B", "C")
FAILURE_STEP = "R"

# Everything that UTF-8 can hold: the session replaces lone surrogates before it gets here.
plain_text = st.text(st.characters(codec="utf-8"), max_size=12)
# Seconds since the epoch; JSON and SQLite keep every bit of a float.
moments = st.floats(min_value=0, max_value=4e9)

values = (
    st.just(NULL)
    | plain_text.map(text_value)
    | st.builds(
        Value,
        st.sampled_from([ValueKind.BOOL, ValueKind.INT, ValueKind.DOUBLE]),
        st.just(""),
        plain_text,
    )
    | st.builds(Value, st.just(ValueKind.OBJECT), plain_text, st.binary(max_size=12))
)

retries = st.builds(
    RetryPolicy,
    initial_interval=st.sampled_from([0.0, 1.0, 4.0]),
    coefficient=st.sampled_from([1.0, 2.0]),
    maximum_interval=st.sampled_from([3.0, 100.0]),
    maximum_attempts=st.sampled_from([0, 0, 2, 3]),
    total_duration=st.sampled_from([5.0, 40.0, 1e6]),
)
methods = st.builds(
    MethodOptions,
    timeout=st.sampled_from([8.0, 1000.0]),
    retry=retries,
    locks=st.sampled_from([(), (), ("a",), ("b",), ("a", "b")]),
    load_attributes=st.just(("map/",)),
    load_channels=st.just(CHANNELS),
)


@st.composite
def step_options(draw: st.DrawFn, may_fail_over: bool = True) -> StepOptions:
    has_route = may_fail_over and draw(st.booleans())
    return StepOptions(
        wait_for=draw(methods),
        execute=draw(methods),
        heartbeat_timeout=draw(st.sampled_from([6.0, 60.0])),
        skips_wait_for=draw(st.booleans()),
        wait_failure_proceeds=draw(st.booleans()),
        failure_step=FAILURE_STEP if has_route else None,
        failure_options=draw(step_options(may_fail_over=False)) if has_route else None,
    )


# Few distinct ones: what matters is how they meet.
movements = st.builds(
    StepMovement,
    st.sampled_from(STEP_TYPES),
    st.integers(0, 999).map(lambda number: text_value(str(number))),
    step_options(),
)


@st.composite
def channel_conditions(draw: st.DrawFn) -> ChannelCondition:
    at_least = draw(st.integers(0, 2))
    at_most = draw(st.none() | st.integers(at_least, at_least + 2))
    return ChannelCondition(draw(st.sampled_from(CHANNELS)), at_least, at_most)


timer_conditions = st.builds(TimerCondition, st.sampled_from([0.0, 1.0, 3.0, 20.0]))


@st.composite
def waiting_conditions(draw: st.DrawFn) -> WaitingCondition:
    mode = draw(st.sampled_from(WaitMode))
    timers = draw(st.lists(timer_conditions, max_size=2))
    channels = draw(st.lists(channel_conditions(), max_size=3))
    if mode is not WaitMode.COMBINATIONS:
        return WaitingCondition(mode=mode, timers=tuple(timers), channels=tuple(channels))
    named_timers = [TimerCondition(t.seconds, f"t{i}") for i, t in enumerate(timers)]
    named_channels = [
        ChannelCondition(c.channel, c.at_least, c.at_most, f"c{i}") for i, c in enumerate(channels)
    ]
    ids = [t.condition_id for t in named_timers] + [c.condition_id for c in named_channels]
    combination = st.lists(st.sampled_from(ids), min_size=1, unique=True) if ids else st.nothing()
    combinations = draw(st.lists(combination, min_size=1, max_size=3)) if ids else []
    return WaitingCondition(
        mode=mode,
        timers=tuple(named_timers),
        channels=tuple(named_channels),
        combinations=tuple(map(tuple, combinations)),
    )


@st.composite
def decisions(draw: st.DrawFn) -> Decision:
    kinds = st.lists(st.sampled_from(STEP_TYPES), max_size=2, unique=True).map(tuple)
    rarely = st.integers(0, 7).map(lambda number: number == 7)
    return Decision(
        movements=tuple(draw(st.lists(movements, min_size=draw(st.integers(0, 1)), max_size=2))),
        cancelled_types=draw(kinds) if draw(rarely) else (),
        cancelled_sibling_types=draw(kinds) if draw(rarely) else (),
        completes=draw(rarely),
        fail_reason="it must" if draw(rarely) and draw(rarely) else None,
        output=draw(st.none() | st.just(text_value("result"))),
    )
