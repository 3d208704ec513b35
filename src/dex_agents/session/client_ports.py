# twin: source
"""From any engine's client to the client port."""

from typing import TYPE_CHECKING, cast

from dex_agents._seam.callables import require_colour
from dex_agents.session.client_port import ClientPort

if TYPE_CHECKING:
    from typing import TypeAlias

    from dex_agents._seam.sdk import SdkClient

    AnyClient: TypeAlias = ClientPort | SdkClient


def as_client_port(client: object, session: object) -> ClientPort:
    """Return a client port that talks to a session's Flows.

    Args:
        client: A client port, or a Client of the SDK, which is wrapped into one.
        session: The session, or the Flow of one; a Client of the SDK needs the Flow.

    Raises:
        TypeError: The client is made for the other package, or it is the SDK's and `session` is
            not a Flow of it.
    """
    # The SDK takes time to load; whoever has a Client of it has loaded it.
    if any(base.__module__.partition(".")[0] == "dex" for base in type(client).__mro__):
        from dex_agents.sdk.client import sdk_client_port

        return sdk_client_port(client, session)
    require_colour(client, ("start_flow", "invoke_rpc"), "client")
    return cast("ClientPort", client)
