# twin: shared
"""The session's view of a Flow through the SDK's own Context."""

from collections.abc import Sequence
from datetime import timedelta
from enum import Enum
from types import SimpleNamespace
from typing import Any, cast

import dex
import pytest
from dex._invocation_context import InvocationContext, InvocationMethod
from dex._value_mapper import ValueMapper
from dex.codec import CodecRegistry
from dex.dexpb import dex_pb2 as pb

from dex_agents.sdk import step_io
from dex_agents.sdk.compat import attempt_progress
from dex_agents.sdk.persistence import new_event_stream, persistence_schema
from dex_agents.sdk.step_io import SdkStepIO
from dex_agents.session.ports import PendingMessage, RecoveryError
from tests.sdk_support import NOW, text_value

STATE, CALLS, QUEUE, ANSWERS = (
    "AgentState",
    "AgentToolCalls",
    "QueuedUserMessages",
    "InterruptResolutions",
)


class StoringFlow(dex.Flow[str]):
    def get_persistence_schema(self) -> dex.PersistenceSchema:
        return persistence_schema(new_event_stream(1000))


def context(
    stored: dict[str, str] | None = None,
    loads: Sequence[str] = (),
    *,
    metadata: pb.Context | None = None,
    messages: dict[str, list[str]] | None = None,
    channels: Sequence[str] = (),
    results: pb.ConditionResults | None = None,
    method: InvocationMethod = InvocationMethod.EXECUTE,
) -> InvocationContext:
    """Return a Context over these values, as a Worker makes one for a request."""
    registered = dex.Registry([StoringFlow()])._flow_by_type("StoringFlow")
    waiting = {
        name: pb.ChannelValues(
            messages=[
                pb.ChannelMessage(
                    channel_name=name, value=text_value(text), message_id=f"m{number}"
                )
                for number, text in enumerate(texts, start=1)
            ]
        )
        for name, texts in (messages or {}).items()
    }
    return InvocationContext(
        method,
        registered,
        metadata
        or pb.Context(flow_id="s1", run_id="r1", step_execution_id="RunModel-1", attempt=2),
        ValueMapper(CodecRegistry()),
        [pb.KV(key=key, value=text_value(text)) for key, text in (stored or {}).items()],
        condition_results=results,
        channel_infos={
            name: pb.ChannelInfo(size=len(some.messages)) for name, some in waiting.items()
        },
        loaded_channel_messages=waiting,
        loaded_attribute_map_instances=loads,
        loaded_channel_names=channels,
        loaded_channel_map_instances=channels,
    )


def io_of(made: InvocationContext) -> SdkStepIO:
    return SdkStepIO(cast("dex.Context", made))


def written(made: InvocationContext) -> dict[str, str | None]:
    return {
        write.key: write.value.string_value if write.value.HasField("string_value") else None
        for write in made.attribute_writes.values()
    }


def test_only_what_changed_is_written_and_only_at_the_end() -> None:
    made = context({STATE: "a", "AgentPlan": "p", f"{CALLS}/c1": "x"}, [f"{CALLS}/"])
    io = io_of(made)
    io.set(STATE, "a")
    io.set("AgentUsage", "u")
    io.delete("AgentPlan")
    io.delete("ContextSummary")
    io.set_item(CALLS, "c1", "x")
    io.set_item(CALLS, "c2", "y")
    io.delete_item(CALLS, "c3")
    assert made.attribute_writes == {}
    io.commit()
    assert written(made) == {"AgentUsage": "u", "AgentPlan": None, f"{CALLS}/c2": "y"}


def test_a_write_that_is_taken_back_is_none() -> None:
    made = context({STATE: "a", f"{CALLS}/c1": "x"}, [f"{CALLS}/c1"])
    io = io_of(made)
    io.set(STATE, "b")
    io.set(STATE, "a")
    io.set("AgentUsage", "u")
    io.delete("AgentUsage")
    io.delete_item(CALLS, "c1")
    io.set_item(CALLS, "c1", "x")
    io.commit()
    assert written(made) == {}


def test_a_method_sees_its_own_writes_first() -> None:
    io = io_of(context({STATE: "a"}, [f"{CALLS}/c1"]))
    assert (io.get(STATE), io.get("AgentUsage")) == ("a", None)
    io.set(STATE, "b")
    assert io.get(STATE) == "b"
    io.delete(STATE)
    assert io.get(STATE) is None
    # The SDK refuses to read this instance, which the method did not load.
    io.set_item(CALLS, "c9", "new")
    assert io.get_item(CALLS, "c9") == "new"
    io.delete_item(CALLS, "c9")
    assert io.get_item(CALLS, "c9") is None


def test_what_was_not_loaded_is_no_absent_value() -> None:
    io = io_of(context({f"{CALLS}/c1": "x"}, [f"{CALLS}/c1"]))
    assert io.get_item(CALLS, "c1") == "x"
    with pytest.raises(LookupError, match="AgentToolCalls/c2 is not loaded by RunModel-1"):
        io.get_item(CALLS, "c2")
    with pytest.raises(LookupError, match="all of AgentToolCalls is not loaded"):
        io.item_keys(CALLS)
    with pytest.raises(LookupError, match="QueuedUserMessages is not loaded"):
        io.pending_messages(QUEUE)


