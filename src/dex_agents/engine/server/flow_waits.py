# twin: async-only
"""FlowService: calls that wait for something to happen to a Flow."""

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from dex.dexpb import dex_pb2 as pb

from dex_agents.engine.core import EngineCore
from dex_agents.engine.kernel.state import FlowState, RunRecord, split_name
from dex_agents.engine.kernel.values import Value, ValueKind
from dex_agents.engine.refusals import FlowNotActive, InvalidRequest
from dex_agents.engine.server.errors import long_poll_timeout, request_timeout
from dex_agents.engine.server.flow_states import flow_result
from dex_agents.engine.server.host import EngineHost
from dex_agents.engine.server.options import read_name
from dex_agents.engine.server.values import read_value, write_value

T = TypeVar("T")

# The longest that a call is held. The SDK's calls have no deadline of their own.
LONGEST_POLL_SECONDS = 60.0

_COMPARISONS: Mapping[int, Callable[[Any, Any], bool]] = {
    pb.ATTRIBUTE_MATCH_OPERATOR_EQUAL: operator.eq,
    pb.ATTRIBUTE_MATCH_OPERATOR_NOT_EQUAL: operator.ne,
    pb.ATTRIBUTE_MATCH_OPERATOR_GREATER_THAN: operator.gt,
    pb.ATTRIBUTE_MATCH_OPERATOR_GREATER_THAN_OR_EQUAL: operator.ge,
    pb.ATTRIBUTE_MATCH_OPERATOR_LESS_THAN: operator.lt,
    pb.ATTRIBUTE_MATCH_OPERATOR_LESS_THAN_OR_EQUAL: operator.le,
}


class FlowWaits:
    """Long polls on Flows."""

    def __init__(self, host: EngineHost) -> None:
        """Serve a host."""
        self._host = host

    async def WaitForFlow(self, request: pb.WaitForFlowRequest) -> pb.FlowResult:
        """Wait until a run is closed."""

        def probe(core: EngineCore) -> RunRecord | None:
            run = core.describe(request.flow_id, request.run_id)
            return None if run.closed_at is None else run

        seconds = poll_seconds(request.wait_time_seconds)
        run = await self._host.waves.poll(request.flow_id, probe, seconds)
        if run is None:
            raise long_poll_timeout(f"Flow {request.flow_id!r} still runs")
        return flow_result(run, needs_results=request.needs_results)

    async def WaitForStepCompletion(
        self, request: pb.WaitForStepCompletionRequest
    ) -> pb.WaitForStepCompletionResponse:
        """Wait until a Step execution is over."""
        step_type = read_name("a Step type", request.step_type)
        number_text = request.step_execution_number
        if not (number_text.isascii() and number_text.isdigit() and 0 < len(number_text) < 10):
            raise InvalidRequest(f"a Step execution number, not {number_text[:64]!r}")
        number = int(number_text)

        def is_over(state: FlowState) -> bool | None:
            was_started = state.counters.get(step_type, 0) >= number
            return (was_started and f"{step_type}-{number}" not in state.steps) or None

        await self._wait(request.flow_id, is_over, request.request_timeout_seconds)
        return pb.WaitForStepCompletionResponse()

    async def WaitForAttribute(
        self, request: pb.WaitForAttributeRequest
    ) -> pb.WaitForAttributeResponse:
        """Wait until an Attribute compares as asked."""
        compare = _COMPARISONS.get(request.match.operator)
        if compare is None or not request.match.key:
            raise InvalidRequest("a match needs an Attribute and an operator")
        operand = read_value(request.match.operand)
        if operand.kind in (ValueKind.NULL, ValueKind.OBJECT):
            raise InvalidRequest("a match compares with a text, a number or a bool")
        wanted = _comparable(operand)

        def found(state: FlowState) -> Value | None:
            value = _attribute(state, request.match.key)
            if value is None or value.kind is not operand.kind:
                return None
            return value if compare(_comparable(value), wanted) else None

        value = await self._wait(request.flow_id, found, request.request_timeout_seconds)
        return pb.WaitForAttributeResponse(matched_value=write_value(value))

    async def _wait(
        self, flow_id: str, find: Callable[[FlowState], T | None], budget_seconds: int
    ) -> T:
        """Wait until something is found in the state of a Flow's latest run."""

        was_active = False

        def probe(core: EngineCore) -> T | None:
            nonlocal was_active
            state = core.inspect(flow_id)
            # What was waited for may close the Flow as well.
            was_active = was_active or state.is_active
            found = find(state) if was_active else None
            if found is None and not state.is_active:
                raise FlowNotActive(f"Flow {flow_id!r} is {state.run.status.value}")
            return found

        if budget_seconds < 0:
            raise InvalidRequest(f"a request timeout of {budget_seconds} s")
        found = await self._host.waves.poll(flow_id, probe, poll_seconds(budget_seconds))
        if found is None:
            if 0 < budget_seconds <= LONGEST_POLL_SECONDS:
                raise request_timeout(f"it did not happen within {budget_seconds} s")
            raise long_poll_timeout("it has not happened yet")
        return found


def poll_seconds(asked: int) -> float:
    """Return how long to hold a call; 0 asks for the longest.

    Raises:
        InvalidRequest: The time is negative.
    """
    if asked < 0:
        raise InvalidRequest(f"a wait of {asked} s")
    return min(float(asked) or LONGEST_POLL_SECONDS, LONGEST_POLL_SECONDS)


def _attribute(state: FlowState, name: str) -> Value | None:
    map_name, instance = split_name(name)
    if instance is None:
        return state.attributes.get(name)
    return state.maps.get(map_name, {}).get(instance)


def _comparable(value: Value) -> str | int | float | bool:
    if value.kind is ValueKind.STRING:
        return str(value.data)
    if value.kind is ValueKind.BOOL:
        return bool(value.data)
    return int(value.data) if value.kind is ValueKind.INT else float(value.data)
