# twin: source
"""What a running call can say to its engine."""

from typing import Protocol


class StepEmitter(Protocol):
    """Events, heartbeats and checkpoints of one call; each mount brings its own."""

    def write(self, event: str) -> None:
        """Append one event; best effort, from any thread, never waits, dropped after the end."""
        ...

    async def heartbeat(self) -> None:
        """Return once the engine has taken a sign of life, which repeats the last checkpoint.

        Raises:
            StepInvocationClosed: The Step has ended.
        """
        ...

    async def save_checkpoint(self, checkpoint: str) -> None:
        """Return once the engine has taken a checkpoint that a later attempt can read.

        Raises:
            StepInvocationClosed: The Step has ended.
        """
        ...

    def is_cancelled(self) -> bool:
        """Tell whether the engine has given up on this call."""
        ...
