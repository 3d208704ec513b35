"""One conversation in the terminal: `python -m examples.quart --once 'refund order 7'`."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from dex_agents import AgentEvent, AgentEventType, AgentSessionClient, EmbeddedEngine
from examples.quart.agent import support_session

SESSION_ID = "once"
# Not at once, so that the text is seen to stream, but quick.
PACE = 0.15
SILENCE_SECONDS = 30.0


async def run_once(text: str) -> int:
    """Say one thing, approve what the agent asks, print the transcript; return the exit code."""
    with TemporaryDirectory(prefix="dex-agents-") as folder:
        async with EmbeddedEngine(Path(folder) / "agents.db") as engine:
            sessions = engine.serve(support_session(pace=PACE))
            print(f"you       {text}", flush=True)
            await sessions.start_session(SESSION_ID, text)
            error = await follow_turn(sessions)
            if error is not None:
                print(f"the turn failed: {error}", flush=True)
                return 1
            page = await sessions.list_agent_messages(SESSION_ID, limit=1)
            print(f"answer    {page.messages[-1].text}", flush=True)
            return 0


async def follow_turn(sessions: AgentSessionClient) -> str | None:
    """Print the turn's events until it ends; return its error, if it has one."""
    printer = EventPrinter()
    token = ""
    while True:
        message = await sessions.client.read_stream(
            sessions.session, SESSION_ID, resume_token=token, wait_seconds=SILENCE_SECONDS
        )
        if message is None:
            return f"nothing happened for {SILENCE_SECONDS:g} seconds"
        token = message.resume_token
        event = AgentEvent.from_text(message.value)
        printer.print_event(event)
        if event.type == AgentEventType.INTERRUPT_RAISED:
            await approve(sessions, json.loads(event.payload)["interrupt_id"])
        if event.type == AgentEventType.TURN_FAILED:
            return str(json.loads(event.payload)["error"])
        if event.type == AgentEventType.TURN_COMPLETED:
            return None


async def approve(sessions: AgentSessionClient, interrupt_id: str) -> None:
    """Approve a tool call, and print what it is about to do."""
    snapshot = await sessions.get_agent_snapshot(SESSION_ID)
    for interrupt in snapshot.pending_interrupts:
        if interrupt.interrupt_id == interrupt_id:
            print(f"approval  {interrupt.tool_name} {interrupt.arguments}", flush=True)
    counts = await sessions.resolve_interrupt(SESSION_ID, interrupt_id, approved=True)
    print(f"you       {'approved' if counts else 'too late'}", flush=True)


class EventPrinter:
    """Prints events as lines; text that streams shares one."""

    def __init__(self) -> None:
        """Begin at the start of a line."""
        self._is_in_text = False

    def print_event(self, event: AgentEvent) -> None:
        """Print what a person wants to know of an event."""
        payload = json.loads(event.payload)
        if event.type == AgentEventType.TEXT_DELTA:
            start = "" if self._is_in_text else "agent     "
            print(f"{start}{payload['text']}", end="", flush=True)
            self._is_in_text = True
            return
        if self._is_in_text:
            print(flush=True)
            self._is_in_text = False
        if event.type == AgentEventType.TOOL_CALL_STARTED:
            print(f"tool      {payload['tool_name']}: running", flush=True)
        elif event.type == AgentEventType.TOOL_CALL_FINISHED:
            print(f"tool      {payload['tool_name']}: {payload['status']}", flush=True)
