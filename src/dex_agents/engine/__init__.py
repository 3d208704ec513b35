# twin: source
"""The engine: a durable state machine for Flows, its file, and the shells that run it."""
