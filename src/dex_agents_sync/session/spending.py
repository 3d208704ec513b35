# twin: generated from src/dex_agents/session/spending.py by tools/twin; do not edit.
"""Ask a spend limit before a model call, and report to it after."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dex_agents_sync._seam.concurrency import sleep
from dex_agents.errors import StepInvocationClosed
from dex_agents.model.state import AgentUsage
from dex_agents.runner.outcomes import ModelCallMetadata
from dex_agents.session.call_values import is_permanent
from dex_agents.session.notes import model_call_refused_error
from dex_agents_sync.spend.limit import ModelSpendLimit
from dex_agents.spend.values import ModelSpendDecision, ModelSpendReport, ModelSpendRequest

_logger = logging.getLogger("dex_agents.session")

# An answer that has been paid for is worth a short wait for the counters.
_REPORT_PAUSES: Final = (0.1, 1.0)


@dataclass(frozen=True, slots=True)
class ModelCallRefused:
    """A spend limit refused the call; it was not made.

    Attributes:
        error: What ends the turn.
    """

    error: str


def call_within_limit(
    limit: ModelSpendLimit | None,
    request: Callable[[], ModelSpendRequest],
    call: Callable[[], object],
) -> object:
    """Make a model call if the limit allows it, and report how it ended.

    Args:
        limit: What to ask; `None` makes the call at once.
        request: Builds the question, only for a limit.
        call: Makes the call; its value has the `usage` and `model_call_metadata` of an outcome.

    Returns:
        What the call returned, or `ModelCallRefused`.
    """
    if limit is None:
        return call()
    asked = request()
    decision = _checked_decision(limit.reserve_model_call(asked), limit)
    if decision.refusal is not None:
        return ModelCallRefused(model_call_refused_error(decision.refusal))
    try:
        value = call()
    except StepInvocationClosed:
        # The Step has ended while the call ran: what it used nobody knows.
        raise
    except Exception as error:
        _report_failure(limit, asked, error)
        raise
    _report(limit, _report_of(asked, value))
    return value


class _InvalidSpendDecisionError(TypeError):
    """A spend limit answered something else; it would do so again."""

    is_permanent: Final = True


def _checked_decision(decision: object, limit: object) -> ModelSpendDecision:
    if isinstance(decision, ModelSpendDecision):
        return decision
    raise _InvalidSpendDecisionError(
        f"reserve_model_call of {type(limit).__name__} must return a ModelSpendDecision, "
        f"not {type(decision).__name__}"
    )


def _report_of(request: ModelSpendRequest, value: object) -> ModelSpendReport:
    usage: object = getattr(value, "usage", None)
    metadata: object = getattr(value, "model_call_metadata", None)
    model = request.model
    if isinstance(metadata, ModelCallMetadata):
        model = metadata.response_model or metadata.request_model or model
    # A runner that hands over no usage ends its turn; the call was made all the same.
    used = usage if isinstance(usage, AgentUsage) else request.estimate
    return ModelSpendReport(request=request, usage=used, model=model)


def _report_failure(
    limit: ModelSpendLimit, request: ModelSpendRequest, error: Exception
) -> None:
    try:
        _report(limit, ModelSpendReport(request=request, usage=None, model=request.model))
    except Exception as report_error:
        # The call's own failure is the news; its reservation goes on counting.
        _logger.warning(
            "%s: the failed model call could not be reported to the spend limit: %s",
            request.key,
            report_error,
        )
        _logger.debug("%s: the failed call", request.key, exc_info=error)


def _report(limit: ModelSpendLimit, report: ModelSpendReport) -> None:
    for pause in _REPORT_PAUSES:
        try:
            return limit.report_model_call(report)
        except Exception as error:
            if is_permanent(error):
                raise
            _logger.warning("%s: the spend limit took no report: %s", report.request.key, error)
            sleep(pause)
    return limit.report_model_call(report)
