# twin: source
"""Browser streams on the embedded engine."""
