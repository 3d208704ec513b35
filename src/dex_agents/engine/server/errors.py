# twin: async-only
"""Refusals as gRPC statuses, in the form that the SDK tells apart."""

from dex.dexpb import dex_pb2 as pb
from google.protobuf import any_pb2
from google.rpc import status_pb2  # type: ignore[import-untyped]  # ships without stubs
from grpc import Status, StatusCode
from grpc_status import rpc_status

from dex_agents.engine.refusals import (
    FlowAlreadyExists,
    FlowMissing,
    FlowNotActive,
    InvalidRequest,
    LocksTaken,
    MessageGone,
    RequestRefused,
)
from dex_agents.errors import EngineStoppedError, EngineStorageError

_REFUSALS: dict[type[RequestRefused], tuple[StatusCode, pb.ErrorSubStatus]] = {
    FlowAlreadyExists: (StatusCode.ALREADY_EXISTS, pb.ERROR_SUB_STATUS_FLOW_ALREADY_STARTED),
    FlowMissing: (StatusCode.NOT_FOUND, pb.ERROR_SUB_STATUS_FLOW_NOT_EXISTS),
    FlowNotActive: (StatusCode.NOT_FOUND, pb.ERROR_SUB_STATUS_FLOW_NOT_EXISTS),
    LocksTaken: (StatusCode.ABORTED, pb.ERROR_SUB_STATUS_WORKER_API_ERROR),
    MessageGone: (StatusCode.NOT_FOUND, pb.ERROR_SUB_STATUS_CHANNEL_MESSAGE_NOT_FOUND),
    InvalidRequest: (StatusCode.INVALID_ARGUMENT, pb.ERROR_SUB_STATUS_UNCATEGORIZED),
}


class ServiceError(Exception):
    """An answer that is an error, with the details that the SDK reads."""

    def __init__(
        self, code: StatusCode, message: str, details: pb.ServiceErrorResponse | None = None
    ) -> None:
        """Describe the error.

        Args:
            code: The gRPC code.
            message: The text for the caller.
            details: What the SDK classifies by; without it, uncategorized.
        """
        super().__init__(message)
        self.code = code
        self.details = details or pb.ServiceErrorResponse(
            detail=message, sub_status=pb.ERROR_SUB_STATUS_UNCATEGORIZED
        )

    def status(self) -> Status:
        """Return the status that ends the call."""
        packed = any_pb2.Any()
        packed.Pack(self.details)
        number: int = self.code.value[0]
        return rpc_status.to_status(  # pyright: ignore[reportUnknownMemberType]
            status_pb2.Status(code=number, message=str(self), details=[packed])
        )


def long_poll_timeout(message: str) -> ServiceError:
    """Return the error of a wait that the server gave up; the caller may wait again."""
    return ServiceError(
        StatusCode.DEADLINE_EXCEEDED,
        message,
        pb.ServiceErrorResponse(detail=message, sub_status=pb.ERROR_SUB_STATUS_LONG_POLL_TIME_OUT),
    )


def request_timeout(message: str) -> ServiceError:
    """Return the error of a wait that took all the time its caller gave it."""
    return ServiceError(
        StatusCode.DEADLINE_EXCEEDED,
        message,
        pb.ServiceErrorResponse(detail=message, sub_status=pb.ERROR_SUB_STATUS_REQUEST_TIMEOUT),
    )


def not_part_of_it(feature: str) -> ServiceError:
    """Return the error of a feature that only a Dex Server has."""
    return ServiceError(
        StatusCode.UNIMPLEMENTED,
        f"{feature} is not part of the local engine; a Dex Server has it",
    )


def service_error(error: Exception) -> ServiceError:
    """Return the answer for an exception of the engine."""
    if isinstance(error, ServiceError):
        return error
    message = str(error)
    if isinstance(error, RequestRefused):
        code, sub_status = _REFUSALS.get(type(error), _REFUSALS[InvalidRequest])
        details = pb.ServiceErrorResponse(detail=message, sub_status=sub_status)
        return ServiceError(code, message, details)
    if isinstance(error, EngineStorageError | EngineStoppedError):
        return ServiceError(StatusCode.UNAVAILABLE, message)
    return ServiceError(StatusCode.INTERNAL, f"the engine failed: {type(error).__name__}: {error}")
