# twin: shared
"""The version, as a constant: reading distribution metadata would cost 20 ms on every import."""

__version__ = "0.3.0"
