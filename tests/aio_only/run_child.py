# twin: async-only
"""Start the kill tests' child on a backend: `python -m tests.aio_only.run_child trio DB DIR`."""

import sys

import anyio

from tests.aio.child import child_main

if __name__ == "__main__":
    anyio.run(child_main, *sys.argv[2:], backend=sys.argv[1])
