# twin: shared
"""The chat pages in a real browser."""
