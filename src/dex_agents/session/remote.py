# twin: shared
"""Sessions that another process serves: all that is needed to talk to them."""

from typing import NoReturn

from dex_agents.model.keys import check_durable_name
from dex_agents.model.messages import FrameworkMessage
from dex_agents.model.options import AgentSessionOptions
from dex_agents.session.definition import SessionDefinition
from dex_agents.session.rpcs import RPCS
from dex_agents.session.step_names import START_AGENT_SESSION
from dex_agents.session.steps import build_steps


class RemoteAgentSession(SessionDefinition):
    """The sessions of an agent whose model and tools are in another process.

    Clients take it like an `AgentSession`; no engine runs it.
    """

    __slots__ = ()

    def __init__(self, flow_type: str, options: AgentSessionOptions | None = None) -> None:
        """Name the sessions.

        Args:
            flow_type: The durable name of the agent, as the process that serves it has it.
            options: The options of that process, where they differ from the defaults; only
                `event_stream_capacity_bytes` means something here.

        Raises:
            ValueError: The Flow type cannot be stored.
        """
        runner = _NoRunner(flow_type)
        checked = options or AgentSessionOptions()
        super().__init__(
            flow_type=check_durable_name(flow_type, "flow_type"),
            runner=runner,
            options=checked,
            steps=build_steps(checked, runner),
            rpcs=RPCS,
            start_step=START_AGENT_SESSION,
        )

    def refuse(self) -> NoReturn:
        """Raise what a process gets that tries to run such a session.

        Raises:
            RuntimeError: Always.
        """
        _refuse(self.flow_type)


class _NoRunner:
    """Stands where the agent's runner is in the process that serves it."""

    def __init__(self, flow_type: str) -> None:
        self._flow_type = flow_type

    def build_user_message(self, text: str) -> FrameworkMessage:
        """Refuse: this process does not know the framework."""
        _refuse(self._flow_type)


def _refuse(flow_type: str) -> NoReturn:
    raise RuntimeError(
        f"AgentSessionFlow.remote({flow_type!r}) only talks to sessions: it has no model and no "
        "tools. Serve the AgentSessionFlow that is made with the agent's runner"
    )
