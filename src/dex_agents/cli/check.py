# twin: shared
"""`dex-agents engine --check`: verify an engine file and say what it holds."""

import argparse
import sys

from dex_agents.cli.lines import table
from dex_agents.engine.store.check import check_file
from dex_agents.engine.store.reading import StoredFile


def run(options: argparse.Namespace) -> int:
    """Print what a file holds; 0 when all of it can be read, else 1 with each fault on stderr.

    Raises:
        EngineFileVersionError: A newer release wrote the file, or it is something else.
        EngineStorageError: There is no such file, or it cannot be read.
    """
    with StoredFile(options.db) as file:
        contents = check_file(file)
    for name, number in contents.counts.items():
        print(f"{number:>14,} {name}")
    for heads, found in (
        (("FLOW TYPE", "STATUS", "RUNS"), contents.flows),
        (("ACTIVE STEP", "PHASE", "EXECUTIONS"), contents.steps),
    ):
        if found:
            print()
            print(table(heads, [(*key, str(number)) for key, number in sorted(found.items())]))
    print()
    for fault in contents.faults:
        print(f"dex-agents: {options.db}: {fault}", file=sys.stderr)
    if contents.faults:
        print(f"dex-agents: {options.db} is damaged; take a backup", file=sys.stderr)
        return 1
    print(f"{options.db} is sound")
    return 0
