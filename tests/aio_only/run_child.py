# twin: async-only
"""Start the kill tests' child on a backend: `python -m tests.aio_only.run_child trio DB DIR`."""

import sys

import anyio

from tests.aio.child import child_main

if __name__ == "__main__":
    _, backend, path, state_dir = sys.argv
    anyio.run(child_main, path, state_dir, backend=backend)
