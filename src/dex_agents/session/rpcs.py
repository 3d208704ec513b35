# twin: shared
"""The RPC table: what a client may ask of a running session."""

from dex_agents.model.interrupts import (
    AgentInterrupt,
    AgentInterruptResolution,
    InterruptKind,
)
from dex_agents.model.requests import (
    SNAPSHOT_MESSAGES,
    AgentMessagesPage,
    AgentSnapshot,
    ListAgentMessagesRequest,
    QueuedMessage,
    ResolveInterruptRequest,
)
from dex_agents.model.state import AgentState, AgentUsage, AgentUserMessage
from dex_agents.model.text import bounded_text
from dex_agents.model.tool_calls import AgentToolCall
from dex_agents.session.decide.records import turn_tool_calls
from dex_agents.session.definition import RpcDefinition, SessionDefinition
from dex_agents.session.message_window import message_index
from dex_agents.session.ports import RpcResult, StepIO
from dex_agents.session.schema import (
    AGENT_STATE,
    AGENT_TOOL_CALLS,
    AGENT_USAGE,
    INTERRUPT_RESOLUTIONS,
    PENDING_INTERRUPTS,
    QUEUED_USER_MESSAGES,
)
from dex_agents.session.step_names import (
    GET_AGENT_SNAPSHOT,
    LIST_AGENT_MESSAGES,
    READ_MESSAGE_CHUNKS,
    RESOLVE_INTERRUPT,
    SEND_USER_MESSAGE,
)
from dex_agents.session.stored_messages import ALL_CHUNK_LOADS, WINDOW_LOADS, read_before

TRUE = RpcResult(output="true")
FALSE = RpcResult(output="false")


def send_user_message(session: SessionDefinition, io: StepIO, rpc_input: str | None) -> RpcResult:
    """Queue a message for the next turn; refuse a blank one, and plan mode, which is off."""
    message = AgentUserMessage.from_text(rpc_input or "{}")
    if message.plan_mode or not message.text.strip():
        return FALSE
    QUEUED_USER_MESSAGES.publish(io, message)
    return TRUE


def resolve_interrupt(session: SessionDefinition, io: StepIO, rpc_input: str | None) -> RpcResult:
    """Take a pending approval away and publish the decision on it.

    The lock of the pending interrupts makes the two one step: a second decision, and a deadline
    that passes meanwhile, find nothing to decide any more.
    """
    request = ResolveInterruptRequest.from_text(rpc_input or "{}")
    pending = PENDING_INTERRUPTS.get(io) or ()
    interrupt = next((one for one in pending if one.interrupt_id == request.interrupt_id), None)
    if interrupt is None or interrupt.kind is not InterruptKind.APPROVAL:
        return FALSE
    if interrupt.deadline is not None and io.now >= interrupt.deadline:
        return FALSE
    PENDING_INTERRUPTS.set(io, tuple(one for one in pending if one is not interrupt))
    resolution = _resolution(session, interrupt, request)
    INTERRUPT_RESOLUTIONS.publish(io, interrupt.interrupt_id, resolution)
    return TRUE


def get_agent_snapshot(session: SessionDefinition, io: StepIO, rpc_input: str | None) -> RpcResult:
    """Answer with the session as it is; also serves a closed one."""
    state = AGENT_STATE.get(io)
    queued = tuple(
        QueuedMessage(
            message_id=waiting.message_id,
            text=waiting.value.text,
            plan_mode=waiting.value.plan_mode,
        )
        for waiting in QUEUED_USER_MESSAGES.pending(io)
    )
    last_sequence = 0 if state is None else state.last_message_sequence
    read = read_before(io, last_sequence + 1, SNAPSHOT_MESSAGES)
    snapshot = AgentSnapshot(
        state=state,
        messages=read.messages,
        pending_interrupts=PENDING_INTERRUPTS.get(io) or (),
        tool_calls=_active_tool_calls(io, state),
        usage=AGENT_USAGE.get(io) or AgentUsage(),
        queued_message_count=len(queued),
        queued_messages=queued,
        unread_chunks=read.unread_chunks,
    )
    return RpcResult(output=snapshot.to_text())


def list_agent_messages(session: SessionDefinition, io: StepIO, rpc_input: str | None) -> RpcResult:
    """Answer with one page of stored messages; also serves a closed session."""
    request = ListAgentMessagesRequest.from_text(rpc_input or "{}")
    state = AGENT_STATE.get(io) or AgentState()
    before = state.last_message_sequence + 1
    if request.before_sequence is not None:
        before = min(before, request.before_sequence)
    read = read_before(io, before, request.clamped_limit)
    first = message_index(io).first_sequence
    has_more = bool(read.messages) and read.messages[0].sequence > first
    page = AgentMessagesPage(
        messages=read.messages,
        next_before_sequence=read.messages[0].sequence if has_more else None,
        deleted_before_sequence=first if first > 1 else None,
        unread_chunks=read.unread_chunks,
    )
    return RpcResult(output=page.to_text())


RPCS: dict[str, RpcDefinition] = {
    rpc.name: rpc
    for rpc in (
        RpcDefinition(
            name=SEND_USER_MESSAGE,
            handler=send_user_message,
            is_transactional=True,
        ),
        RpcDefinition(
            name=RESOLVE_INTERRUPT,
            handler=resolve_interrupt,
            locks=(PENDING_INTERRUPTS.name,),
            is_transactional=True,
        ),
        RpcDefinition(
            name=GET_AGENT_SNAPSHOT,
            handler=get_agent_snapshot,
            loads=(*WINDOW_LOADS, AGENT_TOOL_CALLS.load_all()),
            free_loads=ALL_CHUNK_LOADS,
            load_channels=(QUEUED_USER_MESSAGES.name,),
        ),
        RpcDefinition(
            name=LIST_AGENT_MESSAGES,
            handler=list_agent_messages,
            loads=WINDOW_LOADS,
            free_loads=ALL_CHUNK_LOADS,
        ),
        # Its caller names the chunks to read; without the window, one of any size can be loaded.
        RpcDefinition(
            name=READ_MESSAGE_CHUNKS,
            handler=list_agent_messages,
        ),
    )
}


def _resolution(
    session: SessionDefinition, interrupt: AgentInterrupt, request: ResolveInterruptRequest
) -> AgentInterruptResolution:
    message = (request.rejection_message or "").strip()
    keeps_message = bool(message) and not request.approved
    return AgentInterruptResolution(
        interrupt_id=interrupt.interrupt_id,
        turn_id=interrupt.turn_id,
        approved=request.approved,
        rejection_message=(
            bounded_text(message, session.options.max_error_bytes) if keeps_message else None
        ),
    )


def _active_tool_calls(io: StepIO, state: AgentState | None) -> tuple[AgentToolCall, ...]:
    if state is None or state.active_turn_id is None:
        return ()
    return tuple(turn_tool_calls(io, state.active_turn_id).values())
