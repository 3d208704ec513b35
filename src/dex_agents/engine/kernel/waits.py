# twin: shared
"""Wait conditions: when one holds, and which messages it takes.

Only the winning candidate consumes. Candidates of "any" are tried timers first, then channels, in
the order of declaration; the upper bound of a channel condition never blocks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from dex_agents.engine.kernel.values import Value


class WaitMode(StrEnum):
    """Which conditions of a wait must hold."""

    ALL = "all"
    ANY = "any"
    COMBINATIONS = "combinations"


@dataclass(frozen=True, slots=True)
class TimerCondition:
    """Hold once `seconds` have passed since the wait was committed."""

    seconds: float
    condition_id: str = ""


@dataclass(frozen=True, slots=True)
class ChannelCondition:
    """Hold while a channel has `at_least` messages; take up to `at_most` (`None`: all)."""

    channel: str
    at_least: int = 1
    at_most: int | None = 1
    condition_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCondition:
    """What a `wait_for` returned; `combinations` lists condition IDs and is for that mode only."""

    mode: WaitMode = WaitMode.ANY
    timers: tuple[TimerCondition, ...] = ()
    channels: tuple[ChannelCondition, ...] = ()
    combinations: tuple[tuple[str, ...], ...] = ()


class ChannelResult(NamedTuple):
    """What one channel condition consumed; `None` when it did not win."""

    channel: str
    values: tuple[Value, ...] | None


@dataclass(frozen=True, slots=True)
class ConditionResults:
    """How a wait ended, one entry per declared condition, in the same order.

    A timer that had fired is `True` also when another condition won. The condition IDs are empty
    tuples where no condition has one.
    """

    timers: tuple[bool, ...] = ()
    channels: tuple[ChannelResult, ...] = ()
    timer_ids: tuple[str, ...] = ()
    channel_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """A satisfied candidate: the number of messages each channel condition takes."""

    taken: Mapping[int, int]


def candidates(condition: WaitingCondition) -> Sequence[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the (timer indexes, channel indexes) of each candidate, in the order to try."""
    timers, channels = range(len(condition.timers)), range(len(condition.channels))
    if not condition.timers and not condition.channels:
        return [((), ())]
    if condition.mode is WaitMode.ALL:
        return [(tuple(timers), tuple(channels))]
    if condition.mode is WaitMode.ANY:
        return [((i,), ()) for i in timers] + [((), (i,)) for i in channels]
    return [
        (
            tuple(i for i in timers if condition.timers[i].condition_id in names),
            tuple(i for i in channels if condition.channels[i].condition_id in names),
        )
        for names in condition.combinations
    ]


def match(
    condition: WaitingCondition, fired: Sequence[bool], sizes: Mapping[str, int]
) -> Match | None:
    """Return the first satisfied candidate, or `None`.

    Args:
        condition: The wait.
        fired: Whether each timer has fired.
        sizes: The number of messages per channel; an absent channel is empty.
    """
    for timer_indexes, channel_indexes in candidates(condition):
        if not all(fired[i] for i in timer_indexes):
            continue
        taken = _allot(condition, channel_indexes, sizes)
        if taken is not None:
            return Match(taken)
    return None


def _allot(
    condition: WaitingCondition, indexes: Sequence[int], sizes: Mapping[str, int]
) -> dict[int, int] | None:
    """Reserve every minimum first, then give out the rest in the order of declaration."""
    left: dict[str, int] = {}
    taken: dict[int, int] = {}
    for i in indexes:
        channel = condition.channels[i]
        available = left.get(channel.channel, sizes.get(channel.channel, 0))
        if available < channel.at_least:
            return None
        taken[i] = channel.at_least
        left[channel.channel] = available - channel.at_least
    for i in indexes:
        channel = condition.channels[i]
        available = left[channel.channel]
        wanted = available if channel.at_most is None else channel.at_most - channel.at_least
        extra = max(0, min(available, wanted))
        taken[i] += extra
        left[channel.channel] = available - extra
    return taken
