"""Start the chat page, or do one conversation in the terminal.

The page, the engine and the agent share this one process: the engine starts here and not when a
module is imported, and one event loop serves the browsers. A server that forks workers would need
the engine in one of them only, or a Dex Server for all.
"""

import argparse
import asyncio
import signal
import socket
import sys
from functools import partial
from pathlib import Path

from hypercorn.asyncio import serve as serve_app
from hypercorn.config import Config

from dex_agents import EmbeddedEngine, EngineError
from examples.quart.agent import support_session
from examples.quart.app import create_app
from examples.quart.once import run_once

HOST = "127.0.0.1"
DATABASE = Path(__file__).resolve().parents[2] / ".demo" / "agents.db"
DRAIN_SECONDS = 2.0


def main() -> int:
    """Do what the command line says; return the exit code."""
    options = parse_options()
    if options.once is not None:
        return asyncio.run(run_once(options.once))
    try:
        return asyncio.run(serve(options.port, options.db, options.pace))
    except (EngineError, OSError) as error:
        print(f"the demo cannot start: {error}", file=sys.stderr)
        return 1


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m examples.quart", description=__doc__)
    parser.add_argument("--port", type=int, default=8765, help="0 takes a free one")
    parser.add_argument("--db", type=Path, default=DATABASE, help="the engine file")
    parser.add_argument("--pace", type=float, default=1.0, help="how slow the tools pretend to be")
    parser.add_argument("--once", metavar="TEXT", help="do one conversation and exit")
    options = parser.parse_args()
    if options.once is not None and not options.once.strip():
        parser.error("--once needs something to say")
    return options


async def serve(port: int, db: Path, pace: float) -> int:
    """Serve the page until somebody stops it."""
    db.parent.mkdir(parents=True, exist_ok=True)
    with socket.create_server((HOST, port)) as listener:
        async with EmbeddedEngine(db, drain_seconds=DRAIN_SECONDS) as engine:
            app = create_app(engine.serve(support_session(pace=pace)))
            print(f"http://{HOST}:{listener.getsockname()[1]}/  (Ctrl-C stops it)", flush=True)
            config = Config()
            # The server closes the socket that it is given by number.
            config.bind = [f"fd://{listener.detach()}"]
            config.loglevel = "WARNING"
            await serve_app(app, config, shutdown_trigger=partial(wait_for_stop, engine))
    return 0


async def wait_for_stop(engine: EmbeddedEngine) -> None:
    """Wait for Ctrl-C or a polite kill."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    # Closing the engine ends the open event streams, which the server would wait for.
    await engine.close()


if __name__ == "__main__":
    sys.exit(main())
