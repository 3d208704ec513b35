# twin: shared
"""A stand-in for an engine: it answers what a test tells it, and keeps what it was asked."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, NoReturn, Self

import grpc
from dex.dexpb import dex_pb2 as pb
from dex.dexpb import dex_pb2_grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # it has none
from grpc_status import rpc_status


class Refusal(Exception):
    """An answer that is an error, in the protocol's own form."""

    def __init__(
        self,
        code: grpc.StatusCode,
        sub_status: str = "UNCATEGORIZED",
        detail: str = "refused",
        *,
        worker_error: str = "",
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.response = pb.ServiceErrorResponse(
            detail=detail,
            sub_status=f"ERROR_SUB_STATUS_{sub_status}",
            original_worker_error_detail=worker_error,
            original_worker_error_type="builtins.ValueError" if worker_error else "",
            original_worker_error_status=2 if worker_error else 0,
        )

    def abort(self, context: grpc.ServicerContext) -> NoReturn:
        packed = AnyMessage()
        packed.Pack(self.response)
        number, _ = self.code.value
        status = Status(code=number, message=str(self), details=[packed])
        context.abort_with_status(rpc_status.to_status(status))
        raise AssertionError("abort raises")


LOCKED = Refusal(grpc.StatusCode.ABORTED, "WORKER_API_ERROR", "a Step holds the lock")
NOT_ACTIVE = Refusal(grpc.StatusCode.NOT_FOUND, "FLOW_NOT_EXISTS", "no such Flow")
NOTHING_YET = Refusal(grpc.StatusCode.DEADLINE_EXCEEDED, "LONG_POLL_TIME_OUT", "nothing came")
BAD_REQUEST = Refusal(grpc.StatusCode.INVALID_ARGUMENT, detail="cannot be read")


class FakeFlowService:
    """Serves `dex.FlowService` on a port of its own; answers are used up in order."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any]] = []
        self._answers: dict[str, list[Any]] = {}
        self._threads = ThreadPoolExecutor(max_workers=4)
        self._server = grpc.server(self._threads)
        # The SDK's generated modules carry no types.
        dex_pb2_grpc.add_FlowServiceServicer_to_server(self, self._server)  # type: ignore[no-untyped-call]
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.stop(None).wait()
        self._threads.shutdown()

    def answer(self, method: str, *answers: object) -> None:
        """Say what the next calls of a method get; the last answer stays."""
        self._answers[method] = list(answers)

    def asked(self, method: str) -> list[Any]:
        """Return the requests of a method, oldest first."""
        return [request for name, request in self.requests if name == method]

    def __getattr__(self, method: str) -> Callable[[Any, grpc.ServicerContext], Any]:
        if method.startswith("_"):
            raise AttributeError(method)

        def handle(request: Any, context: grpc.ServicerContext) -> Any:
            self.requests.append((method, request))
            answers = self._answers.get(method, [Refusal(grpc.StatusCode.UNIMPLEMENTED)])
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if isinstance(answer, Refusal):
                answer.abort(context)
            return answer

        return handle


def stream_message(text: str, token: str) -> pb.StreamMessage:
    """Return an event as an engine sends it."""
    message = pb.StreamMessage(
        value=pb.Value(string_value=text), resume_token=token, source="#RunModel-1"
    )
    message.created_time.FromJsonString("2026-12-01T12:00:00Z")
    return message


def summary(status: pb.FlowStatus) -> pb.GetFlowSummaryResponse:
    """Return the description of a Flow."""
    response = pb.GetFlowSummaryResponse(
        flow_execution_id=pb.FlowExecutionID(flow_id="s-1", run_id="run-1"),
        flow_type="Support",
        flow_status=status,
    )
    response.start_time.FromJsonString("2026-12-01T12:00:00Z")
    return response
