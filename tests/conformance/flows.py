# twin: async-only
"""The Flows that the tests run: each in both colours, with the same names on the wire."""

import os
import types
from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

import dex
from dex import Context, RPCResult, StepDecision, StepMovement, Wait, rpc

from tests.conformance.handlers import CANCELLED, Beat, Body, Pause, Write, handler

Decision: TypeAlias = Generator[Beat | Write | Pause, None, StepDecision]
Waiting: TypeAlias = Generator[Beat | Write | Pause, None, Wait]

messages = dex.Channel("messages", str)
control = dex.Channel("control", str)
state = dex.Attribute("state", str)
topic = dex.Attribute("topic", str, dex.AttributeIndex(dex.IndexType.KEYWORD))
balance = dex.Attribute("balance", int)
items = dex.AttributeMap("items", int)
results = dex.Channel("results", str)
numbers = dex.Channel("numbers", int)
letters = dex.Channel("letters", str)
boxes = dex.ChannelMap("boxes", str)
blob = dex.Attribute("blob", bytes)
notes = dex.AttributeMap("notes", dict[str, int])
secret = dex.Attribute("secret", str, hard_delete_on_null=True)
events = dex.Stream("events", str, 1024 * 1024)


@dataclass
class Snapshot:
    """What a Chat holds."""

    state: str
    queued: list[str]


def step(
    colour: str,
    name: str,
    input_type: Any,
    execute: Body,
    wait_for: Body | None = None,
    options: Callable[[], dex.StepOptions] | None = None,
) -> Any:
    """Return a Step class."""
    methods: dict[str, Any] = {"execute": handler(colour, execute)}
    if wait_for is not None:
        methods["wait_for"] = handler(colour, wait_for)
    if options is not None:
        methods["get_step_options"] = lambda self: options()
    return types.new_class(name, (dex.Step[input_type],), {}, lambda body: body.update(methods))


def chat_flow(colour: str) -> Any:
    """Wait for a message or a timer; RPCs publish, read, set and delete."""

    def wait_for(context: Any, step_input: int) -> Waiting:
        state.set(context, "waiting")
        context.set_step_execution_local("note", "left by wait_for")
        timer = dex.Timer.by_duration(timedelta(seconds=step_input), condition_id="t")
        return Wait.any_of(messages.for_one(), timer)
        yield

    def execute(context: Any, step_input: int) -> Decision:
        note = context.get_step_execution_local("note", str)
        if context.has_timer_fired():
            return dex.graceful_complete(f"timer|{note}")
        message = messages.results(context)[0]
        source = context.from_step_execution_id
        return dex.graceful_complete(f"{message}|{note}|{source}|{context.step_execution_id}")
        yield

    await_message = step(colour, "AwaitMessage", int, execute, wait_for)

    class Chat(dex.Flow[int]):
        def get_steps(self) -> Any:
            return dex.StepList.start_step(await_message())

        def get_persistence_schema(self) -> Any:
            return dex.PersistenceSchema.of(messages, control, state, topic)

        @rpc
        def send(self, context: Context, input: str) -> RPCResult[bool]:
            messages.publish(context, input)
            return RPCResult(True)

        @rpc(is_transactional=True)
        def send_now(self, context: Context, input: str) -> RPCResult[bool]:
            messages.publish(context, input)
            return RPCResult(True)

        @rpc(load_channels=(control,))
        def look(self, context: Context) -> RPCResult[Snapshot]:
            queued = [message.value for message in control.pending_messages(context)]
            return RPCResult(Snapshot(state.get(context) or "", queued))

        @rpc(is_transactional=True)
        def queue(self, context: Context, input: str) -> None:
            control.publish(context, input)

        @rpc(load_channels=(control,))
        def first_id(self, context: Context) -> RPCResult[str]:
            return RPCResult(control.pending_messages(context)[0].message_id)

        @rpc(is_transactional=True)
        def drop(self, context: Context, input: str) -> None:
            state.set(context, "dropped")
            control.delete(context, input)

        @rpc
        def fail(self, context: Context) -> RPCResult[bool]:
            raise KeyError("a fault of the handler")

        @rpc
        def set_topic(self, context: Context, input: str) -> None:
            topic.set(context, input)

    return Chat()


