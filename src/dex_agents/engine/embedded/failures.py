# twin: shared
"""How an exception of a Step or RPC becomes a failure the kernel keeps."""

from dex_agents.engine.kernel.messages import Failure
from dex_agents.errors import StepCallError
from dex_agents.session.call_values import root_error, step_call_error


def failure_of(error: Exception) -> Failure:
    """Return the failure of an attempt that raised."""
    found = error if isinstance(error, StepCallError) else step_call_error(root_error(error))
    return Failure(
        detail=found.text, error_type=found.error_type, retry_after=found.retry_after_seconds
    )
