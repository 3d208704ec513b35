# twin: shared
"""The command `dex-agents`: its subcommands and their options."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from dex_agents._version import __version__
from dex_agents.errors import DexAgentsError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return the process's exit status.

    Args:
        arguments: The words after the command's name; those of this process without.
    """
    options = _parser().parse_args(arguments)
    # What a subcommand needs is loaded only for it: `--help` does not wait for gRPC.
    run = import_module(options.module).run
    try:
        status: int = run(options)
    except DexAgentsError as error:
        print(f"dex-agents: {error}", file=sys.stderr)
        return 1
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dex-agents", description="Durable AI agent sessions.")
    parser.add_argument("--version", action="version", version=f"dex-agents {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_engine(commands.add_parser("engine", help="run the local engine", description=_ENGINE))
    return parser


_ENGINE = """Run the local engine on one file. When it is ready it prints one line of JSON with its
address and process number. SIGTERM and SIGINT stop it: running calls may finish for a while."""


def _add_engine(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="dex_agents.cli.engine")
    parser.add_argument("--db", required=True, metavar="FILE", help="the engine file")
    parser.add_argument(
        "--address",
        default="127.0.0.1:8801",
        metavar="HOST:PORT",
        help="where to listen; port 0 takes a free one (default: %(default)s)",
    )
    parser.add_argument(
        "--durability",
        choices=("process-crash", "power-loss"),
        default="process-crash",
        help="what an acknowledged change survives (default: %(default)s)",
    )
    parser.add_argument(
        "--dispatch-wait",
        type=_seconds,
        default=10.0,
        metavar="SECONDS",
        help="how long work waits for a Worker before that spends an attempt (default: 10)",
    )
    parser.add_argument(
        "--drain",
        type=_seconds,
        default=10.0,
        metavar="SECONDS",
        help="how long a stop waits for running calls (default: 10)",
    )
    parser.add_argument("--owned", action="store_true", help=argparse.SUPPRESS)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0.0 < seconds <= 365 * 24 * 3600.0:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above 0")
    return seconds
