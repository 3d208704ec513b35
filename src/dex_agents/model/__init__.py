# twin: source
"""Values on the wire and in Flow state."""
