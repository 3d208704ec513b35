# twin: async-only
"""Any field of any call: a documented status or an answer, and the engine keeps serving."""

import asyncio
import logging
from typing import Any

import grpc
import grpc.aio
import pytest
from dex.dexpb import dex_pb2 as pb
from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.scripted import FLOW_TYPE, Caller, Stream, running_engine, sub_status

_METHODS = pb.DESCRIPTOR.services_by_name["FlowService"].methods
# A call that waits for a minute because its fields say so is given up by its caller.
_PATIENCE_SECONDS = 0.05
_DOCUMENTED = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.UNIMPLEMENTED,
}
_TEXTS = st.sampled_from(
    ["", "flow", "Work", "Work-1", FLOW_TYPE, "name", "map/x", "map/", "1", "99999999999", "a:b"]
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_INT32 = st.sampled_from([0, 1, -1, 2, 7, 2**31 - 1, -(2**31)])
_INT64 = st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)])
_SCALARS: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.TYPE_STRING: _TEXTS,
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=20),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_INT32: _INT32,
    FieldDescriptor.TYPE_INT64: _INT64,
    FieldDescriptor.TYPE_UINT32: st.sampled_from([0, 1, 2**32 - 1]),
    FieldDescriptor.TYPE_DOUBLE: st.floats(),
    FieldDescriptor.TYPE_FLOAT: st.floats(width=32),
    FieldDescriptor.TYPE_ENUM: st.integers(0, 9),
}
_DEEPEST = 4


@st.composite
def filled(draw: st.DrawFn, descriptor: Any, depth: int = 0) -> Message:
    """Return a message of a type with some of its fields set to anything."""
    message = message_factory.GetMessageClass(descriptor)()
    for field in descriptor.fields:
        # IDs are mostly set, or nearly every call would end at the first of them.
        if depth < _DEEPEST and draw(st.integers(0, 3 if depth else 1)) == 0:
            _fill(draw, message, field, depth)
    return message


def _fill(draw: st.DrawFn, message: Message, field: FieldDescriptor, depth: int) -> None:
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        return
    if inner is not None:
        found = draw(filled(inner, depth + 1))
        target = getattr(message, field.name)
        if field.is_repeated:
            target.append(found)
        else:
            target.CopyFrom(found)
        return
    value = draw(_SCALARS[field.type])
    if field.is_repeated:
        getattr(message, field.name).append(value)
    else:
        setattr(message, field.name, value)


class _Faults(logging.Handler):
    """Keeps what the engine says of faults of its own."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.seen.append(record.getMessage())


class Session:
    """One engine, called from tests that are not coroutines."""

    def __init__(self) -> None:
        self.faults = _Faults()
        logging.getLogger("dex_agents.engine").addHandler(self.faults)
        self.loop = asyncio.new_event_loop()
        self._engine = running_engine(dispatch_wait=0.05)
        self.caller: Caller = self.loop.run_until_complete(self._engine.__aenter__())
        self.loop.run_until_complete(self.caller.start())

    def close(self) -> None:
        """Stop the engine."""
        self.loop.run_until_complete(self._engine.__aexit__(None, None, None))
        self.loop.close()
        logging.getLogger("dex_agents.engine").removeHandler(self.faults)

    def send(self, name: str, request: Message) -> None:
        """Make a call and check how it ends."""
        self.loop.run_until_complete(self._send(name, request))

    async def _send(self, name: str, request: Message) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self.caller.call(name, request)
        except TimeoutError:
            pass
        except grpc.aio.AioRpcError as error:
            assert error.code() in _DOCUMENTED, error
            assert sub_status(error) != pb.ERROR_SUB_STATUS_UNSPECIFIED
        assert (await self.caller.call("HealthCheck", _EMPTY)).condition == "OK"


_EMPTY = message_factory.GetMessageClass(
    pb.DESCRIPTOR.services_by_name["FlowService"].methods_by_name["HealthCheck"].input_type
)()


@pytest.fixture(scope="module")
def session() -> Any:
    """Run one engine for all examples."""
    found = Session()
    yield found
    found.close()
    assert found.faults.seen == [], "the engine had a fault of its own"


@pytest.mark.parametrize("name", [method.name for method in _METHODS])
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_any_request_gets_a_documented_answer(session: Session, name: str, data: Any) -> None:
    method = next(method for method in _METHODS if method.name == name)
    session.send(name, data.draw(filled(method.input_type)))


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(frames=st.lists(filled(pb.PollWorkerTaskRequest.DESCRIPTOR), max_size=4))
def test_any_frames_of_a_worker_leave_the_engine_serving(
    session: Session, frames: list[Any]
) -> None:
    async def talk() -> None:
        stream = await Stream(session.caller.channel, "fuzz", FLOW_TYPE).open()
        for frame in frames:
            await stream._call.write(frame)
        await stream.half_close()
        while await stream.read() is not None:
            pass
        assert (await session.caller.call("HealthCheck", _EMPTY)).condition == "OK"

    session.loop.run_until_complete(talk())


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(output=filled(pb.PollWorkerTaskFrame.DESCRIPTOR))
def test_any_answer_to_a_task_leaves_the_engine_serving(session: Session, output: Any) -> None:
    async def talk() -> None:
        stream = await Stream(session.caller.channel, "answers", FLOW_TYPE).open()
        await session.caller.start(f"answer-{id(output)}-{session.loop.time()}".replace(":", "-"))
        task = await stream.task()
        output.task_id = task.task_id
        await stream._call.write(pb.PollWorkerTaskRequest(task_frame=output))
        await stream.half_close()
        while await stream.read() is not None:
            pass
        assert (await session.caller.call("HealthCheck", _EMPTY)).condition == "OK"

    session.loop.run_until_complete(talk())
