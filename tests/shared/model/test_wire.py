# twin: shared
"""Every wire type keeps its JSON, reads what other releases wrote, and says what it cannot read."""

import json
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex_agents.errors import StoredValueError
from dex_agents.model.messages import AgentMessage, AgentMessageIndex, MessageRole
from dex_agents.model.requests import AgentSnapshot
from dex_agents.model.state import AgentSessionStartInput, AgentState, AgentUsage
from dex_agents.model.tool_calls import AgentToolCall, ToolCallStatus, ToolEffect
from dex_agents.model.wire import WireValue, cached_decoder, json_text, time_text
from tests.shared.model.samples import MESSAGE, MOMENT, SAMPLES, STATE, TOOL_CALL

GOLDEN = Path(__file__).resolve().parents[2] / "golden"

texts = st.text()
optional_texts = st.none() | st.text(st.characters(exclude_categories=["Cs"]))


def name_of(value: WireValue) -> str:
    return type(value).__name__


def all_wire_types() -> set[str]:
    found: set[str] = set()
    waiting: list[type[WireValue]] = [WireValue]
    while waiting:
        for subtype in waiting.pop().__subclasses__():
            waiting.append(subtype)
            if subtype.__module__.startswith("dex_agents."):
                found.add(subtype.__name__)
    return found


def test_every_wire_type_has_a_sample_and_a_golden_file() -> None:
    names = {name_of(sample) for sample in SAMPLES}
    assert names == all_wire_types()
    assert {path.stem for path in GOLDEN.glob("*.json")} == names


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_the_json_of_a_wire_type_does_not_change(sample: WireValue) -> None:
    golden = json.loads((GOLDEN / f"{name_of(sample)}.json").read_text(encoding="utf-8"))
    assert sample.to_json() == golden
    assert type(sample).from_json(golden) == sample


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_text_is_compact_json_and_reads_back(sample: WireValue) -> None:
    text = sample.to_text()
    assert text == json.dumps(sample.to_json(), ensure_ascii=False, separators=(",", ":"))
    assert type(sample).from_text(text) == sample


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_unknown_keys_are_kept_and_written_back(sample: WireValue) -> None:
    stored = {**sample.to_json(), "from_the_future": {"a": [1, None]}}
    value = type(sample).from_json(stored)
    assert value == sample
    assert "from_the_future" not in repr(value)
    assert value.to_json() == stored
    assert replace(value).to_json() == stored


def test_unknown_keys_of_nested_values_are_kept() -> None:
    stored = AgentSnapshot(state=STATE, messages=(MESSAGE,)).to_json()
    stored["state"] = {**STATE.to_json(), "mood": "good"}
    stored["messages"] = [{**MESSAGE.to_json(), "stars": 5}]
    assert AgentSnapshot.from_json(stored).to_json() == stored


def test_the_sum_of_usages_keeps_unknown_counts() -> None:
    total = AgentUsage.from_json({"input_tokens": 1, "audio_tokens": 4}) + AgentUsage(
        input_tokens=2, model_calls=1
    )
    assert total == AgentUsage(input_tokens=3, model_calls=1)
    assert total.to_json()["audio_tokens"] == 4


def test_a_missing_key_takes_its_default() -> None:
    assert AgentState.from_text("{}") == AgentState()
    assert AgentMessageIndex.from_text("{}").window_first_sequence == 1


def test_fields_that_are_none_are_left_out_and_null_reads_as_none() -> None:
    assert "last_turn_error" not in AgentState().to_json()
    assert AgentState.from_json({"last_turn_error": None}) == AgentState()


@pytest.mark.parametrize(
    ("wire_type", "text", "message"),
    [
        (AgentMessage, "{", "AgentMessage: not valid JSON"),
        (AgentMessage, "[]", "AgentMessage: expected an object, found a list"),
        (AgentToolCall, "{}", "AgentToolCall.tool_call_id: is missing"),
        (AgentState, '{"turn_number":"1"}', "AgentState.turn_number: expected an integer, found"),
        (AgentState, '{"turn_number":true}', "AgentState.turn_number: expected an integer, found"),
        (AgentState, '{"turn_number":1.0}', "AgentState.turn_number: expected an integer, found"),
        (AgentState, '{"turn_number":null}', "AgentState.turn_number: expected an integer, found"),
        (AgentState, '{"accepts_turn_control":1}', "AgentState.accepts_turn_control: expected a b"),
        (AgentState, '{"status":"sleeping"}', "AgentState.status: expected one of waiting_for"),
        (AgentState, '{"status":[]}', "AgentState.status: expected one of waiting_for"),
        (AgentSessionStartInput, '{"session_settings":[]}', "expected an object, found a list"),
        (AgentSnapshot, '{"messages":{}}', "AgentSnapshot.messages: expected a list, found an obj"),
        (AgentSnapshot, '{"messages":[{}]}', "AgentSnapshot.messages: AgentMessage.sequence: is m"),
        (AgentSnapshot, '{"state":5}', "AgentSnapshot.state: AgentState: expected an object"),
    ],
)
def test_what_cannot_be_read_names_type_and_field(
    wire_type: type[WireValue], text: str, message: str
) -> None:
    with pytest.raises(StoredValueError) as raised:
        wire_type.from_text(text)
    assert message in str(raised.value)


