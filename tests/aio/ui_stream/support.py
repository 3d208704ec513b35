# twin: source
"""Models that stop at gates, and readers of frames."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from dex_agents.session.agent_session import AgentSession
from dex_agents.stepwise import (
    AgentDefinition,
    ModelOutputWriter,
    ModelRequest,
    ModelResponse,
    ScriptedModelClient,
    ScriptedModelReply,
    stepwise_agent_session,
)
from dex_agents.testing.gates import FileGate
from tests.aio.support import FLOW_TYPE
from tests.shared.ui_stream.sse import Frame, frames_of

WORDS = 2000
TURN_ENDS = ("turn_completed", "turn_failed")


class GatedModel(ScriptedModelClient):
    """Answers "long" with many words and all else with an echo.

    A message that starts with "gate" waits at the gate "before" ahead of its first word, and at
    the gate "after" behind its last one.
    """

    def __init__(self, folder: Path) -> None:
        """Keep the gates in a folder."""
        super().__init__(_respond)
        self.before = FileGate(folder, "before")
        self.after = FileGate(folder, "after")

    async def call_model(self, request: ModelRequest, output: ModelOutputWriter) -> ModelResponse:
        """Wait, answer, wait."""
        is_gated = self.user_texts(request)[-1].startswith("gate")
        if is_gated:
            await self.before.wait_for_release()
        response = await super().call_model(request, output)
        if is_gated:
            await self.after.wait_for_release()
        return response

    def open_gates(self) -> None:
        """Let everything through."""
        self.before.release()
        self.after.release()


def _respond(request: ModelRequest) -> ScriptedModelReply:
    text = ScriptedModelClient.user_texts(request)[-1]
    if text.endswith("long"):
        return ScriptedModelReply(text=" ".join(f"w{number}" for number in range(WORDS)))
    return ScriptedModelReply(text=f"echo {text}")


def gated_session(model: GatedModel, *, capacity_bytes: int = 10_000_000) -> AgentSession:
    """Return the sessions of an agent with this model and no tools."""
    definition = AgentDefinition(
        name="gated",
        instructions="secret instructions",
        model=model,
        event_stream_capacity_bytes=capacity_bytes,
    )
    return stepwise_agent_session(definition, flow_type=FLOW_TYPE)


async def take(frames: AsyncGenerator[str, None], count: int) -> list[Frame]:
    """Take so many events from a stream, and close it."""
    texts: list[str] = []
    async with aclosing(frames):
        async for text in frames:
            texts.append(text)
            if len(frames_of(texts)) == count:
                break
    return frames_of(texts)


async def take_turn(frames: AsyncGenerator[str, None]) -> list[Frame]:
    """Take the events up to the next end of a turn from a stream, and close it."""
    texts: list[str] = []
    async with aclosing(frames):
        async for text in frames:
            texts.append(text)
            found = frames_of([text])
            if found and found[0].event.type in TURN_ENDS:
                break
    return frames_of(texts)
