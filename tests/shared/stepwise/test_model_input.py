# twin: shared
"""Prove that model input is built from committed state, with every call paired."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from dex_agents.model.messages import AgentMessage
from dex_agents.model.options import AgentSessionOptions
from dex_agents.model.tool_calls import AgentToolCall, ToolCallStatus
from dex_agents.runner.turn_values import AgentTurn
from dex_agents.stepwise.model_input import build_input_items, pair_tool_calls, results_to_store
from dex_agents.stepwise.model_types import (
    ModelInputItem,
    ModelOutputItem,
    ToolResultItem,
    UserTextItem,
)
from dex_agents.stepwise.stored_items import (
    model_output_message,
    tool_result_message,
    user_text_message,
)
from tests.shared.stepwise.histories import (
    UNKNOWN_OUTCOME,
    call_item,
    check_paired,
    message_item,
    reasoning_item,
    record,
    result_item,
    stored,
)

USER = UserTextItem("hello")


def turn_of(
    messages: Sequence[AgentMessage], records: Sequence[AgentToolCall] = (), turn_id: str = "turn-1"
) -> AgentTurn:
    return AgentTurn(
        flow_id="session-1",
        turn_id=turn_id,
        attempt=1,
        messages=messages,
        framework_run_state=None,
        tool_calls={call.tool_call_id: call for call in records},
        options=AgentSessionOptions(),
    )


def paired(*items: ModelInputItem, turn_id: str = "turn-1") -> tuple[ModelInputItem, ...]:
    return pair_tool_calls([(turn_id, item) for item in items])


def test_a_complete_history_stays_as_it_is() -> None:
    history = (
        USER,
        reasoning_item(),
        message_item("a moment"),
        call_item("a"),
        call_item("b"),
        result_item("a"),
        result_item("b"),
        call_item("c"),
        result_item("c"),
        message_item("done"),
        UserTextItem("thanks"),
    )
    assert paired(*history) == history


def test_results_come_in_the_order_of_their_calls() -> None:
    items = paired(
        USER, call_item("a"), call_item("b"), result_item("b", "second"), result_item("a", "first")
    )
    assert items[3:] == (result_item("a", "first"), result_item("b", "second"))


def test_a_missing_result_says_that_the_outcome_is_unknown() -> None:
    items = paired(USER, call_item("a"), call_item("b"), result_item("b"), message_item("next"))
    assert items[3:] == (
        result_item("a", UNKNOWN_OUTCOME),
        result_item("b"),
        message_item("next"),
    )


def test_a_result_without_its_call_never_reaches_a_provider() -> None:
    assert paired(USER, result_item("ghost"), message_item("done")) == (USER, message_item("done"))


def test_a_second_result_of_one_call_is_left_out() -> None:
    items = paired(USER, call_item("a"), result_item("a", "first"), result_item("a", "second"))
    assert items == (USER, call_item("a"), result_item("a", "first"))


def test_a_user_text_between_a_call_and_its_result_comes_after_both() -> None:
    interruption = UserTextItem("wait")
    items = paired(USER, call_item("a"), interruption, result_item("a"), message_item("ok"))
    assert items == (USER, call_item("a"), result_item("a"), interruption, message_item("ok"))


def test_an_id_that_an_earlier_turn_used_keeps_its_own_result() -> None:
    items = pair_tool_calls(
        [
            ("turn-1", USER),
            ("turn-1", call_item("a")),
            ("turn-2", USER),
            ("turn-2", call_item("a")),
            ("turn-2", result_item("a", "of the second turn")),
        ]
    )
    assert items == (
        USER,
        call_item("a"),
        result_item("a", UNKNOWN_OUTCOME),
        USER,
        call_item("a"),
        result_item("a", "of the second turn"),
    )


def test_results_not_stored_yet_come_from_the_final_records_in_the_models_order() -> None:
    messages = stored(
        [user_text_message("hi")] + [model_output_message(call_item(name)) for name in "abc"]
    )
    turn = turn_of(
        messages,
        [
            record("c", ToolCallStatus.REJECTED, order=2),
            record("a", output="alpha", order=0),
            record("b", ToolCallStatus.OUTCOME_UNKNOWN, order=1),
        ],
    )
    results = results_to_store(turn)
    assert [result.tool_call_id for result in results] == ["a", "b", "c"]
    assert [result.output for result in results] == [
        "alpha",
        UNKNOWN_OUTCOME,
        "The tool was not run: the call was rejected.",
    ]
    items = build_input_items(turn.messages, turn.turn_id, results)
    assert items[-3:] == results


def test_stored_results_are_not_stored_again() -> None:
    messages = stored(
        [
            user_text_message("hi"),
            model_output_message(call_item("a")),
            tool_result_message(result_item("a")),
            model_output_message(call_item("b")),
        ]
    )
    results = results_to_store(turn_of(messages, [record("a"), record("b")]))
    assert [result.tool_call_id for result in results] == ["b"]


def test_earlier_turns_get_no_results_from_this_turns_records() -> None:
    first = stored([user_text_message("hi"), model_output_message(call_item("a"))], "turn-1")
    second = stored([user_text_message("more")], "turn-2", first_sequence=3)
    turn = turn_of([*first, *second], [record("a", turn_id="turn-2")], "turn-2")
    assert results_to_store(turn) == ()
    assert build_input_items(turn.messages, turn.turn_id, ())[2] == result_item(
        "a", UNKNOWN_OUTCOME
    )


def test_a_call_that_is_not_over_when_its_turn_ends_is_stored_as_unknown() -> None:
    messages = stored([model_output_message(call_item("a")), model_output_message(call_item("b"))])
    results = results_to_store(turn_of(messages, [record("a", ToolCallStatus.APPROVED)]))
    assert [result.output for result in results] == [UNKNOWN_OUTCOME, UNKNOWN_OUTCOME]


IDS = st.sampled_from(["a", "b", "c", ""])
ITEMS = st.one_of(
    st.builds(UserTextItem, st.text(max_size=3)),
    st.builds(message_item, st.sampled_from(["x", "y"])),
    st.builds(reasoning_item),
    st.builds(call_item, IDS),
    st.builds(result_item, IDS, st.sampled_from(["one", "two"])),
)
ENTRIES = st.lists(st.tuples(st.sampled_from(["turn-1", "turn-2"]), ITEMS), max_size=30)


@given(ENTRIES)
def test_whatever_is_stored_calls_and_results_are_paired(
    entries: list[tuple[str, ModelInputItem]],
) -> None:
    items = pair_tool_calls(entries)
    check_paired(items)

    def others(found: Sequence[ModelInputItem]) -> list[UserTextItem | ModelOutputItem]:
        return [item for item in found if not isinstance(item, ToolResultItem)]

    assert others(items) == others([item for _, item in entries])
    known = {item for _, item in entries if isinstance(item, ToolResultItem)}
    made_up = [r for r in items if isinstance(r, ToolResultItem) and r not in known]
    assert all(result.output == UNKNOWN_OUTCOME for result in made_up)


@given(ENTRIES)
def test_pairing_what_is_paired_changes_nothing(entries: list[tuple[str, ModelInputItem]]) -> None:
    items = pair_tool_calls([("turn-1", item) for _, item in entries])
    assert pair_tool_calls([("turn-1", item) for item in items]) == items
