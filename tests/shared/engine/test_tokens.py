# twin: shared
"""Prove that a resume token comes back, and that nothing else passes for one."""

import base64
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dex_agents.engine.embedded.tokens import decode_token, encode_token
from dex_agents.engine.store.streams import StreamKey
from dex_agents.errors import InvalidAgentEventResumeTokenError
from tests.shared.engine.inputs import plain_text

KEY = StreamKey("Flow", "events", "flow-1")
keys = st.builds(StreamKey, plain_text, plain_text, plain_text)
message_ids = st.integers(0, (1 << 63) - 1)


def forged(content: object) -> str:
    text = content if isinstance(content, str) else json.dumps(content)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@given(keys, message_ids)
def test_a_token_names_its_event(key: StreamKey, message_id: int) -> None:
    token = encode_token(key, message_id)
    assert decode_token(key, token) == message_id
    assert all(c.isascii() and (c.isalnum() or c in "-_") for c in token), "fit for a URL"


def test_no_token_means_from_the_beginning() -> None:
    assert decode_token(KEY, "") == 0


@given(keys, keys, message_ids)
def test_a_token_of_another_stream_is_refused(
    key: StreamKey, other: StreamKey, message_id: int
) -> None:
    if key == other:
        return
    with pytest.raises(InvalidAgentEventResumeTokenError, match="is not one of session"):
        decode_token(other, encode_token(key, message_id))


@given(st.text())
@example("not a token")
@example("ünicode")
@example("\ud800")
@example("A" * 10_000)
@example(encode_token(KEY, 5)[:-2])
@example(forged("{}"))
@example(forged("[]"))
@example(forged("null"))
@example(forged("7"))
@example(forged([1]))
@example(forged([1, *KEY]))
@example(forged([2, *KEY, 5]))
@example(forged([1, *KEY, "5"]))
@example(forged([1, *KEY, 5.0]))
@example(forged([1, *KEY, None]))
@example(forged([1, [*KEY], 5]))
@example(forged("[1" + "0" * 10_000 + "]"))
def test_garbage_is_refused_and_nothing_worse(token: str) -> None:
    if token:
        with pytest.raises(InvalidAgentEventResumeTokenError):
            decode_token(KEY, token)


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(forged("[" * 100_000), id="nested too deep"),
        pytest.param(forged([1, *KEY, 1 << 63]), id="an ID that no event can have"),
        pytest.param(forged([1, *KEY, -1]), id="an ID before all events"),
        pytest.param(forged([1, *KEY, True]), id="no number"),
        pytest.param(forged([True, *KEY, 5]), id="no version"),
    ],
)
def test_forged_tokens_are_refused(token: str) -> None:
    with pytest.raises(InvalidAgentEventResumeTokenError):
        decode_token(KEY, token)


@given(st.binary(max_size=80))
def test_encoded_garbage_is_refused(content: bytes) -> None:
    token = base64.urlsafe_b64encode(content).decode()
    if token:
        with pytest.raises(InvalidAgentEventResumeTokenError):
            decode_token(KEY, token)
