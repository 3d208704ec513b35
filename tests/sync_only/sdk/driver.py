# twin: sync-only
"""Drive a Flow of the threaded package through the SDK's threaded dispatcher."""

import threading
from collections.abc import Callable, Generator
from typing import Any, cast

from dex import Registry
from dex._server_protocol import NegotiatedServerProtocol
from dex._value_hydrator import ValueHydrator
from dex._value_mapper import ValueMapper
from dex._worker_dispatcher import WorkerDispatcher
from dex.dexpb import dex_pb2 as pb

from dex_agents.model.messages import FrameworkMessage, MessageRole
from dex_agents.model.options import AgentSessionOptions
from dex_agents_sync.runner.turn import AgentTurnContext, DeferredToolExecution
from dex_agents_sync.sdk.flow import AgentSessionFlow
from tests.sdk_support import (
    FLOW_TYPE,
    OPTIONS,
    Action,
    Answer,
    Beat,
    Fail,
    Save,
    Say,
    Silence,
    message,
    text_value,
)

GATE_SECONDS = 20.0


class ScriptedRunner:
    """Plays one script for every call."""

    def __init__(self, *script: Action) -> None:
        self.script = script
        self.gate = threading.Event()
        self.started = threading.Event()
        self.ended = threading.Event()
        self.checkpoint: str | None = None
        self.ended_with: BaseException | None = None
        self.calls: list[AgentTurnContext | DeferredToolExecution] = []

    def build_user_message(self, text: str) -> FrameworkMessage:
        return message(text, MessageRole.USER)

    def run_model_step(self, turn: AgentTurnContext) -> Any:
        return self._play(turn)

    def execute_deferred_tool_call(self, call: DeferredToolExecution) -> Any:
        self.checkpoint = call.heartbeat_checkpoint
        return self._play(call)

    def _play(self, call: AgentTurnContext | DeferredToolExecution) -> Any:
        self.calls.append(call)
        self.started.set()
        try:
            for action in self.script:
                match action:
                    case Say(text):
                        call.events.write_text_delta(text)
                    case Beat():
                        call.heartbeat()
                    case Save(checkpoint):
                        assert isinstance(call, DeferredToolExecution)
                        call.save_heartbeat_checkpoint(checkpoint)
                    case Silence():
                        assert self.gate.wait(GATE_SECONDS)
                    case Fail(error):
                        raise error
                    case Answer(value):
                        return value
        except BaseException as error:
            self.ended_with = error
            raise
        finally:
            self.ended.set()
        raise AssertionError("the script has no end")


class Driven:
    """A Flow behind the SDK's dispatcher."""

    def __init__(self, runner: Any, options: AgentSessionOptions = OPTIONS) -> None:
        self.runner = runner
        self.flow = AgentSessionFlow(runner, flow_type=FLOW_TYPE, options=options)
        self.registry = Registry([self.flow])
        self.registered = self.registry._flow_by_type(FLOW_TYPE)
        # Without blobs in a request the hydrator asks neither the engine nor the cache.
        nothing = cast("Any", None)
        self.dispatcher = WorkerDispatcher(
            self.registry,
            ValueMapper(self.registry.codec_registry),
            ValueHydrator(nothing, nothing),
            NegotiatedServerProtocol(),
        )

    def close(self) -> None:
        """Do nothing; the other package's driver has a loop to end."""

    def play(self, *script: Action) -> None:
        self.runner.script = script

    def outputs(
        self, request: pb.InvokeExecuteMethodRequest, is_active: Callable[[], bool] | None = None
    ) -> Generator[pb.InvokeExecuteMethodOutput, None, None]:
        return self.dispatcher.invoke_execute(request, is_active)

    def execute(self, request: pb.InvokeExecuteMethodRequest) -> list[pb.InvokeExecuteMethodOutput]:
        return list(self.outputs(request))

    def failure(
        self, request: pb.InvokeExecuteMethodRequest
    ) -> tuple[list[pb.InvokeExecuteMethodOutput], Exception]:
        """Return the frames of an attempt that fails, and what the Worker gets."""
        outputs: list[pb.InvokeExecuteMethodOutput] = []
        try:
            outputs.extend(self.outputs(request))
        except Exception as error:
            return outputs, error
        raise AssertionError("it did not fail")

    def wait_for(self, request: pb.InvokeWaitForMethodRequest) -> pb.InvokeWaitForMethodResponse:
        return list(self.dispatcher.invoke_wait_for(request))[-1].result

    def rpc(self, request: pb.InvokeWorkerRPCRequest) -> pb.InvokeWorkerRPCResponse:
        return self.dispatcher.invoke_rpc(request)

    def start_movement(self, start_input: str) -> pb.StepMovement:
        start = self.registered.start_step
        assert start is not None
        return pb.StepMovement(
            step_type=start.name,
            step_input=text_value(start_input),
            step_options=self.dispatcher.map_step_options(
                self.registered, start.step.get_step_options()
            ),
        )