@pytest.mark.parametrize("text", ["yesterday", "2026-12-01T00:00:00", 5, None])
def test_a_stored_time_needs_an_offset(text: object) -> None:
    with pytest.raises(StoredValueError, match=r"AgentMessage\.created_at: expected a time"):
        # The wrong type is what is tested.
        AgentMessage.from_json({**MESSAGE.to_json(), "created_at": text})  # type: ignore[dict-item]


def test_times_are_stored_in_utc_with_their_offset() -> None:
    assert time_text(MOMENT) == "2026-12-01T04:05:06.789000+00:00"
    elsewhere = MOMENT.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert time_text(elsewhere) == time_text(MOMENT)
    stored = {**MESSAGE.to_json(), "created_at": "2026-12-01T06:05:06.789+02:00"}
    assert AgentMessage.from_json(stored).created_at == MOMENT
    assert AgentMessage.from_json(stored).created_at.tzinfo is UTC
    with pytest.raises(ValueError, match="offset"):
        time_text(datetime(2026, 12, 1))


def test_stored_text_never_holds_a_lone_surrogate() -> None:
    message = replace(MESSAGE, text="a\ud800b", framework_item="\ud83d\ude00")
    stored = AgentMessage.from_text(message.to_text())
    assert stored.text == "a�b"
    assert stored.framework_item == "😀"


def test_values_without_a_json_form_are_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text({"ratio": float("nan")})
    with pytest.raises(TypeError):
        json_text({"tags": {1, 2}})


def test_a_field_type_that_json_cannot_carry_is_refused() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Odd(WireValue):
        value: bytes | str

    with pytest.raises(TypeError, match="cannot have a field of type"):
        Odd(value="x").to_json()


def test_short_texts_are_decoded_once() -> None:
    decoded: list[str] = []

    def decode(text: str) -> int:
        decoded.append(text)
        return len(text)

    cached = cached_decoder(decode, max_entries=2, max_characters=3)
    assert [cached("abc"), cached("abc"), cached("abcd"), cached("abcd")] == [3, 3, 4, 4]
    assert decoded == ["abc", "abcd", "abcd"]


def test_no_field_of_a_wire_type_is_positional() -> None:
    for sample in SAMPLES:
        assert all(field.kw_only for field in fields(sample)), name_of(sample)


@given(
    sequence=st.integers(),
    role=st.sampled_from(MessageRole),
    item=st.text(),
    text=st.text(),
    created_at=st.datetimes(datetime(1971, 1, 1), datetime(2500, 1, 1), timezones=st.just(UTC)),
    call_id=optional_texts,
)
def test_any_message_reads_back(
    sequence: int,
    role: MessageRole,
    item: str,
    text: str,
    created_at: datetime,
    call_id: str | None,
) -> None:
    message = AgentMessage(
        sequence=sequence,
        turn_id="turn-1",
        role=role,
        framework_item=item,
        text=text,
        created_at=created_at,
        tool_call_id=call_id,
    )
    assert AgentMessage.from_text(message.to_text()) == message


@given(
    status=st.sampled_from(ToolCallStatus),
    effect=st.sampled_from(ToolEffect),
    output=optional_texts,
    error=optional_texts,
    extra=st.dictionaries(st.text(min_size=1).map(lambda key: f"x-{key}"), st.integers()),
)
def test_any_record_reads_back_with_unknown_keys(
    status: ToolCallStatus,
    effect: ToolEffect,
    output: str | None,
    error: str | None,
    extra: dict[str, int],
) -> None:
    record = replace(TOOL_CALL, status=status, effect=effect, output=output, error=error)
    stored = {**record.to_json(), **extra}
    text = json.dumps(stored)
    assert AgentToolCall.from_text(text) == record
    assert json.loads(AgentToolCall.from_text(text).to_text()) == stored
