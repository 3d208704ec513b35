# twin: generated from src/dex_agents/model/__init__.py by tools/twin; do not edit.
"""Values on the wire and in Flow state."""
