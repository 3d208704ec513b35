# twin: generated from tests/aio/ui_stream/test_snapshot.py by tools/twin; do not edit.
"""The snapshot of a browser and its token: nothing falls between the two."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dex_agents_sync.engine.embedded.client import EmbeddedClient
from dex_agents_sync.engine.embedded.runtime import EmbeddedEngine
from dex_agents_sync.session.client import AgentSessionClient
from dex_agents.session.definition import SessionDefinition
from dex_agents.session.flow_values import StreamMessagesPage
from dex_agents_sync.testing.waiting import wait_until
from dex_agents_sync.ui_stream.events import stream_agent_event_frames
from dex_agents_sync.ui_stream.snapshot import read_agent_event_stream_snapshot
from tests.sync.support import read_events, run_turn, texts, wait_for_turn_end
from tests.sync.ui_stream.support import (
    WORDS,
    GatedModel,
    gated_session,
    take,
    take_turn,
)
from tests.shared.ui_stream.sse import text_of, types_of


class BusyClient(EmbeddedClient):
    """A client on which something happens right after the newest event was read."""

    def __init__(self, engine: EmbeddedEngine, happens: Callable[[], object]) -> None:
        """Let it happen once."""
        super().__init__(engine)
        self._happens: Callable[[], object] | None = happens

    def list_stream_messages(
        self,
        session: SessionDefinition,
        flow_id: str,
        *,
        page_size: int = 100,
        before_page_token: str = "",
    ) -> StreamMessagesPage:
        """List, then let it happen."""
        page = super().list_stream_messages(
            session, flow_id, page_size=page_size, before_page_token=before_page_token
        )
        happens, self._happens = self._happens, None
        if happens is not None:
            happens()
        return page


def test_between_turns_the_stream_goes_on_after_what_the_snapshot_shows(
    tmp_path: Path,
) -> None:
    session = gated_session(GatedModel(tmp_path))
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "one")
        wait_for_turn_end(sessions, "s-1")
        stored = read_agent_event_stream_snapshot(engine.client, session, "s-1")
        assert texts(stored.snapshot) == ["one", "echo one"]
        run_turn(sessions, "s-1", "two")
        frames = take_turn(
            stream_agent_event_frames(
                engine.client, session, "s-1", resume_token=stored.resume_token
            )
        )
        assert {frame.event.turn_id for frame in frames} == {"turn-2"}
        assert text_of(frames) == "echo two"


def test_while_a_turn_runs_the_stream_starts_with_its_first_event(tmp_path: Path) -> None:
    model = GatedModel(tmp_path)
    session = gated_session(model)
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "one")
        wait_for_turn_end(sessions, "s-1")
        model.before.release()
        sessions.send_user_message("s-1", "gate long")
        model.after.wait_until_reached()
        stored = read_agent_event_stream_snapshot(engine.client, session, "s-1")
        assert stored.snapshot.state is not None
        assert stored.snapshot.state.active_turn_id == "turn-2"
        model.open_gates()
        frames = take_turn(
            stream_agent_event_frames(
                engine.client, session, "s-1", resume_token=stored.resume_token
            )
        )
        assert {frame.event.turn_id for frame in frames} == {"turn-2"}
        assert types_of(frames)[0] == "turn_started"
        snapshot = wait_for_turn_end(sessions, "s-1", 2)
        assert text_of(frames) == texts(snapshot)[-1]
        assert types_of(frames).count("text_delta") == WORDS


def test_a_turn_whose_start_was_trimmed_is_replayed_from_the_oldest_event(
    tmp_path: Path,
) -> None:
    model = GatedModel(tmp_path)
    session = gated_session(model, capacity_bytes=20_000)
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        model.before.release()
        sessions.start_session("s-1", "gate long")
        model.after.wait_until_reached()
        retained = read_events(engine, session, "s-1")
        assert "turn_started" not in retained[0]
        stored = read_agent_event_stream_snapshot(engine.client, session, "s-1")
        frames = take(
            stream_agent_event_frames(
                engine.client, session, "s-1", resume_token=stored.resume_token
            ),
            len(retained),
        )
        assert [frame.data for frame in frames] == retained
        model.open_gates()


def test_a_turn_that_runs_between_token_and_snapshot_is_in_the_stream(
    tmp_path: Path,
) -> None:
    session = gated_session(GatedModel(tmp_path))
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "one")
        wait_for_turn_end(sessions, "s-1")
        client = BusyClient(engine, lambda: run_turn(sessions, "s-1", "two"))
        stored = read_agent_event_stream_snapshot(client, session, "s-1")
        assert texts(stored.snapshot)[-1] == "echo two"
        frames = take_turn(
            stream_agent_event_frames(
                client, session, "s-1", resume_token=stored.resume_token
            )
        )
        assert types_of(frames)[0] == "turn_started"
        assert text_of(frames) == "echo two"


def test_a_turn_that_starts_between_token_and_snapshot_is_in_the_stream(
    tmp_path: Path,
) -> None:
    model = GatedModel(tmp_path)
    session = gated_session(model)
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "one")
        wait_for_turn_end(sessions, "s-1")

        def start_turn() -> None:
            sessions.send_user_message("s-1", "gate two")
            model.before.wait_until_reached()

        client = BusyClient(engine, start_turn)
        stored = read_agent_event_stream_snapshot(client, session, "s-1")
        assert stored.snapshot.state is not None
        assert stored.snapshot.state.active_turn_id == "turn-2"
        model.open_gates()
        frames = take_turn(
            stream_agent_event_frames(
                client, session, "s-1", resume_token=stored.resume_token
            )
        )
        assert types_of(frames)[0] == "turn_started"
        assert text_of(frames) == "echo gate two"


def test_the_browser_never_gets_the_instructions(tmp_path: Path) -> None:
    session = gated_session(GatedModel(tmp_path))
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "one")
        wait_for_turn_end(sessions, "s-1")
        stored = read_agent_event_stream_snapshot(engine.client, session, "s-1")
        data = str(stored.to_json())
        assert "echo one" in data
        assert "framework_item" not in data
        assert "secret" not in data


def test_a_session_without_events_has_an_empty_token(tmp_path: Path) -> None:
    session = gated_session(GatedModel(tmp_path))
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1")
        stored = read_agent_event_stream_snapshot(engine.client, session, "s-1")
        assert stored.resume_token == ""


def test_a_session_that_is_not_there_is_not_shown(tmp_path: Path) -> None:
    session = gated_session(GatedModel(tmp_path))
    with EmbeddedEngine(":memory:") as engine:
        engine.serve(session)
        with pytest.raises(Exception, match="s-1") as caught:
            read_agent_event_stream_snapshot(engine.client, session, "s-1")
        assert type(caught.value).__name__ == "FlowNotActiveOrNotFoundError"
        with pytest.raises(ValueError, match="session_id"):
            read_agent_event_stream_snapshot(engine.client, session, "a/b")


def test_a_client_that_connects_again_before_the_first_word_misses_nothing(
    tmp_path: Path,
) -> None:
    """The model takes its time; meanwhile the browser loads, loses the stream and comes back."""
    model = GatedModel(tmp_path)
    session = gated_session(model)
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "gate one")
        model.before.wait_until_reached()
        first = read_agent_event_stream_snapshot(engine.client, session, "s-1")
        assert _is_running(first.snapshot.state)
        seen = take(
            stream_agent_event_frames(
                engine.client, session, "s-1", resume_token=first.resume_token
            ),
            1,
        )
        assert types_of(seen) == ["turn_started"]
        again = read_agent_event_stream_snapshot(engine.client, session, "s-1")
        assert _is_running(again.snapshot.state)
        # With its last event ID, and as a page that was loaded anew.
        for token, expected in (
            (seen[-1].token, "text_delta"),
            (again.resume_token, "turn_started"),
        ):
            stream = stream_agent_event_frames(
                engine.client, session, "s-1", resume_token=token
            )
            model.open_gates()
            frames = take_turn(stream)
            assert types_of(frames)[0] == expected
            assert text_of(frames) == "echo gate one"


def _is_running(state: object) -> bool:
    return getattr(state, "active_turn_id", None) == "turn-1"


def test_a_snapshot_read_at_any_moment_leaves_no_event_out(tmp_path: Path) -> None:
    """Whatever a page shows and streams together is the whole text, whenever it was loaded."""
    session = gated_session(GatedModel(tmp_path))
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1")
        sessions.send_user_message("s-1", "long")
        expected = " ".join(f"w{number}" for number in range(WORDS))
        for _ in range(20):
            stored = read_agent_event_stream_snapshot(engine.client, session, "s-1")
            shown = texts(stored.snapshot)
            if shown[-1:] == [expected]:
                continue
            frames = take_turn(
                stream_agent_event_frames(
                    engine.client, session, "s-1", resume_token=stored.resume_token
                )
            )
            assert text_of(frames) == expected

        def has_ended() -> bool:
            return texts(sessions.get_agent_snapshot("s-1"))[-1:] == [expected]

        wait_until("the stored answer", has_ended)


def test_a_session_client_is_all_that_a_route_needs(tmp_path: Path) -> None:
    session = gated_session(GatedModel(tmp_path))
    with EmbeddedEngine(":memory:") as engine:
        sessions: AgentSessionClient = engine.serve(session)
        sessions.start_session("s-1", "one")
        wait_for_turn_end(sessions, "s-1")
        stored = read_agent_event_stream_snapshot(sessions.client, sessions.session, "s-1")
        assert texts(stored.snapshot) == ["one", "echo one"]
