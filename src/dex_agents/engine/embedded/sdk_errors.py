# twin: shared
"""The `dex` SDK's public exceptions for what this engine refuses.

They are the same on every engine, so an application's `except dex.FlowNotActiveOrNotFoundError`
keeps working when it moves. The SDK is imported only here, when there is something to raise.
"""

from dex_agents.engine.refusals import (
    FlowAlreadyExists,
    FlowMissing,
    FlowNotActive,
    LocksTaken,
    MessageGone,
    RequestRefused,
)


def sdk_error(refusal: RequestRefused, operation: str, flow_id: str | None) -> Exception:
    """Return the SDK's exception for a refusal.

    Args:
        refusal: Why the engine refused.
        operation: The client method; the SDK tells a missing Flow of `describe_flow` from others.
        flow_id: The Flow, if any.
    """
    import dex
    from grpc import StatusCode

    not_found = (
        dex.FlowNotFoundError if operation == "describe_flow" else dex.FlowNotActiveOrNotFoundError
    )
    known: dict[type[RequestRefused], tuple[type[dex.DexServiceError], StatusCode, str]] = {
        FlowAlreadyExists: (
            dex.FlowAlreadyStartedError,
            StatusCode.ALREADY_EXISTS,
            "FLOW_ALREADY_STARTED",
        ),
        FlowMissing: (not_found, StatusCode.NOT_FOUND, "FLOW_NOT_EXISTS"),
        FlowNotActive: (not_found, StatusCode.NOT_FOUND, "FLOW_NOT_EXISTS"),
        LocksTaken: (dex.RpcLockConflictError, StatusCode.ABORTED, "WORKER_API_ERROR"),
        MessageGone: (
            dex.ChannelMessageNotFoundError,
            StatusCode.NOT_FOUND,
            "CHANNEL_MESSAGE_NOT_FOUND",
        ),
    }
    error, code, sub_status = known.get(
        type(refusal), (dex.DexServiceError, StatusCode.INVALID_ARGUMENT, "UNCATEGORIZED")
    )
    return error(code, dex.ErrorSubStatus[sub_status], str(refusal), operation, flow_id)


def handler_error(detail: str, error_type: str, rpc_name: str, flow_id: str) -> Exception:
    """Return the SDK's exception for an RPC handler that raised."""
    import dex
    from grpc import StatusCode

    return dex.WorkerInvocationError(
        StatusCode.FAILED_PRECONDITION,
        dex.ErrorSubStatus.WORKER_API_ERROR,
        f"{rpc_name}: {detail}",
        "invoke_rpc",
        flow_id,
        StatusCode.UNKNOWN,
        error_type,
        detail,
    )
