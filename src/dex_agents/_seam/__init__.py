# twin: seam
"""Everything that differs by hand between the two packages; equal names and signatures in both."""
