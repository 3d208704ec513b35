# twin: sync-only
"""A Client or a Flow of the other colour is refused, and the text says what to import."""

from typing import Any

import dex
import pytest

from dex_agents_sync.sdk import AgentSessionFlow, serve
from dex_agents_sync.session.client import AgentSessionClient
from tests.aio.support import build_session, echo


def test_an_asynchronous_client_is_refused() -> None:
    flow = AgentSessionFlow.remote("Support")

    class BareClient(dex.AsyncClient):
        """One that opens nothing: an event loop would be needed for that."""

        def __init__(self) -> None:
            pass

    wrong: Any = BareClient()
    with pytest.raises(
        TypeError, match=r"dex_agents_sync needs a dex.Client, not a dex.BareClient"
    ):
        AgentSessionClient(wrong, flow)


def test_a_flow_of_the_other_package_is_refused() -> None:
    from dex_agents.sdk import AgentSessionFlow as OtherFlow

    flow = OtherFlow.of(build_session(echo))
    with pytest.raises(TypeError, match=r"made with dex_agents; serve it with dex_agents.sdk"):
        serve([flow])
