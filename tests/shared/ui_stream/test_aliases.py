# twin: shared
"""The threaded package's browser streams, under the names that the other package has for them."""

from dex_agents.model.tool_calls import ToolEffect
from dex_agents.ui_stream import (
    read_agent_event_stream_snapshot_sync,
    stream_agent_event_frames_sync,
)
from dex_agents_sync import AgentSession, EmbeddedEngine
from dex_agents_sync.stepwise import (
    AgentDefinition,
    ModelRequest,
    ScriptedModelClient,
    ScriptedModelReply,
    function_tool,
    stepwise_agent_session,
)
from dex_agents_sync.ui_stream import (
    read_agent_event_stream_snapshot,
    stream_agent_event_frames,
)
from tests.shared.ui_stream.sse import frames_of


def threaded_session() -> AgentSession:
    @function_tool(effect=ToolEffect.READ)
    def look() -> str:
        """Look."""
        return "seen"

    def respond(request: ModelRequest) -> ScriptedModelReply:
        return ScriptedModelReply(text="hello")

    definition = AgentDefinition(
        name="threaded", instructions="", model=ScriptedModelClient(respond), tools=[look]
    )
    return stepwise_agent_session(definition, flow_type="Threaded")


def test_both_names_do_the_same() -> None:
    session = threaded_session()
    with EmbeddedEngine(":memory:") as engine:
        sessions = engine.serve(session)
        sessions.start_session("s-1", "hi")
        for stream in (stream_agent_event_frames_sync, stream_agent_event_frames):
            texts: list[str] = []
            frames = stream(engine.client, session, "s-1", poll_timeout=5)
            for text in frames:
                texts.append(text)
                if "turn_completed" in text:
                    break
            frames.close()
            assert frames_of(texts)[0].event.type == "turn_started"
        ours = read_agent_event_stream_snapshot_sync(engine.client, session, "s-1")
        assert ours == read_agent_event_stream_snapshot(engine.client, session, "s-1")
        assert [message.text for message in ours.snapshot.messages] == ["hi", "hello"]
