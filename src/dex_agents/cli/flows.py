# twin: shared
"""`dex-agents flows` and `dex-agents history`: look at what an engine, or its file, holds."""

import argparse
import json
from importlib import import_module

from dex_agents.cli.lines import FlowLine, FlowSource, HistoryEntry, short_time, table

# A failure's text may have many lines of a traceback; the table shows where it begins.
_LONGEST_DETAIL = 100


def run(options: argparse.Namespace) -> int:
    """Print the Flows that match.

    Raises:
        DexAgentsError: The query cannot be understood, or the file or engine cannot be read.
    """
    with _source(options) as source:
        # One more than asked for tells whether there are more.
        found = list(source.flows(options.query, options.limit + 1))
    shown = found[: options.limit]
    if options.json:
        _print_json(shown)
        return 0
    heads = ("FLOW ID", "TYPE", "STATUS", "STARTED (UTC)", "CLOSED (UTC)")
    rows = [
        (
            one.flow_id,
            one.flow_type,
            one.status,
            short_time(one.started_at),
            short_time(one.closed_at),
        )
        for one in shown
    ]
    print(table(heads, rows) if rows else "no Flows")
    if len(found) > len(shown):
        print(f"and more; --limit shows more than {options.limit}")
    return 0


def run_history(options: argparse.Namespace) -> int:
    """Print the history of one Flow.

    Raises:
        DexAgentsError: There is no such Flow, or the file or engine cannot be read.
    """
    with _source(options) as source:
        entries = list(source.history(options.flow_id, options.run))
    if options.json:
        _print_json(entries)
        return 0
    heads = ("", "TIME (UTC)", "EVENT", "STEP", "ATTEMPT", "SECONDS", "DETAIL")
    print(table(heads, [_row(entry) for entry in entries]))
    return 0


def _row(entry: HistoryEntry) -> tuple[str, ...]:
    detail = entry.detail.strip().partition("\n")[0]
    if len(detail) > _LONGEST_DETAIL:
        detail = detail[: _LONGEST_DETAIL - 1] + "…"
    return (
        str(entry.event_id),
        short_time(entry.time),
        entry.kind,
        entry.step_id,
        str(entry.attempt or ""),
        "" if entry.seconds is None else f"{entry.seconds:.3f}",
        detail,
    )


def _print_json(lines: "list[FlowLine] | list[HistoryEntry]") -> None:
    for line in lines:
        print(json.dumps(line.to_json()))


def _source(options: argparse.Namespace) -> FlowSource:
    # A file is read without waiting for gRPC to load.
    source: FlowSource
    if options.db is not None:
        source = import_module("dex_agents.cli.file_source").FileSource(options.db)
    else:
        source = import_module("dex_agents.cli.address_source").AddressSource(options.address)
    return source
