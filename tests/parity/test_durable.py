# twin: shared
"""Both packages register the same durable names, options and objects with the SDK."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from dex import AttributeLock, Registry, Stream
from dex.flow import _RegisteredRPC

from dex_agents.model.options import AgentSessionOptions, CallLimit
from dex_agents.sdk.flow import AgentSessionFlow
from dex_agents.sdk.mount import SessionStep
from dex_agents.session import schema, step_names
from dex_agents_sync.sdk.flow import AgentSessionFlow as SyncAgentSessionFlow
from tests.aio_only.sdk.driver import Blocking
from tests.sync_only.sdk.driver import Driven, ScriptedRunner

STEP_TYPES = [
    step_names.START_AGENT_SESSION,
    step_names.AWAIT_USER_MESSAGE,
    step_names.RUN_MODEL,
    step_names.RESUME_TURN,
    step_names.RECORD_TURN_FAILURE,
    step_names.AWAIT_TOOL_APPROVAL,
    step_names.CALL_TOOL,
    step_names.CALL_SINGLE_ATTEMPT_TOOL,
    step_names.RECORD_TOOL_FAILURE,
    step_names.RECORD_TOOL_OUTCOME_UNKNOWN,
]
RPC_NAMES = {
    step_names.SEND_USER_MESSAGE,
    step_names.RESOLVE_INTERRUPT,
    step_names.GET_AGENT_SNAPSHOT,
    step_names.LIST_AGENT_MESSAGES,
    step_names.READ_MESSAGE_CHUNKS,
}

SHORT_TIMEOUT = AgentSessionOptions(
    tool_call_limit=CallLimit(heartbeat_timeout=timedelta(seconds=15))
)


@pytest.fixture
def aio() -> Iterator[Blocking]:
    blocking = Blocking()
    yield blocking
    blocking.close()


@pytest.fixture
def sync() -> Driven:
    return Driven(ScriptedRunner())


def test_both_registries_know_the_same_steps_under_their_durable_names(
    aio: Blocking, sync: Driven
) -> None:
    ours, its = aio.driven.registered, sync.registered
    assert list(ours.steps) == list(its.steps) == STEP_TYPES
    assert ours.start_step is not None and its.start_step is not None
    assert ours.start_step.name == its.start_step.name == STEP_TYPES[0]
    for name, step in ours.steps.items():
        other = its.steps[name]
        assert type(step.step).__name__ == type(other.step).__name__ == name
        assert step.input_type is other.input_type is str
        assert step.skips_wait_for == other.skips_wait_for


def test_the_steps_that_wait_are_those_that_a_search_must_find(aio: Blocking) -> None:
    waiting = {
        name for name, step in aio.driven.registered.steps.items() if not step.skips_wait_for
    }
    assert waiting == {
        step_names.AWAIT_USER_MESSAGE,
        step_names.RESUME_TURN,
        step_names.AWAIT_TOOL_APPROVAL,
    }


@pytest.mark.parametrize("step_type", STEP_TYPES)
def test_both_registries_send_the_same_step_options(
    step_type: str, aio: Blocking, sync: Driven
) -> None:
    ours, its = aio.driven.registered, sync.registered
    mine = aio.driven.dispatcher.map_step_options(
        ours, ours.steps[step_type].step.get_step_options()
    )
    theirs = sync.dispatcher.map_step_options(its, its.steps[step_type].step.get_step_options())
    assert mine == theirs
    assert mine is not None
    # SYNC, said for each method: the default is the server's to choose.
    assert mine.wait_for_durability_override == mine.execute_durability_override == 1


def test_both_registries_know_the_same_rpcs(aio: Blocking, sync: Driven) -> None:
    ours, its = aio.driven.registered.rpcs, sync.registered.rpcs
    assert set(ours) == set(its) == RPC_NAMES
    assert {name: told(rpc) for name, rpc in ours.items()} == {
        name: told(rpc) for name, rpc in its.items()
    }
    assert ours[step_names.RESOLVE_INTERRUPT].options.lock_attributes == (
        AttributeLock(aio.driven.registered.persistence["PendingInterrupts"]),  # type: ignore[arg-type]  # of any kind
    )


def told(rpc: _RegisteredRPC) -> tuple[object, ...]:
    """Return what an engine is told of an RPC."""
    options = rpc.options
    loads = [attribute_map.name for attribute_map in options.load_attribute_maps]
    assert rpc.input_codec is not None and rpc.output_codec is not None
    return (
        rpc.name,
        options.is_transactional,
        rpc.locks,
        loads,
        rpc.load_attribute_map_instances,
        rpc.load_channel_names,
        rpc.input_codec.type_name,
        rpc.output_codec.type_name,
    )


def test_both_registries_hold_the_same_objects_but_for_the_stream(
    aio: Blocking, sync: Driven
) -> None:
    ours, its = aio.driven.registered.persistence, sync.registered.persistence
    names = [
        *(one.name for one in schema.ATTRIBUTES),
        *(one.name for one in schema.ATTRIBUTE_MAPS),
        *(one.name for one in schema.CHANNELS),
        *(one.name for one in schema.CHANNEL_MAPS),
        schema.AGENT_EVENTS.name,
    ]
    assert list(ours) == list(its) == names
    for name in names[:-1]:
        assert ours[name] is its[name]
        assert ours[name].value_type is str
    stream = ours[schema.AGENT_EVENTS.name]
    assert isinstance(stream, Stream)
    assert stream is not its[stream.name]
    assert stream == its[stream.name]


def test_one_registry_takes_the_flows_of_many_agents(aio: Blocking, sync: Driven) -> None:
    other = AgentSessionFlow(aio.driven.runner, flow_type="Other")
    Registry([aio.driven.flow, other], allow_async_handlers=True)
    Registry([sync.flow, SyncAgentSessionFlow(sync.runner, flow_type="Other")])


def test_a_silent_call_beats_three_times_within_its_timeout_and_every_20_seconds_at_least(
    aio: Blocking, sync: Driven
) -> None:
    limited = AgentSessionFlow(aio.driven.runner, flow_type="Limited", options=SHORT_TIMEOUT)
    for flow, expected in ((aio.driven.flow, 20.0), (sync.flow, 20.0), (limited, 5.0)):
        steps = {
            definition.step.get_step_type(): definition.step for definition in flow.get_steps()
        }
        call_tool = steps[step_names.CALL_TOOL]
        assert isinstance(call_tool, SessionStep)
        assert call_tool.beat_seconds == expected
