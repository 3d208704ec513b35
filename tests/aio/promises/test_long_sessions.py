# twin: source
"""A long history is stored in chunks, read in pages and never lost."""

from dataclasses import replace
from pathlib import Path

from dex_agents.engine.embedded.runtime import EmbeddedEngine
from dex_agents.model.messages import AgentMessage
from dex_agents.session.agent_session import AgentSession
from dex_agents.session.client import AgentSessionClient
from dex_agents.stepwise import (
    AgentDefinition,
    ScriptedModelClient,
    stepwise_agent_session,
    stepwise_agent_session_options,
)
from tests.aio.support import FLOW_TYPE, Respond, echo, run_turn


def small_window_session(
    respond: Respond = echo, *, chunk_max_bytes: int = 4096, window: int = 4, chunk: int = 3
) -> AgentSession:
    definition = AgentDefinition(
        name="tester", instructions="Test.", model=ScriptedModelClient(respond)
    )
    options = replace(
        stepwise_agent_session_options(definition),
        message_window_size=window,
        message_chunk_size=chunk,
        message_chunk_max_bytes=chunk_max_bytes,
    )
    return stepwise_agent_session(definition, flow_type=FLOW_TYPE, options=options)


async def all_pages(
    sessions: AgentSessionClient, session_id: str, limit: int = 200
) -> list[AgentMessage]:
    """Read a session's messages page by page, as a web page does."""
    messages: list[AgentMessage] = []
    before: int | None = None
    while True:
        page = await sessions.list_agent_messages(session_id, before_sequence=before, limit=limit)
        assert len(page.messages) <= limit
        messages[:0] = page.messages
        before = page.next_before_sequence
        if before is None:
            return messages


async def test_pages_and_snapshots_read_chunks_and_window_alike(tmp_path: Path) -> None:
    session = small_window_session()
    async with EmbeddedEngine(tmp_path / "agents.db") as engine:
        sessions = engine.serve(session)
        await sessions.start_session("s-1")
        for number in range(8):
            snapshot = await run_turn(sessions, "s-1", f"message {number}")
        assert [message.sequence for message in snapshot.messages] == list(range(1, 17))
        assert not snapshot.unread_chunks
        for limit in (1, 5, 200):
            pages = await all_pages(sessions, "s-1", limit)
            assert tuple(pages) == snapshot.messages
        page = await sessions.list_agent_messages("s-1", before_sequence=7, limit=3)
        assert [message.sequence for message in page.messages] == [4, 5, 6]
        assert (page.next_before_sequence, page.deleted_before_sequence) == (4, None)
