# twin: shared
"""The command `dex-agents`."""
