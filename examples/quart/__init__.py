"""A chat page on Quart and asyncio: `python -m examples.quart`."""
