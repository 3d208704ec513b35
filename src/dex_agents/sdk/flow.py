# twin: source
"""The session as a Flow of the `dex` SDK."""

from types import MethodType
from typing import Self

import dex

from dex_agents._seam.step_driver import build_steps
from dex_agents.model.options import AgentSessionOptions
from dex_agents.runner.contract import AgentFrameworkRunner
from dex_agents.runner.outcomes import DeferredToolOutcome
from dex_agents.sdk.mount import SdkMount, rpc_handler
from dex_agents.session.agent_session import AgentSession


class AgentSessionFlow(dex.Flow[str]):
    """One agent's sessions, for a `dex.Registry`; every other engine takes its `session`.

    All stored values are text, so the Registry needs no codecs. Give each agent a Flow of its own,
    and use that one Flow object for the Clients and Workers of a process: the SDK compares Flows
    and Streams by identity.
    """

    def __init__(
        self,
        runner: AgentFrameworkRunner[DeferredToolOutcome],
        *,
        flow_type: str,
        options: AgentSessionOptions | None = None,
    ) -> None:
        """Define the Flow.

        Args:
            runner: Talks to the framework and runs the tools.
            flow_type: The durable name of this agent, unique in an engine. Without `/`, `$`, `:`.
            options: How the session treats tools, people and time.

        Raises:
            TypeError: The runner lacks a method, or is made for the other package.
            ValueError: The Flow type cannot be stored.
        """
        self._take(AgentSession(runner, flow_type=flow_type, options=options))

    @classmethod
    def of(cls, session: AgentSession) -> Self:
        """Return the Flow of a session that is defined already.

        Raises:
            TypeError: It is no session of this package.
        """
        if not isinstance(session, AgentSession):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be untyped
            raise TypeError(
                f"expected an AgentSession of {AgentSession.__module__.partition('.')[0]}, "
                f"not {type(session).__module__}.{type(session).__qualname__}"
            )
        flow = cls.__new__(cls)
        flow._take(session)
        return flow

    def _take(self, session: AgentSession) -> None:
        mount = SdkMount(session)
        steps = build_steps(session, mount)
        self._session = session
        self._schema = mount.schema
        others = [step for name, step in steps.items() if name != session.start_step]
        self._steps = dex.StepList[str].start_step(steps[session.start_step]).other_steps(*others)
        # The SDK looks for marked methods on the object, so the table decides what there is.
        for definition in session.rpcs.values():
            setattr(self, definition.name, MethodType(rpc_handler(mount, definition), self))

    @property
    def session(self) -> AgentSession:
        """Return the session, which every engine runs."""
        return self._session

    def get_flow_type(self) -> str:
        """Return the durable name of this agent."""
        return self._session.flow_type

    def get_steps(self) -> dex.StepList[str]:
        """Return the Step table, the Step that a session starts with first."""
        return self._steps

    def get_persistence_schema(self) -> dex.PersistenceSchema:
        """Return everything that a session stores."""
        return self._schema
