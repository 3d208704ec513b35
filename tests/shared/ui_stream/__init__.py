# twin: shared
"""Tests of the browser streams that need no engine."""
