# twin: sync-only
"""A threaded Worker child of the stack tests."""

from tests.sync.sdk.agent import main

if __name__ == "__main__":
    main()
