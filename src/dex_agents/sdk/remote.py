# twin: shared
"""The one Step that a Flow shows to its Clients where another process serves it."""

import dex

from dex_agents.sdk.mount import SdkMount, SessionStep, step_type
from dex_agents.session.remote import RemoteAgentSession


class _ServedElsewhere(SessionStep):
    """The Step that a session starts with; here it only lends a Client its name and options.

    A Worker that has no other Step hands all others back to the engine, unspent.
    """

    def execute(self, context: dex.Context, input: str) -> dex.StepDecision:
        """Refuse to run."""
        session = self.mount.session
        assert isinstance(session, RemoteAgentSession)
        session.refuse()


def remote_steps(session: RemoteAgentSession, mount: SdkMount) -> dict[str, SessionStep]:
    """Return the Steps of a session that is served elsewhere, and tell the mount their classes."""
    definition = session.steps[session.start_step]
    step = step_type(_ServedElsewhere, definition)(mount, definition)
    mount.step_types[definition.name] = type(step)
    return {definition.name: step}