def fan_flow(colour: str) -> Any:
    """Start one Step per name and join their results."""

    def split(context: Any, step_input: list[str]) -> Decision:
        moves = []
        for number, name in enumerate(step_input):
            items.set(context, name, number)
            options = dex.StepOptions(execute_load_attribute_map_instances=(items.load(name),))
            moves.append(StepMovement.of(work_step, name, options=options))
        return dex.go_to_many(*moves, StepMovement.of(join_step, len(step_input)))
        yield

    def work(context: Any, step_input: str) -> Decision:
        number = items.get(context, step_input)
        try:
            items.get(context, "not asked for")
            isolation = "not isolated"
        except dex.AttributeMapNotLoadedError:
            isolation = "isolated"
        yield Pause(0.02)
        items.set(context, step_input, number + 10)
        results.publish(context, f"{step_input}:{number}:{isolation}")
        return dex.dead_end()

    def wait_for_all(context: Any, step_input: int) -> Waiting:
        return Wait.until(results.for_n(step_input))
        yield

    def join(context: Any, step_input: int) -> Decision:
        keys = items.get_all_instance_keys(context)
        total = sum(items.get(context, key) for key in keys)
        found = " ".join(sorted(results.results(context)))
        return dex.graceful_complete(f"{found} = {total}, left {results.size(context)}")
        yield

    def join_options() -> dex.StepOptions:
        return dex.StepOptions(execute_load_attribute_maps=(items,))

    split_step = step(colour, "Split", list[str], split)
    work_step = step(colour, "Work", str, work)
    join_step = step(colour, "Join", int, join, wait_for_all, join_options)

    class Fan(dex.Flow[list[str]]):
        def get_steps(self) -> Any:
            return dex.StepList.start_step(split_step()).other_steps(work_step(), join_step())

        def get_persistence_schema(self) -> Any:
            return dex.PersistenceSchema.of(items, results)

    return Fan()


def locks_flow(colour: str) -> Any:
    """Hold a lock in two Steps; an RPC wants it too."""

    def begin(context: Any, step_input: float) -> Decision:
        hold = StepMovement.of(hold_step, step_input)
        return dex.go_to_many(hold, hold)
        yield

    def hold(context: Any, step_input: float) -> Decision:
        before = balance.get(context)
        yield Pause(step_input)
        balance.set(context, before + 1)
        return dex.dead_end()

    def hold_options() -> dex.StepOptions:
        return dex.StepOptions(execute_lock_attributes=(balance.lock(),))

    begin_step = step(colour, "BeginLocks", float, begin)
    hold_step = step(colour, "Hold", float, hold, options=hold_options)

    class Locks(dex.Flow[float]):
        def get_steps(self) -> Any:
            return dex.StepList.start_step(begin_step()).other_steps(hold_step())

        def get_persistence_schema(self) -> Any:
            return dex.PersistenceSchema.of(balance)

        @rpc(lock_attributes=(balance.lock(),))
        def add(self, context: Context, input: int) -> RPCResult[int]:
            balance.set(context, balance.get(context) + input)
            return RPCResult(balance.get(context))

        @rpc
        def read(self, context: Context) -> RPCResult[int]:
            return RPCResult(balance.get(context))

    return Locks()


