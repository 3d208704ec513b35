# twin: source
"""The contract between a session and the framework that talks to the model."""
