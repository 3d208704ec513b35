# twin: async-only
"""Attempts of Steps on Workers' streams, from the hand-out to the result."""

import asyncio
import time

from dex.dexpb import dex_pb2 as pb

from dex_agents.engine.core import EngineCore
from dex_agents.engine.kernel.messages import (
    DISCONNECTED_ERROR_TYPE,
    METHOD_TIMEOUT_ERROR_TYPE,
    ExecuteResponse,
    Failure,
    Task,
    WaitForResponse,
)
from dex_agents.engine.kernel.values import Value
from dex_agents.engine.refusals import InvalidRequest
from dex_agents.engine.requests import AttemptKey, WaveEffects, attempt_key
from dex_agents.engine.server.frames import oversize_detail, step_frame
from dex_agents.engine.server.host import EngineHost
from dex_agents.engine.server.responses import read_execute, read_wait_for
from dex_agents.engine.server.values import read_value
from dex_agents.engine.server.worker_stream import Delivery, WorkerStream
from dex_agents.engine.store.streams import StreamKey

# A result that this engine cannot carry out; another attempt would ask for the same.
UNSUPPORTED_ERROR_TYPE = "dex_agents.engine.Unsupported"
# A Worker's clock and this one's may differ a little.
_DEADLINE_SLACK_SECONDS = 0.25
# Checkpoints are stored at most this often; the last one always is, when its attempt fails.
_CHECKPOINT_SECONDS = 0.2
_CANCELLED = 1


class StepRuns:
    """The attempts that are on Workers now.

    Attributes:
        quiet: Set while there is none.
    """

    def __init__(self, host: EngineHost) -> None:
        """Begin with none."""
        self._host = host
        self.quiet = asyncio.Event()
        self.quiet.set()
        self._runs: dict[AttemptKey, StepRun] = {}

    def act(self, effects: WaveEffects) -> None:
        """Hand out, cancel."""
        for key in effects.cancelled:
            run = self._runs.get(key)
            if run is not None:
                self.ended(run)
                run.abandon(is_silent=key in effects.silent)
        for task in effects.tasks:
            self._start(task)

    def _start(self, task: Task) -> None:
        stream = self._host.pool.take_reserved((task.run_id, task.step_id))
        run = StepRun(self._host, self, task, stream)
        frame = step_frame(task, run.task_id)
        detail = oversize_detail(frame)
        if detail is not None:
            stream.is_reserved = False
            key, flow_id = run.key, task.flow_id
            self._host.waves.post(lambda core: core.refuse_delivery(key, flow_id, detail))
            self._host.pool.pump()
        elif stream.is_ending:
            stream.is_reserved = False
            run.on_returned()
        else:
            self._runs[run.key] = run
            self.quiet.clear()
            stream.start(run, frame)

    def ended(self, run: "StepRun") -> None:
        """Forget an attempt."""
        if self._runs.get(run.key) is run:
            del self._runs[run.key]
            if not self._runs:
                self.quiet.set()


