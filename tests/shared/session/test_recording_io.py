# twin: shared
"""The recording StepIO reads its own writes, keeps only changes, and refuses unloaded reads."""

from typing import Any

import pytest

from dex_agents.session.ports import MapLoad, PendingMessage, StepIO
from dex_agents.session.recording_io import RecordingStepIO
from tests.shared.session.flows import NOW


def io_of(**arguments: Any) -> RecordingStepIO:
    defaults: dict[str, Any] = {"attributes": {"A": "1"}, "maps": {"M": {"k": "1", "l": "2"}}}
    return RecordingStepIO(flow_id="f", now=NOW, **{**defaults, **arguments})


def test_it_is_a_step_io() -> None:
    io: StepIO = io_of(step_execution_id="RunModel-1", run_id="r", heartbeat_checkpoint="c")
    assert (io.flow_id, io.run_id, io.step_execution_id) == ("f", "r", "RunModel-1")
    assert (io.attempt, io.now, io.recovery_error, io.heartbeat_checkpoint) == (1, NOW, None, "c")


def test_attributes_read_their_own_writes() -> None:
    io = io_of()
    assert (io.get("A"), io.get("B")) == ("1", None)
    io.set("A", "2")
    io.set("B", "3")
    assert (io.get("A"), io.get("B")) == ("2", "3")
    io.delete("A")
    assert io.get("A") is None
    assert io.writes.attributes == {"A": None, "B": "3"}


def test_what_stays_as_it_was_is_not_written() -> None:
    io = io_of(loaded_maps=[MapLoad("M")])
    io.set("A", "1")
    io.set_item("M", "k", "1")
    io.delete("B")
    io.delete_item("M", "z")
    assert io.writes.is_empty


def test_a_value_that_is_set_back_is_not_written() -> None:
    io = io_of(loaded_maps=[MapLoad("M")])
    io.set("A", "2")
    io.set("A", "1")
    io.delete("A")
    io.set("A", "1")
    io.set("B", "2")
    io.delete("B")
    io.set_item("M", "k", "2")
    io.set_item("M", "k", "1")
    io.set_item("M", "z", "1")
    io.delete_item("M", "z")
    assert io.writes.is_empty


def test_the_given_mappings_stay_as_they_are() -> None:
    attributes, maps = {"A": "1"}, {"M": {"k": "1"}}
    io = io_of(attributes=attributes, maps=maps, loaded_maps=[MapLoad("M")])
    io.set("A", "2")
    io.delete_item("M", "k")
    assert (attributes, maps) == ({"A": "1"}, {"M": {"k": "1"}})


def test_only_loaded_instances_can_be_read() -> None:
    io = io_of(loaded_maps=[MapLoad("M", "k"), MapLoad("M", "gone")])
    assert (io.get_item("M", "k"), io.get_item("M", "gone")) == ("1", None)
    with pytest.raises(LookupError, match="M/l is not loaded"):
        io.get_item("M", "l")
    with pytest.raises(LookupError, match="N is not loaded"):
        io.item_keys("N")
    assert io.item_keys("M") == ["k"]


def test_an_instance_that_was_written_can_be_read() -> None:
    io = io_of()
    io.set_item("M", "new", "9")
    assert io.get_item("M", "new") == "9"
    io.delete_item("M", "new")
    assert io.get_item("M", "new") is None
    assert io.writes.items == {("M", "new"): None}


def test_keys_are_sorted_and_see_writes() -> None:
    io = io_of(loaded_maps=[MapLoad("M")])
    io.set_item("M", "a", "1")
    io.delete_item("M", "k")
    assert io.item_keys("M") == ["a", "l"]
    assert io_of(loaded_maps=[MapLoad("Empty")]).item_keys("Empty") == []


def test_channels_keep_their_order_and_count_their_writes() -> None:
    waiting = [PendingMessage("1", "a"), PendingMessage("2", "b")]
    io = io_of(channel_sizes={("C", None): 2, ("D", "k"): 1}, pending={("C", None): waiting})
    assert io.pending_messages("C") is waiting
    io.publish("C", "c")
    io.publish("D", "d", "k")
    io.delete_message("C", "1")
    assert (io.channel_size("C"), io.channel_size("D", "k"), io.channel_size("D")) == (2, 2, 0)
    assert io.pending_messages("C") == [PendingMessage("2", "b")]
    assert io.writes.published == [("C", None, "c"), ("D", "k", "d")]
    assert io.writes.deleted_messages == [("C", None, "1")]
    with pytest.raises(LookupError, match="E is not loaded by RPC"):
        io.pending_messages("E")


def test_a_wait_shows_what_it_consumed_and_which_timers_fired() -> None:
    io = io_of(wait_results={("C", "k"): ["x"]}, fired_timers=(1,))
    assert (io.wait_results("C", "k"), io.wait_results("C")) == (["x"], ())
    assert (io.has_timer_fired(), io.has_timer_fired(1)) == (False, True)
    assert io_of().wait_results("C") == ()
