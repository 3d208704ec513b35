# twin: generated from src/dex_agents/tools/__init__.py by tools/twin; do not edit.
