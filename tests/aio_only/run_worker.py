# twin: async-only
"""An AsyncWorker child of the stack tests."""

from tests.aio.sdk.agent import main

if __name__ == "__main__":
    main()