def test_writes_to_what_was_not_loaded_are_always_sent() -> None:
    made = context({f"{CALLS}/c1": "x"}, [])
    io = io_of(made)
    io.set_item(CALLS, "c1", "x")
    io.delete_item(CALLS, "c2")
    io.commit()
    assert written(made) == {f"{CALLS}/c1": "x", f"{CALLS}/c2": None}


def test_keys_include_the_methods_own_writes_and_any_characters() -> None:
    io = io_of(context({f"{CALLS}/c%201": "x", f"{CALLS}/b": "y"}, [f"{CALLS}/"]))
    assert io.item_keys(CALLS) == ["b", "c 1"]
    assert io.get_item(CALLS, "c 1") == "x"
    io.set_item(CALLS, "a", "z")
    io.delete_item(CALLS, "b")
    assert io.item_keys(CALLS) == ["a", "c 1"]


def test_channels_count_and_show_what_waits_with_the_methods_own_changes() -> None:
    made = context(
        messages={QUEUE: ["one", "two"], f"{ANSWERS}/c1": ["yes"]},
        channels=[QUEUE, f"{ANSWERS}/c1"],
        method=InvocationMethod.RPC,
    )
    io = io_of(made)
    assert io.channel_size(QUEUE) == 2
    assert io.channel_size(ANSWERS, "c1") == 1
    assert io.channel_size(ANSWERS, "c2") == 0
    io.publish(QUEUE, "three")
    io.publish(ANSWERS, "no", "c2")
    io.delete_message(QUEUE, "m1")
    io.delete_message(ANSWERS, "m1", "c1")
    assert io.channel_size(QUEUE) == 2
    assert io.channel_size(ANSWERS, "c1") == 0
    assert io.channel_size(ANSWERS, "c2") == 1
    assert io.pending_messages(QUEUE) == [PendingMessage("m2", "two")]
    assert io.pending_messages(ANSWERS, "c1") == []
    io.commit()
    assert [(one.channel_name, one.value.string_value) for one in made.publications] == [
        (QUEUE, "three"),
        (f"{ANSWERS}/c2", "no"),
    ]
    assert [(one.channel_name, one.message_id) for one in made.channel_deletions] == [
        (QUEUE, "m1"),
        (f"{ANSWERS}/c1", "m1"),
    ]


def test_wait_results_and_timers_are_those_of_the_finished_wait() -> None:
    done, waiting = pb.CONDITION_STATUS_COMPLETED, pb.CONDITION_STATUS_WAITING
    results = pb.ConditionResults(
        channel_results=[
            pb.ChannelResult(
                condition_status=done, channel_name=f"{ANSWERS}/c1", values=[text_value("yes")]
            ),
            pb.ChannelResult(condition_status=waiting, channel_name=QUEUE),
        ],
        timer_results=[
            pb.TimerResult(condition_status=waiting),
            pb.TimerResult(condition_status=done),
        ],
    )
    io = io_of(context(results=results))
    assert io.wait_results(ANSWERS, "c1") == ("yes",)
    assert io.wait_results(QUEUE) == ()
    assert (io.has_timer_fired(), io.has_timer_fired(1), io.has_timer_fired(2)) == (
        False,
        True,
        False,
    )


def test_what_the_engine_says_of_the_call() -> None:
    metadata = pb.Context(
        flow_id="s1",
        run_id="r1",
        step_execution_id="RecordToolFailure-3",
        attempt=2,
        recovery_error=pb.RecoveryErrorInfo(detail="lost", error_type="WORKER_DISCONNECTED"),
        last_heartbeat_value=text_value("page 2"),
    )
    io = io_of(context(metadata=metadata))
    assert (io.flow_id, io.run_id, io.step_execution_id) == ("s1", "r1", "RecordToolFailure-3")
    assert io.attempt == 2
    assert io.recovery_error == RecoveryError("lost", "WORKER_DISCONNECTED")
    assert io.heartbeat_checkpoint == "page 2"
    rpc = io_of(context(metadata=pb.Context(flow_id="s1"), method=InvocationMethod.RPC))
    assert (rpc.step_execution_id, rpc.attempt) == ("", 1)
    assert (rpc.recovery_error, rpc.heartbeat_checkpoint) == (None, None)


@pytest.mark.parametrize(("behind_seconds", "expected_seconds"), [(100, 0), (-100, 100)])
def test_now_is_the_later_of_the_workers_clock_and_the_first_attempt(
    behind_seconds: int, expected_seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_io, "utc_now", lambda: NOW - timedelta(seconds=behind_seconds))
    metadata = pb.Context(flow_id="s1", first_attempt_timestamp=int(NOW.timestamp()))
    io = io_of(context(metadata=metadata))
    assert io.now == NOW + timedelta(seconds=expected_seconds)
    monkeypatch.setattr(step_io, "utc_now", lambda: NOW + timedelta(days=1))
    assert io.now == NOW + timedelta(seconds=expected_seconds)


def test_the_progress_of_a_failed_call_is_read_where_the_sdk_has_it() -> None:
    class Progress(Enum):
        NOT_STARTED = 1

    def error(**newer: object) -> Any:
        return SimpleNamespace(detail="", error_type="", **newer)

    assert attempt_progress(dex.RecoveryErrorInfo("d", "t")) is None
    assert attempt_progress(error(attempt_progress=Progress.NOT_STARTED)) == "NOT_STARTED"
    assert attempt_progress(error(attempt_progress="NOT_COMPLETED")) == "NOT_COMPLETED"
    assert attempt_progress(error(attempt_progress=3)) is None
