# twin: shared
"""The decisions of the Steps, a file per kind: state in, one plan out."""
