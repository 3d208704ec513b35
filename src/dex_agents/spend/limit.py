# twin: source
"""The contract of a spend limit."""

from typing import Protocol

from dex_agents.spend.values import ModelSpendDecision, ModelSpendReport, ModelSpendRequest


class ModelSpendLimit(Protocol):
    """An application's spend limit, usually per account or API key across many sessions.

    Counters and limits belong to the application. The session asks before each attempt of a model
    call, summaries included, and reports once the call has ended, before it commits the answer:

    - A call that was committed has always been reported, under exactly one key.
    - A report may come twice with the same key; the second one must change nothing. So may a
      question whose answer was lost.
    - An attempt that nobody reports was cut off by a crash or a cancellation. What it cost nobody
      knows, so its reservation should go on counting with its estimate.
    - Calls of many sessions, and of many processes, come at the same time.

    An exception of either method fails the attempt like one of the model: another attempt follows
    unless it is a `NonRetryableError` or has a true `is_permanent`. The session first makes a
    report that fails twice more itself, because the answer has been paid for.
    """

    async def reserve_model_call(self, request: ModelSpendRequest, /) -> ModelSpendDecision:
        """Allow one model call and reserve its estimate, or refuse it with a reason."""
        ...

    async def report_model_call(self, report: ModelSpendReport, /) -> None:
        """Replace the reservation by what the call used; by nothing when it failed."""
        ...
