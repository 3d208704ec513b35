"""A chat page on Flask and threads: `python -m examples.flask`."""