def cancel_flow(colour: str) -> Any:
    """Run a long Step beside a waiting one; an RPC, or a sibling, cancels both."""

    def begin(context: Any, step_input: str) -> Decision:
        moves = [StepMovement.of(long_step, None), StepMovement.of(parked_step, "other")]
        if step_input == "siblings":
            moves.append(StepMovement.of(winner_step, None))
        return dex.go_to_many(*moves)
        yield

    def run_long(context: Any, step_input: None) -> Decision:
        yield Beat()
        yield Pause(30)
        return dex.force_fail("a cancelled Step must not commit")

    def wait(context: Any, step_input: str) -> Waiting:
        seconds = 0 if step_input == "own" else 600
        return Wait.until(dex.Timer.by_duration(timedelta(seconds=seconds)))
        yield

    def parked(context: Any, step_input: str) -> Decision:
        return dex.graceful_complete(f"parked:{step_input}")
        yield

    def win(context: Any, step_input: None) -> Decision:
        yield Pause(0.2)
        decision = dex.go_to_many(
            StepMovement.of(finish_step, "one"),
            StepMovement.of(finish_step, "two"),
            StepMovement.of(parked_step, "own"),
        )
        return decision.with_canceling_sibling_steps(parked_step).with_canceling_steps(long_step)

    def finish(context: Any, step_input: str) -> Decision:
        return dex.graceful_complete(f"{step_input}|{context.from_step_execution_id}")
        yield

    begin_step = step(colour, "BeginCancel", str, begin)
    long_step = step(colour, "Long", None, run_long)
    parked_step = step(colour, "Parked", str, parked, wait)
    winner_step = step(colour, "Winner", None, win)
    finish_step = step(colour, "Finish", str, finish)

    class Cancel(dex.Flow[str]):
        def get_steps(self) -> Any:
            others = (long_step(), parked_step(), winner_step(), finish_step())
            return dex.StepList.start_step(begin_step()).other_steps(*others)

        @rpc(is_transactional=True)
        def cancel(self, context: Context, input: str) -> RPCResult[bool]:
            moves = (StepMovement.of(finish_step, input),)
            return RPCResult(True, next_steps=moves).with_canceling_steps(long_step, parked_step)

        @rpc
        def was_told_to_stop(self, context: Context) -> RPCResult[bool]:
            return RPCResult(f"{context.flow_id}/Long-1" in CANCELLED)

    return Cancel()


def retry_flow(colour: str) -> Any:
    """Fail in every way, with two attempts and a route for the last failure."""

    def flaky(context: Any, step_input: str) -> Decision:
        kind, _, where = step_input.partition("|")
        if kind == "fail":
            raise OSError(f"attempt {context.attempt} broke")
        if kind == "silent":
            yield Pause(30)
        if kind == "slow":
            for _ in range(300):
                yield Beat()
                yield Pause(0.1)
        if context.attempt == 1:
            if kind == "checkpoint":
                yield Beat({"offset": 5})
                yield Write(events, "first attempt")
                raise OSError("the first attempt dies")
            if kind == "later":
                raise dex.retry_after(1, OSError("later"))
            if kind == "die":
                yield Beat("saved")
                Path(where).write_text(str(os.getpid()))
                yield Pause(60)
        if kind == "stream":
            for number in range(3):
                yield Write(events, f"event {number}")
        seen = ""
        if kind == "checkpoint":
            seen = str(context.get_last_heartbeat_value(dict[str, int]))
        elif kind == "die":
            seen = context.get_last_heartbeat_value(str)
        return dex.graceful_complete(f"{context.attempt}|{seen}")

    def recover(context: Any, step_input: str) -> Decision:
        error = context.recovery_error
        return dex.graceful_complete(
            f"{step_input}|{error.error_type}|{error.detail}|{context.from_step_execution_id}"
        )
        yield

    def flaky_options() -> dex.StepOptions:
        retry = dex.RetryPolicy(maximum_attempts=2, initial_interval=timedelta(seconds=1))
        return dex.StepOptions(
            execute_retry=retry,
            heartbeat_timeout=timedelta(seconds=1),
            execute_method_timeout=timedelta(seconds=2),
        ).on_execute_failure_proceed_to(recover_step)

    recover_step = step(colour, "Recover", str, recover)
    flaky_step = step(colour, "Flaky", str, flaky, options=flaky_options)

    class Retry(dex.Flow[str]):
        def get_steps(self) -> Any:
            return dex.StepList.start_step(flaky_step()).other_steps(recover_step())

        def get_persistence_schema(self) -> Any:
            return dex.PersistenceSchema.of(events)

        @rpc
        def pid(self, context: Context) -> RPCResult[int]:
            return RPCResult(os.getpid())

    return Retry()


