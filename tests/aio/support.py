# twin: source
"""Agents for the tests: scripted models, and tools that stop at gates and keep a ledger."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from dex_agents.engine.embedded.runtime import EmbeddedEngine
from dex_agents.errors import ToolExecutionError
from dex_agents.model.options import AgentSessionOptions, CallLimit
from dex_agents.model.requests import AgentSnapshot
from dex_agents.model.tool_calls import ToolEffect
from dex_agents.model.wire import JsonValue
from dex_agents.session.agent_session import AgentSession
from dex_agents.session.client import AgentSessionClient
from dex_agents.spend import ModelSpendLimit
from dex_agents.stepwise import (
    AgentDefinition,
    FunctionTool,
    ModelRequest,
    ScriptedModelClient,
    ScriptedModelReply,
    ScriptedToolCall,
    ToolCallContext,
    function_tool,
    stepwise_agent_session,
    stepwise_agent_session_options,
)
from dex_agents.testing.blocking import InvocationLog
from dex_agents.testing.gates import FileGate
from dex_agents.testing.waiting import wait_for_agent_snapshot

FLOW_TYPE = "TestAgent"

Respond = Callable[[ModelRequest], ScriptedModelReply]


def tool_call(name: str, call_id: str | None = None, **arguments: JsonValue) -> ScriptedToolCall:
    """Return a call of a test tool; its ID is the tool's name unless given."""
    return ScriptedToolCall(name, arguments, tool_call_id=call_id or name)


def calls_then_text(*calls: ScriptedToolCall, final: str = "done") -> Respond:
    """Return a script that asks for calls and, with their results, answers in text."""

    def respond(request: ModelRequest) -> ScriptedModelReply:
        results = ScriptedModelClient.tool_results(request)
        if not results:
            return ScriptedModelReply(tool_calls=list(calls))
        outputs = "; ".join(result.output for result in results)
        return ScriptedModelReply(text=f"{final}: {outputs}")

    return respond


def echo(request: ModelRequest) -> ScriptedModelReply:
    """Answer every message with its own text."""
    return ScriptedModelReply(text=f"echo {ScriptedModelClient.user_texts(request)[-1]}")


@dataclass(slots=True)
class ToolBench:
    """Makes tools that write to one ledger and may wait at gates, all in one folder."""

    folder: Path
    ledger: InvocationLog = field(init=False)

    def __post_init__(self) -> None:
        """Open the ledger."""
        self.ledger = InvocationLog(self.folder / "ledger.jsonl")

    def gate(self, name: str) -> FileGate:
        """Return the gate of a tool."""
        return FileGate(self.folder, name)

    def tool(
        self,
        name: str,
        effect: ToolEffect,
        *,
        waits: bool = False,
        requires_approval: bool | None = None,
        fails: str | None = None,
        raises: Exception | None = None,
        on_return: Callable[[], None] | None = None,
    ) -> FunctionTool:
        """Return a tool that records its call and then waits, fails, raises or returns."""
        bench = self

        @function_tool(effect=effect, name=name, requires_approval=requires_approval)
        async def run(context: ToolCallContext, value: str = "") -> str:
            """Do the work of a test tool."""
            bench.ledger.record(name, key=context.idempotency_key, attempt=str(context.attempt))
            if waits:
                await bench.gate(name).wait_for_release()
            if fails is not None:
                raise ToolExecutionError(fails)
            if raises is not None:
                raise raises
            if on_return is not None:
                on_return()
            return f"{name} {value}".strip()

        return run


def build_session(
    respond: Respond,
    tools: Sequence[FunctionTool] = (),
    *,
    flow_type: str = FLOW_TYPE,
    model: ScriptedModelClient | None = None,
    interrupt_deadline: timedelta | None = None,
    tool_call_limit: CallLimit | None = None,
    run_model_limit: CallLimit | None = None,
    spend_limit: ModelSpendLimit | None = None,
) -> AgentSession:
    """Return a session with a scripted model."""
    definition = AgentDefinition(
        name="tester",
        instructions="Test.",
        model=model or ScriptedModelClient(respond),
        tools=list(tools),
        interrupt_deadline=interrupt_deadline,
    )
    base = stepwise_agent_session_options(definition)
    options = AgentSessionOptions(
        tool_policies=base.tool_policies,
        default_tool_effect=base.default_tool_effect,
        event_stream_capacity_bytes=base.event_stream_capacity_bytes,
        interrupt_deadline=base.interrupt_deadline,
        tool_call_limit=tool_call_limit or base.tool_call_limit,
        run_model_limit=run_model_limit or base.run_model_limit,
    )
    return stepwise_agent_session(
        definition, flow_type=flow_type, options=options, spend_limit=spend_limit
    )


async def wait_for_turn_end(
    sessions: AgentSessionClient, session_id: str, turn_number: int = 1
) -> AgentSnapshot:
    """Wait until a turn has ended and none runs, and return the snapshot."""

    def ended(snapshot: AgentSnapshot) -> AgentSnapshot | None:
        state = snapshot.state
        if state is None or state.active_turn_id is not None:
            return None
        return snapshot if state.turn_number >= turn_number else None

    return await wait_for_agent_snapshot(
        sessions, session_id, ended, description=f"the end of turn {turn_number}"
    )


async def wait_for_interrupts(
    sessions: AgentSessionClient, session_id: str, count: int = 1
) -> AgentSnapshot:
    """Wait until so many interrupts are pending, and return the snapshot."""
    return await wait_for_agent_snapshot(
        sessions,
        session_id,
        lambda snapshot: snapshot if len(snapshot.pending_interrupts) == count else None,
        description=f"{count} pending interrupts",
    )


async def run_turn(sessions: AgentSessionClient, session_id: str, text: str) -> AgentSnapshot:
    """Send a message and wait for the end of its turn."""
    before = await sessions.get_agent_snapshot(session_id)
    number = 0 if before.state is None else before.state.turn_number
    assert await sessions.send_user_message(session_id, text)
    return await wait_for_turn_end(sessions, session_id, number + 1)


def texts(snapshot: AgentSnapshot) -> list[str]:
    """Return the texts of a snapshot's user messages and answers, oldest first."""
    return [
        message.text
        for message in snapshot.messages
        if message.role.value in ("user", "assistant") and message.text and not message.tool_call_id
    ]


async def read_events(engine: EmbeddedEngine, session: AgentSession, session_id: str) -> list[str]:
    """Return the JSON texts of all retained events of a session, oldest first."""
    page = await engine.client.list_stream_messages(session, session_id, page_size=1000)
    return [message.value for message in reversed(page.messages)]
