# twin: generated from src/dex_agents/runner/__init__.py by tools/twin; do not edit.
"""The contract between a session and the framework that talks to the model."""
