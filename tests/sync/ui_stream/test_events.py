# twin: generated from tests/aio/ui_stream/test_events.py by tools/twin; do not edit.
"""The frames of a session: in order, none twice, none missing, from any token on."""

import random
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from dex_agents_sync._seam.concurrency import gather
from dex_agents_sync.engine.embedded.runtime import EmbeddedEngine
from dex_agents.errors import InvalidAgentEventResumeTokenError
from dex_agents_sync.ui_stream.events import stream_agent_event_frames
from dex_agents.ui_stream.frames import KEEP_ALIVE_FRAME
from tests.sync.support import read_events, texts, wait_for_turn_end
from tests.sync.ui_stream.support import (
    WORDS,
    GatedModel,
    gated_session,
    take,
    take_turn,
)
from tests.shared.ui_stream.sse import Frame, text_of, types_of

RECONNECTS = 50


def test_the_stream_is_what_the_engine_stored(tmp_path: Path) -> None:
    session = gated_session(GatedModel(tmp_path))
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "one")
        wait_for_turn_end(sessions, "s-1")
        frames = take_turn(stream_agent_event_frames(engine.client, session, "s-1"))
        assert [frame.data for frame in frames] == read_events(engine, session, "s-1")
        assert types_of(frames)[0] == "turn_started"
        assert types_of(frames)[-1] == "turn_completed"


def test_a_stream_that_is_lost_at_random_places_loses_nothing(tmp_path: Path) -> None:
    session = gated_session(GatedModel(tmp_path))
    places = random.Random(20)
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "long")
        frames: list[Frame] = []
        for _ in range(RECONNECTS):
            token = frames[-1].token if frames else ""
            stream = stream_agent_event_frames(
                engine.client, session, "s-1", resume_token=token
            )
            frames += take(stream, places.randint(1, WORDS // RECONNECTS))
        frames += take_turn(
            stream_agent_event_frames(
                engine.client, session, "s-1", resume_token=frames[-1].token
            )
        )
        snapshot = wait_for_turn_end(sessions, "s-1")
        assert text_of(frames) == texts(snapshot)[-1]
        tokens = [frame.token for frame in frames]
        assert len(set(tokens)) == len(tokens)
        assert types_of(frames).count("text_delta") == WORDS


def test_a_foreign_token_is_refused_before_the_stream_begins(tmp_path: Path) -> None:
    session = gated_session(GatedModel(tmp_path))
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        for session_id in ("s-1", "s-2"):
            sessions.start_session(session_id, "one")
            wait_for_turn_end(sessions, session_id)
        (frame,) = take(stream_agent_event_frames(engine.client, session, "s-1"), 1)
        for token in (frame.token, "garbage", "=", "\u00e9"):
            with pytest.raises(InvalidAgentEventResumeTokenError):
                stream_agent_event_frames(engine.client, session, "s-2", resume_token=token)


def test_silence_is_broken_by_keep_alives(tmp_path: Path) -> None:
    session = gated_session(GatedModel(tmp_path))
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1")
        frames = stream_agent_event_frames(
            engine.client, session, "s-1", poll_timeout=timedelta(milliseconds=20)
        )
        with closing(frames):
            started = time.monotonic()
            assert [next(frames) for _ in range(4)] == [KEEP_ALIVE_FRAME] * 4
            # The first one opens the response at once.
            assert 0.05 < time.monotonic() - started < 5
            sessions.send_user_message("s-1", "one")
            text = KEEP_ALIVE_FRAME
            while text == KEEP_ALIVE_FRAME:
                text = next(frames)
            assert "turn_started" in text


def test_an_event_ends_a_long_poll(tmp_path: Path) -> None:
    session = gated_session(GatedModel(tmp_path))
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1")
        stream = stream_agent_event_frames(engine.client, session, "s-1", poll_timeout=30)
        started = time.monotonic()
        frames, _ = gather(
            lambda: take_turn(stream), lambda: sessions.send_user_message("s-1", "one")
        )
        assert isinstance(frames, list)
        assert text_of(frames) == "echo one"
        assert time.monotonic() - started < 10


def test_closing_the_engine_ends_its_streams(tmp_path: Path) -> None:
    session = gated_session(GatedModel(tmp_path))
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1")
        stream = stream_agent_event_frames(engine.client, session, "s-1", poll_timeout=30)

        def read_all() -> list[str]:
            with closing(stream):
                return [text for text in stream]

        read, _ = gather(read_all, engine.close)
        assert set(read or []) <= {KEEP_ALIVE_FRAME}


def test_many_streams_of_one_session_see_the_same(tmp_path: Path) -> None:
    session = gated_session(GatedModel(tmp_path))
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1")

        def follow() -> list[Frame]:
            return take_turn(stream_agent_event_frames(engine.client, session, "s-1"))

        def speak() -> list[Frame]:
            sessions.send_user_message("s-1", "one")
            return follow()

        seen = gather(follow, follow, speak)
        assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("poll_timeout", [0, -1.0, timedelta(0), float("nan")])
def test_a_poll_without_an_end_in_sight_is_refused(
    tmp_path: Path, poll_timeout: timedelta | float
) -> None:
    session = gated_session(GatedModel(tmp_path))
    with EmbeddedEngine(":memory:") as engine:
        engine.serve(session)
        with pytest.raises(ValueError, match="poll_timeout"):
            stream_agent_event_frames(
                engine.client, session, "s-1", poll_timeout=poll_timeout
            )


def test_a_session_id_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    session = gated_session(GatedModel(tmp_path))
    with EmbeddedEngine(":memory:") as engine:
        engine.serve(session)
        with pytest.raises(ValueError, match="session_id"):
            stream_agent_event_frames(engine.client, session, "a/b")
