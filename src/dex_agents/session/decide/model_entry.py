# twin: shared
"""The one way to a model call, and to the end of a turn that cannot have one."""

from dataclasses import replace

from dex_agents.model.state import AgentState, AgentStatus
from dex_agents.session.decide.records import fail_turn
from dex_agents.session.definition import SessionDefinition
from dex_agents.session.notes import conversation_too_large_error
from dex_agents.session.ports import StepIO, StepPlan, go_to
from dex_agents.session.schema import AGENT_STATE
from dex_agents.session.stored_messages import model_input_bytes
from dex_agents.session.turn_loads import model_movement, tool_call_bytes


def move_to_model(
    session: SessionDefinition, io: StepIO, state: AgentState, events: tuple[str, ...] = ()
) -> StepPlan:
    """Write the state of a turn whose next Step is a model call, and move there.

    Every Step that goes to `RunModel` goes through here, after it has stored its messages. Where
    loads are limited, what the call would load is counted first; if it is too much, the turn ends
    with an error that names compaction.

    Args:
        session: The session.
        io: The Step that moves.
        state: The state to write.
        events: What the Step has to say besides.
    """
    limit = io.max_load_bytes
    if limit is not None:
        needed = model_input_bytes(io, state) + tool_call_bytes(io)
        if needed > limit:
            error = conversation_too_large_error(needed, limit)
            failed = fail_turn(session, io, state, error)
            return StepPlan(failed.decision, (*events, *failed.events))
    AGENT_STATE.set(io, replace(state, status=AgentStatus.RUNNING_MODEL))
    return StepPlan(go_to(model_movement(session, io, state)), events)
