"""Start the chat page, or do one conversation in the terminal.

The page, the engine and the agent share this one process: the engine starts here and not when a
module is imported, and threads serve the browsers. A server that forks workers would need the
engine in one of them only, or a Dex Server for all.
"""

import argparse
import signal
import socket
import sys
import threading
from pathlib import Path

from waitress.server import create_server

from dex_agents_sync import EmbeddedEngine, EngineError
from examples.flask.agent import support_session
from examples.flask.app import create_app
from examples.flask.once import run_once

HOST = "127.0.0.1"
DATABASE = Path(__file__).resolve().parents[2] / ".demo" / "agents.db"
# An open page holds one thread, so this is the number of open pages, and some more.
THREADS = 64
DRAIN_SECONDS = 2.0


def main() -> int:
    """Do what the command line says; return the exit code."""
    options = parse_options()
    if options.once is not None:
        return run_once(options.once)
    try:
        return serve(options.port, options.db, options.pace)
    except (EngineError, OSError) as error:
        print(f"the demo cannot start: {error}", file=sys.stderr)
        return 1


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m examples.flask", description=__doc__)
    parser.add_argument("--port", type=int, default=8765, help="0 takes a free one")
    parser.add_argument("--db", type=Path, default=DATABASE, help="the engine file")
    parser.add_argument("--pace", type=float, default=1.0, help="how slow the tools pretend to be")
    parser.add_argument("--once", metavar="TEXT", help="do one conversation and exit")
    options = parser.parse_args()
    if options.once is not None and not options.once.strip():
        parser.error("--once needs something to say")
    return options


def serve(port: int, db: Path, pace: float) -> int:
    """Serve the page until somebody stops it."""
    db.parent.mkdir(parents=True, exist_ok=True)
    # Open until the process ends: the server's thread still waits on it while the engine closes.
    listener = socket.create_server((HOST, port))
    with EmbeddedEngine(db, drain_seconds=DRAIN_SECONDS) as engine:
        app = create_app(engine.serve(support_session(pace=pace)))
        server = create_server(app, sockets=[listener], threads=THREADS)
        # Closing the engine ends the open event streams, and nothing else keeps the process.
        threading.Thread(target=server.run, daemon=True).start()
        print(f"http://{HOST}:{listener.getsockname()[1]}/  (Ctrl-C stops it)", flush=True)
        wait_for_stop()
    return 0


def wait_for_stop() -> None:
    """Wait for Ctrl-C or a polite kill."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()


if __name__ == "__main__":
    sys.exit(main())
