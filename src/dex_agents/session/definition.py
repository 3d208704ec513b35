# twin: shared
"""The engine-neutral definition of a session: a table of Steps and RPCs, and what they share.

Every mount runs this table. A Step's `execute` decides at once and returns a `StepPlan`, or asks
for one call outside (a model, a tool) by returning a `PreparedCall`; the mount then performs the
call and hands its outcome to `settle`. So a Step reads *load, decide, write once*.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dex_agents.model.options import AgentSessionOptions
from dex_agents.runner.builders import UserMessageBuilder
from dex_agents.session.ports import MapLoad, RpcResult, StepIO, StepOptions, StepPlan, Wait


def no_loads(step_input: str | None) -> Sequence[MapLoad]:
    """Load no AttributeMap instance."""
    return ()


class PreparedCall:
    """The base of what a Step asks the mount to call: see `dex_agents.session.calls`."""

    __slots__ = ()


class CallOutcome:
    """The base of what a performed call came to: see `dex_agents.session.calls`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDefinition:
    """One row of the Step table.

    `wait_for_loads` and `execute_loads` name the map instances that each method reads, from the
    Step's input; a `Movement` may replace the latter for one execution. `settle` is present
    exactly when `execute` may return a `PreparedCall`.
    """

    name: str
    options: StepOptions
    execute: Callable[["SessionDefinition", StepIO, str | None], "StepPlan | PreparedCall"]
    wait_for: Callable[["SessionDefinition", StepIO, str | None], Wait] | None = None
    settle: (
        Callable[["SessionDefinition", StepIO, str | None, PreparedCall, CallOutcome], StepPlan]
        | None
    ) = None
    wait_for_loads: Callable[[str | None], Sequence[MapLoad]] = no_loads
    execute_loads: Callable[[str | None], Sequence[MapLoad]] = no_loads


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcDefinition:
    """One row of the RPC table.

    With `locks` the handler runs only when all of them are free, else the caller gets a lock
    conflict. A transactional RPC (locks imply it) needs an active Flow; a plain one also reads a
    closed Flow. `free_loads` are loaded besides where loading moves no bytes; elsewhere the caller
    names what the handler should read of them.
    """

    name: str
    handler: Callable[["SessionDefinition", StepIO, str | None], RpcResult]
    locks: tuple[str, ...] = ()
    is_transactional: bool = False
    loads: tuple[MapLoad, ...] = ()
    free_loads: tuple[MapLoad, ...] = ()
    load_channels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SessionDefinition:
    """A session as an engine runs it.

    Attributes:
        flow_type: The durable name of this agent; one per agent, unique in an engine.
        runner: What builds messages and performs calls. Its calls are made only through the
            `AgentSession` of its own package.
        options: The session's options.
        steps: The Step table by Step name.
        rpcs: The RPC table by RPC name.
        start_step: The Step that a new session starts with.
    """

    flow_type: str
    runner: UserMessageBuilder
    options: AgentSessionOptions
    steps: Mapping[str, StepDefinition] = field(repr=False)
    rpcs: Mapping[str, RpcDefinition] = field(repr=False)
    start_step: str
