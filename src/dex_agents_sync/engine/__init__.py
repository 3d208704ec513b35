# twin: generated from src/dex_agents/engine/__init__.py by tools/twin; do not edit.
"""The engine: a durable state machine for Flows, its file, and the shells that run it."""
