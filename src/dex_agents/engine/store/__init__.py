# twin: shared
"""The store: one SQLite file that a single engine owns."""
