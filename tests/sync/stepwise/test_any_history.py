# twin: generated from tests/aio/stepwise/test_any_history.py by tools/twin; do not edit.
"""Prove on arbitrary histories that no request has a call without its result, or the reverse."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from dex_agents.model.messages import AgentMessage, FrameworkMessage, MessageRole
from dex_agents.model.tool_calls import AgentToolCall, ToolCallStatus, ToolEffect
from dex_agents.runner.outcomes import ToolCallsRequested
from dex_agents.stepwise.model_types import ModelRequest
from dex_agents_sync.stepwise.runner import StepwiseAgentRunner
from dex_agents_sync.stepwise.scripted import ScriptedModelClient
from dex_agents.stepwise.scripted_reply import ScriptedModelReply, ScriptedToolCall
from dex_agents_sync.tools.function_tool import function_tool
from tests.sync.stepwise.contexts import model_of, runner_of, turn_context
from tests.invariants import check_pairs
from tests.shared.stepwise.histories import check_paired, record, stored

IDS = st.sampled_from(["a", "b", "c"])
KINDS = ("user_text", "tool_result", "message", "reasoning", "tool_call", "of a newer release")
MESSAGES = st.builds(
    FrameworkMessage,
    role=st.sampled_from(MessageRole),
    framework_item=st.sampled_from(KINDS).map(lambda kind: f'{{"kind":"{kind}"}}'),
    text=st.text(max_size=3),
    tool_call_id=st.none() | IDS,
    tool_name=st.none() | st.just("look"),
    tool_arguments=st.none() | st.just("{}"),
)
FINAL = [status for status in ToolCallStatus if status.is_final]
RECORDS = st.lists(
    st.builds(record, IDS, st.sampled_from(FINAL)), unique_by=lambda call: call.tool_call_id
)


@given(st.lists(st.lists(MESSAGES, max_size=12), min_size=1, max_size=3), RECORDS)
def test_any_stored_messages_make_a_valid_request(
    turns: list[list[FrameworkMessage]], records: list[AgentToolCall]
) -> None:
    messages: list[AgentMessage] = []
    for number, turn in enumerate(turns, start=1):
        messages += stored(turn, f"turn-{number}", first_sequence=len(messages) + 1)
    model = model_of(ScriptedModelReply(text="hi"))
    turn_id = f"turn-{len(turns)}"
    runner_of(model).run_model_step(turn_context(messages, records=records, turn_id=turn_id))
    check_paired(model.requests[0].input_items)


@function_tool(effect=ToolEffect.READ)
def look(q: str = "") -> str:
    """Look something up."""
    return q


@dataclass(slots=True)
class Conversation:
    """A session that is driven by hand: what it stores, and the turn that runs."""

    runner: StepwiseAgentRunner
    messages: list[AgentMessage] = field(default_factory=list[AgentMessage])
    records: list[AgentToolCall] = field(default_factory=list[AgentToolCall])
    run_state: str | None = None
    turn_number: int = 0

    @property
    def turn_id(self) -> str:
        return f"turn-{self.turn_number}"

    def store(self, *messages: FrameworkMessage) -> None:
        self.messages += stored(messages, self.turn_id, first_sequence=len(self.messages) + 1)

    def begin_turn(self) -> None:
        self.records.clear()
        self.run_state = None
        self.turn_number += 1
        self.store(self.runner.build_user_message("go on"))

    def step(self) -> bool:
        """Make one model call; tell whether the turn goes on."""
        turn = turn_context(
            list(self.messages),
            run_state=self.run_state,
            records=list(self.records),
            turn_id=self.turn_id,
        )
        outcome = self.runner.run_model_step(turn)
        self.store(*outcome.new_messages)
        if not isinstance(outcome, ToolCallsRequested):
            return False
        self.run_state = outcome.framework_run_state
        for call in outcome.tool_calls:
            order = len(self.records)
            status = FINAL[order % len(FINAL)]
            self.records.append(
                record(call.tool_call_id, status, order=order, turn_id=self.turn_id)
            )
        return True

    def fail(self) -> None:
        turn = turn_context(list(self.messages), records=list(self.records), turn_id=self.turn_id)
        self.store(*self.runner.build_unfinished_turn_messages(turn))


def reply_with(calls: int) -> ScriptedModelReply:
    return ScriptedModelReply(text="so", tool_calls=[ScriptedToolCall("look")] * calls)


def scripted(calls_per_reply: list[int]) -> Callable[[ModelRequest], ScriptedModelReply]:
    left = list(calls_per_reply)
    return lambda request: reply_with(left.pop(0) if left else 0)


@given(
    st.lists(st.integers(0, 3), max_size=12),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.integers(1, 3),
)
def test_a_session_whose_turns_complete_fail_or_reach_the_limit_stays_paired(
    calls_per_reply: list[int], steps_before_failure: list[int], limit: int
) -> None:
    model = ScriptedModelClient(scripted(calls_per_reply))
    runner = runner_of(model, tools=[look], max_model_calls_per_turn=limit)
    conversation = Conversation(runner)
    for steps in steps_before_failure:
        conversation.begin_turn()
        goes_on = True
        for _ in range(steps):
            if goes_on:
                goes_on = conversation.step()
        if goes_on:
            conversation.fail()
        check_pairs(conversation.messages)
    for request in model.requests:
        check_paired(request.input_items)
