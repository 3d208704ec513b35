# twin: shared
"""The examples as a user starts them: real processes, real servers."""
