# twin: async-only
"""The local engine: the kernel and the store behind the `dex` SDK's protocol."""
