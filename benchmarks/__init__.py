"""Measurements; see `docs/architecture.md` for what they came to."""
