# twin: source
"""The durable session: its Step table, its decisions, and its client."""
