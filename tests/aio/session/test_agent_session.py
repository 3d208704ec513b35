# twin: source
"""A session is checked when it is made, so that no engine meets a wrong one."""

from typing import Any

import pytest

from dex_agents.model.messages import FrameworkMessage
from dex_agents.model.options import AgentSessionOptions
from dex_agents.session.agent_session import AgentSession
from tests.aio.session.calls_support import ScriptedRunner


class NoTools:
    def build_user_message(self, text: str) -> FrameworkMessage:
        raise NotImplementedError

    async def run_model_step(self, turn: object) -> None:
        """Do nothing."""


class WaitingBuilder(ScriptedRunner):
    # A method of the wrong form is what is tested.
    async def build_user_message(self, text: str) -> FrameworkMessage:  # type: ignore[override]
        raise NotImplementedError


def test_a_session_has_its_steps_and_rpcs() -> None:
    session = AgentSession(ScriptedRunner(), flow_type="Support")
    assert session.flow_type == "Support"
    assert session.start_step in session.steps
    assert set(session.rpcs) >= {"send_user_message", "get_agent_snapshot"}
    assert session.options == AgentSessionOptions()
    assert session in {session}


def test_two_sessions_of_one_runner_are_not_equal() -> None:
    runner = ScriptedRunner()
    one, other = (AgentSession(runner, flow_type="Support") for _ in range(2))
    assert one != other


@pytest.mark.parametrize("flow_type", ["", "a/b", "$x", "a:b"])
def test_a_flow_type_that_cannot_be_stored_is_refused(flow_type: str) -> None:
    with pytest.raises(ValueError, match="flow_type"):
        AgentSession(ScriptedRunner(), flow_type=flow_type)


def test_a_runner_without_a_method_is_refused() -> None:
    runner: Any = NoTools()
    with pytest.raises(TypeError, match="NoTools has no method 'execute_deferred_tool_call'"):
        AgentSession(runner, flow_type="Support")


def test_options_of_another_type_are_refused() -> None:
    options: Any = {"max_error_bytes": 1}
    with pytest.raises(TypeError, match="must be AgentSessionOptions, not dict"):
        AgentSession(ScriptedRunner(), flow_type="Support", options=options)
