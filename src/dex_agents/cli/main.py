# twin: shared
"""The command `dex-agents`: its subcommands and their options."""

import argparse
import os
import re
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
    run = getattr(import_module(options.module), options.function)
    try:
        status: int = run(options)
    except BrokenPipeError:
        # Its reader, such as `head`, has seen enough. What is left must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except DexAgentsError as error:
        print(f"dex-agents: {error}", file=sys.stderr)
        return 1
    return status


DEFAULT_ADDRESS = "127.0.0.1:8801"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dex-agents", description="Durable AI agent sessions.")
    parser.add_argument("--version", action="version", version=f"dex-agents {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_engine(commands.add_parser("engine", help="run the local engine", description=_ENGINE))
    _add_flows(commands.add_parser("flows", help="list Flows", description=_FLOWS))
    _add_history(
        commands.add_parser("history", help="show the history of a Flow", description=_HISTORY)
    )
    return parser


_ENGINE = """Run the local engine on one file. When it is ready it prints one line of JSON with its
address and process number. SIGTERM and SIGINT stop it: running calls may finish for a while."""


def _add_engine(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="dex_agents.cli.engine", function="run")
    parser.add_argument("--db", required=True, metavar="FILE", help="the engine file")
    parser.add_argument(
        "--address",
        default=DEFAULT_ADDRESS,
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
    parser.add_argument(
        "--retain-closed",
        type=_duration,
        metavar="TIME",
        help="delete runs this long after they were closed, as 12h or 30d (default: never)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="verify the file and print what it holds, also beside a running engine; start nothing",
    )
    parser.add_argument("--owned", action="store_true", help=argparse.SUPPRESS)


_FLOWS = """List the newest runs of Flows that match a query, from an engine or from its file.
A file is only read, so an engine may run on it meanwhile."""
_HISTORY = (
    """Show what happened in a Flow's latest run, oldest first, from an engine or its file."""
)


def _add_flows(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="dex_agents.cli.flows", function="run")
    _add_source(parser)
    parser.add_argument(
        "--query",
        default="",
        metavar="QUERY",
        help="such as 'ActiveStepTypes = \"AwaitToolApproval\"' (default: all)",
    )
    parser.add_argument(
        "--limit",
        type=_count,
        default=50,
        metavar="N",
        help="how many to list (default: %(default)s)",
    )


def _add_history(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="dex_agents.cli.flows", function="run_history")
    parser.add_argument("flow_id", metavar="FLOW_ID", help="the Flow; a session's is its ID")
    parser.add_argument("--run", default="", metavar="RUN_ID", help="a run other than the latest")
    _add_source(parser)


def _add_source(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--address",
        default=DEFAULT_ADDRESS,
        metavar="HOST:PORT",
        help="the engine to ask (default: %(default)s)",
    )
    source.add_argument("--db", metavar="FILE", help="an engine file to read instead")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to 1,000,000")
    return int(text)


_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def _duration(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text} is not a time such as 90s, 12h or 30d")
    return float(found[1]) * _UNITS[found[2]]


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0.0 < seconds <= 365 * 24 * 3600.0:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above 0")
    return seconds