def waits_flow(colour: str) -> Any:
    """Wait in every form; the input names the form."""

    def wait_for(context: Any, step_input: str) -> Waiting:
        if step_input == "proceed":
            raise OSError("wait_for broke")
        if step_input == "skip":
            return Wait.skip_immediately()
        if step_input == "at_most":
            for number in range(5):
                numbers.publish(context, number)
            return Wait.all_of(numbers.at_most(3), dex.Timer.by_duration(timedelta(0)))
        if step_input == "at_least":
            return Wait.until(numbers.at_least(2))
        if step_input == "range":
            return Wait.until(numbers.for_range(at_least=1, at_most=2))
        if step_input == "boxes":
            timer = dex.Timer.by_duration(timedelta(seconds=60))
            return Wait.any_of(boxes.for_one("a 1"), boxes.for_one("b"), timer)
        if step_input == "combination":
            one = numbers.for_one(condition_id="n")
            letter = letters.for_one(condition_id="l")
            timer = dex.Timer.by_duration(timedelta(seconds=60), condition_id="t")
            both = dex.ConditionCombination.of(one, letter)
            return Wait.any_combination_of(both, dex.ConditionCombination.of(timer))
        return Wait.until(numbers.for_one())
        yield

    def execute(context: Any, step_input: str) -> Decision:
        if step_input == "proceed":
            error = context.recovery_error
            failed = context.wait_for_method_failed()
            return dex.graceful_complete(f"{failed}|{error.error_type}|{error.detail}")
        if step_input == "drain":
            again = StepMovement.of(waits_step, "drain")
            return dex.force_complete_if_channels_empty("drained", again, numbers)
        if step_input == "force_fail":
            return dex.force_fail("by choice")
        if step_input == "boxes":
            found = f"{boxes.results(context, 'a 1')}{boxes.results(context, 'b')}"
            return dex.graceful_complete(f"{found}{context.has_timer_fired()}")
        taken = list(numbers.results(context))
        more = list(letters.results(context))
        return dex.graceful_complete(f"{taken}{more} left {numbers.size(context)}")
        yield

    def options() -> dex.StepOptions:
        return dex.StepOptions(
            wait_for_retry=dex.RetryPolicy(maximum_attempts=1),
            wait_for_failure=dex.WaitForFailurePolicy.PROCEED,
        )

    waits_step = step(colour, "Waits", str, execute, wait_for, options)

    class WaitForms(dex.Flow[str]):
        def get_steps(self) -> Any:
            return dex.StepList.start_step(waits_step())

        def get_persistence_schema(self) -> Any:
            return dex.PersistenceSchema.of(numbers, letters, boxes, blob, notes, secret)

        @rpc
        def put(self, context: Context, input: list[int]) -> None:
            for number in input:
                numbers.publish(context, number)

        @rpc
        def put_letter(self, context: Context, input: str) -> None:
            letters.publish(context, input)

        @rpc
        def put_box(self, context: Context, input: str) -> None:
            boxes.publish(context, input, f"for {input}")

        @rpc(load_channel_maps=(boxes,))
        def look_boxes(self, context: Context) -> RPCResult[list[str]]:
            return RPCResult([str(key) for key in boxes.get_all_instance_keys(context)])

        @rpc
        def look_box(self, context: Context, input: str) -> RPCResult[list[str]]:
            return RPCResult([m.value for m in boxes.pending_messages(context, input)])

        @rpc(is_transactional=True)
        def set_all(self, context: Context, input: bytes) -> RPCResult[bytes]:
            blob.set(context, input)
            notes.set(context, "x-y", {"n": 1})
            secret.set(context, "hidden")
            return RPCResult(input[::-1])

        @rpc(load_attribute_maps=(notes,))
        def get_all(self, context: Context) -> RPCResult[list[str]]:
            note = {key: notes.get(context, key) for key in notes.get_all_instance_keys(context)}
            return RPCResult([str(blob.get(context)), str(note), str(secret.get(context))])

        @rpc
        def drop_secret(self, context: Context) -> None:
            secret.delete(context)

        @rpc
        def grow(self, context: Context, input: int) -> None:
            blob.set(context, b"z" * input)

    return WaitForms()


def all_flows(colour: str) -> dict[str, Any]:
    """Return all Flows of a colour by Flow type."""
    makers = (chat_flow, fan_flow, locks_flow, cancel_flow, retry_flow, waits_flow)
    flows = [maker(colour) for maker in makers]
    return {flow.get_flow_type(): flow for flow in flows}


def registry(colour: str, flows: dict[str, Any]) -> dex.Registry:
    """Return a Registry of Flows of a colour."""
    return dex.Registry(list(flows.values()), allow_async_handlers=colour == "async")
