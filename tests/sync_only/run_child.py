# twin: sync-only
"""Start the kill tests' child in threads: `python -m tests.sync_only.run_child threads DB DIR`."""

import sys

from tests.sync.child import child_main

if __name__ == "__main__":
    _, _, path, state_dir = sys.argv
    child_main(path, state_dir)
