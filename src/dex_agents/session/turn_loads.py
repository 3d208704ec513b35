# twin: shared
"""What the Steps of a turn load; the Step that moves to one of them says so."""

from dex_agents.model.state import AgentState
from dex_agents.model.text import utf8_size
from dex_agents.runner.builders import unfinished_turn_builder
from dex_agents.session.definition import SessionDefinition
from dex_agents.session.ports import MapLoad, Movement, StepIO
from dex_agents.session.schema import AGENT_TOOL_CALLS
from dex_agents.session.step_names import RECORD_TURN_FAILURE, RUN_MODEL
from dex_agents.session.stored_messages import WINDOW_LOADS, failed_turn_loads, model_input_loads


def model_movement(session: SessionDefinition, io: StepIO, state: AgentState) -> Movement:
    """Return the movement to `RunModel` with exactly what it and its failure route load."""
    return Movement(
        RUN_MODEL,
        execute_loads=(*model_input_loads(io), AGENT_TOOL_CALLS.load_all()),
        failure_loads=turn_failure_loads(session, io, state),
    )


def turn_failure_movement(session: SessionDefinition, io: StepIO, state: AgentState) -> Movement:
    """Return the movement to the Step that ends a failed turn."""
    return Movement(RECORD_TURN_FAILURE, execute_loads=turn_failure_loads(session, io, state))


def turn_failure_loads(
    session: SessionDefinition, io: StepIO, state: AgentState
) -> tuple[MapLoad, ...]:
    """Return what `RecordTurnFailure` loads: the failed turn, and no more than fits."""
    if unfinished_turn_builder(session.runner) is None:
        return (*WINDOW_LOADS, AGENT_TOOL_CALLS.load_all())
    room = io.max_load_bytes
    if room is not None:
        room -= state.window_bytes + tool_call_bytes(io)
    return (*failed_turn_loads(io, room), AGENT_TOOL_CALLS.load_all())


def tool_call_bytes(io: StepIO) -> int:
    """Return how many bytes the turn's records hold; 0 for a Step that loads none of them.

    Such a Step starts a turn, which has none yet.
    """
    try:
        records = io.items(AGENT_TOOL_CALLS.name)
    except LookupError:
        return 0
    return sum(utf8_size(text) for _, text in records)
