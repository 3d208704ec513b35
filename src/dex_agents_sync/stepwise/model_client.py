# twin: generated from src/dex_agents/stepwise/model_client.py by tools/twin; do not edit.
"""The contract of a model client."""

from typing import Protocol

from dex_agents.stepwise.model_types import ModelRequest, ModelResponse


class ModelOutputWriter(Protocol):
    """Where a model client streams to; from any thread, never waiting, dropped after the call."""

    def write_text_delta(self, text: str) -> None:
        """Write a piece of the model's text; batch very small ones."""
        ...

    def write_reasoning_delta(self, text: str) -> None:
        """Write a piece of the model's reasoning."""
        ...

    def is_cancelled(self) -> bool:
        """Tell whether the engine has given up on this call; whatever it returns is dropped."""
        ...


class ModelClient(Protocol):
    """Talk to one model of one provider.

    A client makes one request per call, with no retries of its own: the session repeats a failed
    call within its limits. It sends the whole input each time and keeps no conversation at the
    provider. Calls of many sessions run in parallel.
    """

    def call_model(
        self, request: ModelRequest, output: ModelOutputWriter, /
    ) -> ModelResponse:
        """Make one request and return every item of the response as the provider wrote it.

        Raise `NonRetryableError`, or any exception with a true `is_permanent`, when another
        attempt cannot help, such as for a refused credential. An exception may carry
        `retry_after_seconds`.
        """
        ...

    def estimate_input_tokens(self, request: ModelRequest, /) -> int:
        """Return about how many tokens the input of a request has, without asking anyone."""
        ...
