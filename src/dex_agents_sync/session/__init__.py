# twin: generated from src/dex_agents/session/__init__.py by tools/twin; do not edit.
"""The durable session: its Step table, its decisions, and its client."""
