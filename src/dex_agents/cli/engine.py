# twin: shared
"""`dex-agents engine`: run the local engine in this process."""

import argparse

from dex_agents.engine.server.process import serve_until_stopped
from dex_agents.engine.store.file import Durability


def run(options: argparse.Namespace) -> int:
    """Serve until a signal says stop.

    Raises:
        EngineError: The file or the address cannot be used; the text says what to do.
    """
    return serve_until_stopped(
        path=options.db,
        address=options.address,
        durability=Durability(options.durability),
        dispatch_wait=options.dispatch_wait,
        drain_seconds=options.drain,
    )
