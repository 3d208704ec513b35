# twin: async-only
"""A Client or a Flow of the other colour is refused, and the text says what to import."""

from typing import Any

import dex
import pytest

from dex_agents.sdk import AgentSessionFlow, client_options, serve
from dex_agents.sdk.blob_cache import opened_blob_cache
from dex_agents.session.client import AgentSessionClient
from tests.sync.support import build_session, echo


def test_a_synchronous_client_is_refused() -> None:
    flow = AgentSessionFlow.remote("Support")
    with (
        opened_blob_cache(None) as cache,
        dex.Client(dex.Registry([flow]), cache, client_options()) as client,
    ):
        wrong: Any = client
        with pytest.raises(
            TypeError,
            match=r"dex_agents needs a dex.AsyncClient, not a dex.Client; for dex.Client, import "
            r"AgentSessionClient and AgentSessionFlow from dex_agents_sync instead",
        ):
            AgentSessionClient(wrong, flow)


async def test_a_flow_of_the_other_package_is_refused(real_sdk: None) -> None:
    from dex_agents_sync.sdk import AgentSessionFlow as OtherFlow

    flow = OtherFlow.of(build_session(echo))
    with pytest.raises(
        TypeError, match=r"made with dex_agents_sync; serve it with dex_agents_sync"
    ):
        await serve([flow])
