# twin: source
"""A person says something, the agent answers, and both are stored."""

from dex_agents.engine.embedded.runtime import EmbeddedEngine
from dex_agents.model.messages import MessageRole
from tests.aio.support import build_session, echo, read_events, run_turn, texts, wait_for_turn_end
from tests.invariants import event_types


async def test_a_started_session_answers_its_first_message() -> None:
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(echo))
        await sessions.start_session("s-1", "hello")
        snapshot = await wait_for_turn_end(sessions, "s-1")
        assert texts(snapshot) == ["hello", "echo hello"]
        assert [message.sequence for message in snapshot.messages] == [1, 2]
        assert snapshot.messages[0].role is MessageRole.USER


async def test_turns_follow_each_other_in_one_session() -> None:
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(echo))
        await sessions.start_session("s-1")
        await run_turn(sessions, "s-1", "one")
        snapshot = await run_turn(sessions, "s-1", "two")
        assert texts(snapshot) == ["one", "echo one", "two", "echo two"]
        assert snapshot.state is not None
        assert snapshot.state.turn_number == 2


async def test_a_turn_streams_its_text_and_ends_with_its_event() -> None:
    session = build_session(echo)
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        await sessions.start_session("s-1", "hello")
        await wait_for_turn_end(sessions, "s-1")
        types = event_types(await read_events(engine, session, "s-1"))
        assert types[0] == "turn_started"
        assert types[-1] == "turn_completed"
        assert "text_delta" in types


async def test_a_blank_first_message_starts_no_turn() -> None:
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(echo))
        await sessions.start_session("s-1", "  ")
        snapshot = await run_turn(sessions, "s-1", "now")
        assert texts(snapshot) == ["now", "echo now"]


async def test_messages_sent_during_a_turn_wait_their_turn_in_order() -> None:
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(echo))
        await sessions.start_session("s-1", "one")
        for text in ("two", "three", "four"):
            assert await sessions.send_user_message("s-1", text)
        snapshot = await wait_for_turn_end(sessions, "s-1", 4)
        assert texts(snapshot)[::2] == ["one", "two", "three", "four"]


async def test_usage_adds_up_over_the_session() -> None:
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(echo))
        await sessions.start_session("s-1", "one")
        await wait_for_turn_end(sessions, "s-1")
        snapshot = await run_turn(sessions, "s-1", "two")
        assert snapshot.usage.model_calls == 2


async def test_messages_are_listed_in_pages_from_the_newest() -> None:
    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(echo))
        await sessions.start_session("s-1")
        for number in range(3):
            await run_turn(sessions, "s-1", f"m{number}")
        newest = await sessions.list_agent_messages("s-1", limit=4)
        assert [message.sequence for message in newest.messages] == [3, 4, 5, 6]
        older = await sessions.list_agent_messages(
            "s-1", before_sequence=newest.next_before_sequence, limit=4
        )
        assert [message.sequence for message in older.messages] == [1, 2]
        assert older.next_before_sequence is None


async def test_a_stopped_session_is_still_readable_and_takes_no_message() -> None:
    import dex
    import pytest

    async with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(build_session(echo))
        await sessions.start_session("s-1", "hello")
        await wait_for_turn_end(sessions, "s-1")
        await engine.client.stop_flow("s-1", reason="over")
        assert texts(await sessions.get_agent_snapshot("s-1")) == ["hello", "echo hello"]
        with pytest.raises(dex.FlowNotActiveOrNotFoundError):
            await sessions.send_user_message("s-1", "again")