class StepRun:
    """One attempt on a stream. Once it is abandoned, only its last frame still matters."""

    def __init__(self, host: EngineHost, runs: StepRuns, task: Task, stream: WorkerStream) -> None:
        """Prepare an attempt."""
        self.key = attempt_key(task)
        self.task_id = host.new_task_id()
        self.delivery = Delivery.WAITING
        self._host = host
        self._runs = runs
        self._task = task
        self._stream = stream
        self._is_abandoned = False
        self._unsaved: Value | None = None
        self._has_unsaved = False
        self._saved_at = 0.0

    def abandon(self, *, is_silent: bool) -> None:
        """Stop an attempt that no longer counts."""
        self._is_abandoned = True
        self._stream.cancel(self)
        if is_silent:
            self._host.pool.fell_silent(self._stream.worker)

    # -- what the stream says ------------------------------------------------------------------

    def on_output(self, output: pb.PollWorkerTaskFrame) -> bool:
        """Take a frame of the task; tell whether it was the last one."""
        which = output.WhichOneof("output")
        if which == "worker_error":
            self._end(self._failure(output.worker_error))
            return True
        if which == "wait_for":
            return self._on_method(output.wait_for)
        if which == "execute":
            return self._on_method(output.execute)
        self._end(Failure(detail="the Worker answered nothing", error_type=UNSUPPORTED_ERROR_TYPE))
        return True

    def _on_method(
        self, output: pb.InvokeWaitForMethodOutput | pb.InvokeExecuteMethodOutput
    ) -> bool:
        part = output.WhichOneof("output")
        if part == "heartbeat":
            self._on_heartbeat(output.heartbeat)
            return False
        if part == "stream_write":
            self._on_stream_write(output.stream_write)
            return False
        self._end(self._result(output))
        return True

    def _result(
        self, output: pb.InvokeWaitForMethodOutput | pb.InvokeExecuteMethodOutput
    ) -> WaitForResponse | ExecuteResponse | Failure:
        types = self._host.index_types
        try:
            if isinstance(output, pb.InvokeWaitForMethodOutput):
                return read_wait_for(output.result, types)
            return read_execute(output.result, types)
        except InvalidRequest as error:
            return Failure(detail=str(error), error_type=UNSUPPORTED_ERROR_TYPE, is_final=True)

    def _failure(self, error: pb.WorkerErrorResponse) -> Failure:
        task = self._task
        if error.grpc_status == _CANCELLED:
            # Nobody here asked for it: the Worker's own timer, or the Worker is stopping.
            if time.time() >= task.started_at + task.timeout - _DEADLINE_SLACK_SECONDS:
                detail = f"attempt {task.attempt} took longer than {task.timeout:g} s"
                return Failure(detail=detail, error_type=METHOD_TIMEOUT_ERROR_TYPE)
            detail = f"the Worker stopped during attempt {task.attempt}"
            return Failure(detail=detail, error_type=DISCONNECTED_ERROR_TYPE)
        return Failure(
            detail=error.detail,
            error_type=error.error_type,
            retry_after=float(error.retry_after_seconds) if error.retry_after_seconds > 0 else None,
        )

    def on_reject(self, reason: pb.PollWorkerTaskRejectReason) -> None:
        """Offer the attempt again under its number."""
        if reason in (
            pb.POLL_WORKER_TASK_REJECT_REASON_UNKNOWN_STEP,
            pb.POLL_WORKER_TASK_REJECT_REASON_UNKNOWN_RPC,
        ):
            self._host.pool.exclude((self.key.run_id, self.key.step_id), self._stream.worker)
        else:
            self._host.pool.was_rejected(self._stream)
        self.on_returned()

    def on_returned(self) -> None:
        """Offer the attempt again under its number."""
        self._runs.ended(self)
        if not self._is_abandoned:
            key, flow_id = self.key, self._task.flow_id
            self._host.waves.post(lambda core: core.give_back(key, flow_id))

    def on_lost(self) -> None:
        """Spend the attempt: it may have run."""
        detail = f"the Worker disconnected during attempt {self._task.attempt}"
        self._end(Failure(detail=detail, error_type=DISCONNECTED_ERROR_TYPE))

    # -- what it means -------------------------------------------------------------------------

    def _end(self, outcome: WaitForResponse | ExecuteResponse | Failure) -> None:
        self._runs.ended(self)
        if self._is_abandoned:
            return
        task, key = self._task, self.key
        step_key = (key.run_id, key.step_id)
        self._host.pool.served(task.flow_id, self._stream.worker, step_key)
        if not isinstance(outcome, Failure):
            self._host.waves.post(lambda core: core.complete(key, task.flow_id, outcome))
            return
        has_unsaved, unsaved = self._has_unsaved, self._unsaved

        def fail(core: EngineCore) -> None:
            if has_unsaved:
                core.checkpoint(key, task.flow_id, unsaved)
            core.fail(key, task.flow_id, outcome)

        self._host.waves.post(fail)

    def _on_heartbeat(self, beat: pb.StepMethodHeartbeat) -> None:
        if self._is_abandoned:
            return
        try:
            value = read_value(beat.value) if beat.HasField("value") else None
        except InvalidRequest:
            return
        key, flow_id = self.key, self._task.flow_id
        is_known = value == self._unsaved if self._saved_at else value == self._task.checkpoint
        if is_known:
            self._host.waves.post(lambda core: core.heartbeat(key, flow_id))
            return
        self._unsaved = value
        wait = self._saved_at + _CHECKPOINT_SECONDS - time.monotonic()
        if self._has_unsaved:
            self._host.waves.post(lambda core: core.heartbeat(key, flow_id))
        elif wait <= 0:
            self._save()
        else:
            self._has_unsaved = True
            self._host.waves.post(lambda core: core.heartbeat(key, flow_id))
            asyncio.get_running_loop().call_later(wait, self._save)

    def _save(self) -> None:
        self._saved_at = time.monotonic()
        self._has_unsaved = False
        key, flow_id, value = self.key, self._task.flow_id, self._unsaved
        self._host.waves.post(lambda core: core.checkpoint(key, flow_id, value))

    def _on_stream_write(self, write: pb.StepStreamWrite) -> None:
        if self._is_abandoned:
            return
        task, key = self._task, self.key
        try:
            value = read_value(write.value)
        except InvalidRequest:
            return
        stream = StreamKey(task.flow_type, write.stream_name, task.flow_id)
        source, capacity = f"#{task.step_id}", write.stream_capacity_bytes

        def append(core: EngineCore) -> None:
            if core.heartbeat(key, task.flow_id):
                core.append_event(stream, source, value, capacity)

        self._host.waves.post(append)
