# twin: source
"""A process that owns an engine file, serves the kill tests' agent and obeys its parent.

Commands come as files `command-<n>.json` in the state folder; answers go to `answer-<n>.json`.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from dex_agents._seam.concurrency import sleep
from dex_agents.engine.embedded.runtime import EmbeddedEngine
from dex_agents.model.tool_calls import ToolEffect
from dex_agents.session.client import AgentSessionClient
from dex_agents.stepwise import (
    ModelOutputWriter,
    ModelRequest,
    ModelResponse,
    ScriptedModelClient,
    ScriptedModelReply,
)
from tests.aio.support import ToolBench, build_session, tool_call

TOOLS = {
    "look": ToolEffect.READ,
    "save": ToolEffect.IDEMPOTENT_WRITE,
    "pay": ToolEffect.NON_IDEMPOTENT_WRITE,
}


def respond(request: ModelRequest) -> ScriptedModelReply:
    """Call the tools that the message names, all at once, or answer."""
    text = ScriptedModelClient.user_texts(request)[-1]
    results = ScriptedModelClient.tool_results(request)
    named = [word for word in text.split() if word in TOOLS]
    if results or not named:
        outputs = "; ".join(result.output for result in results)
        return ScriptedModelReply(text=f"done {text}: {outputs}")
    return ScriptedModelReply(tool_calls=[tool_call(name, value="1") for name in named])


class GatedModel(ScriptedModelClient):
    """A scripted model that stops at the gate "model" when the message is "think"."""

    def __init__(self, bench: ToolBench) -> None:
        """Use the gates and ledger of a bench."""
        super().__init__(respond)
        self._bench = bench

    async def call_model(self, request: ModelRequest, output: ModelOutputWriter) -> ModelResponse:
        """Record the call and wait at the gate."""
        text = ScriptedModelClient.user_texts(request)[-1]
        self._bench.ledger.record("model", text=text)
        if text == "think":
            await self._bench.gate("model").wait_for_release()
        return await super().call_model(request, output)


async def obey(sessions: AgentSessionClient, command: Mapping[str, str]) -> object:
    """Carry out one command and return its answer."""
    session_id = command.get("session", "s-1")
    if command["op"] == "start":
        return await sessions.start_session(session_id, command["text"])
    if command["op"] == "send":
        return await sessions.send_user_message(session_id, command["text"])
    if command["op"] == "approve":
        return await sessions.resolve_interrupt(session_id, command["interrupt"], approved=True)
    if command["op"] == "snapshot":
        return (await sessions.get_agent_snapshot(session_id)).to_json()
    raise ValueError(command["op"])


async def child_main(path: str, state_dir: str) -> None:
    """Serve until the command `stop`."""
    folder = Path(state_dir)
    bench = ToolBench(folder)
    tools = [
        bench.tool(name, effect, waits=True, requires_approval=name == "pay")
        for name, effect in TOOLS.items()
    ]
    async with EmbeddedEngine(path) as engine:
        sessions = engine.serve(build_session(respond, tools, model=GatedModel(bench)))
        (folder / "ready").touch()
        while True:
            for file in sorted(folder.glob("command-*.json")):
                command = json.loads(file.read_text())
                file.unlink()
                answer = await obey(sessions, command) if command["op"] != "stop" else True
                _write(folder, file.name.replace("command", "answer"), answer)
                if command["op"] == "stop":
                    return
            await sleep(0.003)


def _write(folder: Path, name: str, answer: object) -> None:
    # Renamed into place, so that the parent never reads half an answer.
    draft = folder / f"{name}.draft"
    draft.write_text(json.dumps(answer))
    draft.rename(folder / name)
