# twin: shared
"""The kernel: what a Flow does next, as plain functions over plain values.

It knows no database, clock, thread or network, and nothing of agents. Time and identities are
handed in; what must be written comes out.
"""
