# twin: async-only
"""The local engine's server, spoken to frame by frame."""
