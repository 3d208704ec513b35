# twin: generated from src/dex_agents/sdk/flow.py by tools/twin; do not edit.
"""The session as a Flow of the `dex` SDK."""

from collections.abc import Callable
from types import MethodType
from typing import Self, TypeAlias

import dex

from dex_agents_sync._seam.step_driver import build_steps
from dex_agents.model.options import AgentSessionOptions
from dex_agents_sync.runner.contract import AgentFrameworkRunner
from dex_agents.runner.outcomes import DeferredToolOutcome
from dex_agents.sdk.mount import SdkMount, SessionStep, rpc_handler
from dex_agents.sdk.remote import remote_steps
from dex_agents_sync.session.agent_session import AgentSession
from dex_agents.session.definition import SessionDefinition
from dex_agents.session.remote import RemoteAgentSession
from dex_agents_sync.spend.limit import ModelSpendLimit

RpcMethod: TypeAlias = Callable[[dex.Context, str | None], dex.RPCResult[str]]


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
        spend_limit: ModelSpendLimit | None = None,
    ) -> None:
        """Define the Flow.

        Args:
            runner: Talks to the framework and runs the tools.
            flow_type: The durable name of this agent, unique in an engine. Without `/`, `$`, `:`.
            options: How the session treats tools, people and time.
            spend_limit: What is asked before each model call; `None` makes no checks.

        Raises:
            TypeError: The runner or the limit lacks a method, or is made for the other package.
            ValueError: The Flow type cannot be stored.
        """
        self._take(
            AgentSession(runner, flow_type=flow_type, options=options, spend_limit=spend_limit)
        )

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

    @classmethod
    def remote(cls, flow_type: str, *, options: AgentSessionOptions | None = None) -> Self:
        """Return a Flow for a process that only talks to sessions, such as a web server.

        It needs no model and no tools. Clients, `AgentSessionClient` and `ui_stream` take it;
        `serve` refuses it.

        Args:
            flow_type: The durable name of the agent, as the process that serves it has it.
            options: The options of that process, where they differ from the defaults.

        Raises:
            ValueError: The Flow type cannot be stored.
        """
        flow = cls.__new__(cls)
        flow._take(RemoteAgentSession(flow_type, options))
        return flow

    def _take(self, session: AgentSession | RemoteAgentSession) -> None:
        self._session: SessionDefinition = session
        mount = SdkMount(session)
        self._schema = mount.schema
        self._events = mount.events
        steps: dict[str, SessionStep]
        if isinstance(session, RemoteAgentSession):
            steps = remote_steps(session, mount)
        else:
            steps = build_steps(session, mount)
        others = [step for name, step in steps.items() if name != session.start_step]
        self._steps = dex.StepList[str].start_step(steps[session.start_step]).other_steps(*others)
        # The SDK looks for marked methods on the object, so the table decides what there is.
        for definition in session.rpcs.values():
            setattr(self, definition.name, MethodType(rpc_handler(mount, definition), self))

    @property
    def session(self) -> SessionDefinition:
        """Return the session, which every engine runs; one that is remote only has clients."""
        return self._session

    @property
    def is_remote(self) -> bool:
        """Return whether another process serves these sessions."""
        return isinstance(self._session, RemoteAgentSession)

    @property
    def events(self) -> dex.Stream[str]:
        """Return the Stream of live events, for the SDK's own Clients."""
        return self._events

    def rpc_method(self, name: str) -> RpcMethod:
        """Return the method behind an RPC name, for the SDK's own Clients.

        Raises:
            LookupError: A session has no such RPC.
        """
        if name not in self._session.rpcs:
            raise LookupError(f"a session has no RPC {name!r}")
        method: RpcMethod = getattr(self, name)
        return method

    def get_flow_type(self) -> str:
        """Return the durable name of this agent."""
        return self._session.flow_type

    def get_steps(self) -> dex.StepList[str]:
        """Return the Step table, the Step that a session starts with first."""
        return self._steps

    def get_persistence_schema(self) -> dex.PersistenceSchema:
        """Return everything that a session stores."""
        return self._schema
