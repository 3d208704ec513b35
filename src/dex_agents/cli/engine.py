# twin: shared
"""`dex-agents engine`: run the local engine in this process, or check its file."""

import argparse
import json
import os
from importlib import import_module

from dex_agents.engine.store.file import Durability
from dex_agents.errors import EngineError


def run(options: argparse.Namespace) -> int:
    """Serve until a signal says stop.

    Raises:
        EngineError: The file or the address cannot be used; the text says what to do.
    """
    if options.check:
        checked: int = import_module("dex_agents.cli.check").run(options)
        return checked
    try:
        return _serve(options)
    except EngineError as error:
        if not options.owned:
            raise
        # For the program that started this process, and shows it to its user.
        print(json.dumps({"error": type(error).__name__, "detail": str(error)}), flush=True)
        return 1


def _serve(options: argparse.Namespace) -> int:
    # gRPC reads it when it is loaded. What it would print says in its words what the engine says.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    process = import_module("dex_agents.engine.server.process")
    status: int = process.serve_until_stopped(
        path=options.db,
        address=options.address,
        durability=Durability(options.durability),
        dispatch_wait=options.dispatch_wait,
        drain_seconds=options.drain,
        retain_closed=options.retain_closed,
        is_owned=options.owned,
    )
    return status
