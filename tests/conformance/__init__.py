# twin: async-only
"""What any engine promises to the `dex` SDK: only its public API and an address are used.

The tests run against a local engine of their own, or against the server that `DEX_AGENTS_SERVER`
names, as `host:port`. No Dex Server was at hand when they were written: what is taken from its
documents, or chosen where those say nothing, is marked `chosen_here` and skipped there.
"""
