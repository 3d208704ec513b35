# twin: async-only
"""Drive a Flow of the asynchronous package through the SDK's asyncio dispatcher."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Any, cast

from dex import Registry
from dex._async_value_hydrator import AsyncValueHydrator
from dex._async_worker_dispatcher import AsyncWorkerDispatcher
from dex._server_protocol import NegotiatedServerProtocol
from dex._value_mapper import ValueMapper
from dex.dexpb import dex_pb2 as pb

from dex_agents.model.messages import FrameworkMessage, MessageRole
from dex_agents.model.options import AgentSessionOptions
from dex_agents.runner.turn import AgentTurnContext, DeferredToolExecution
from dex_agents.sdk.flow import AgentSessionFlow
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


class ScriptedRunner:
    """Plays one script for every call. Create it where the calls run."""

    def __init__(self, *script: Action) -> None:
        self.script = script
        self.gate = asyncio.Event()
        self.started = asyncio.Event()
        self.checkpoint: str | None = None
        self.ended_with: BaseException | None = None
        self.calls: list[AgentTurnContext | DeferredToolExecution] = []

    def build_user_message(self, text: str) -> FrameworkMessage:
        return message(text, MessageRole.USER)

    async def run_model_step(self, turn: AgentTurnContext) -> Any:
        return await self._play(turn)

    async def execute_deferred_tool_call(self, call: DeferredToolExecution) -> Any:
        self.checkpoint = call.heartbeat_checkpoint
        return await self._play(call)

    async def _play(self, call: AgentTurnContext | DeferredToolExecution) -> Any:
        self.calls.append(call)
        self.started.set()
        try:
            for action in self.script:
                match action:
                    case Say(text):
                        call.events.write_text_delta(text)
                    case Beat():
                        await call.heartbeat()
                    case Save(checkpoint):
                        assert isinstance(call, DeferredToolExecution)
                        await call.save_heartbeat_checkpoint(checkpoint)
                    case Silence():
                        await self.gate.wait()
                    case Fail(error):
                        raise error
                    case Answer(value):
                        return value
        except BaseException as error:
            self.ended_with = error
            raise
        raise AssertionError("the script has no end")


class Driven:
    """A Flow behind the SDK's dispatcher."""

    def __init__(self, runner: Any, options: AgentSessionOptions = OPTIONS) -> None:
        self.runner = runner
        self.flow = AgentSessionFlow(runner, flow_type=FLOW_TYPE, options=options)
        self.registry = Registry([self.flow], allow_async_handlers=True)
        self.registered = self.registry._flow_by_type(FLOW_TYPE)
        # Without blobs in a request the hydrator asks neither the engine nor the cache.
        nothing = cast("Any", None)
        self.dispatcher = AsyncWorkerDispatcher(
            self.registry,
            ValueMapper(self.registry.codec_registry),
            AsyncValueHydrator(nothing, nothing),
            NegotiatedServerProtocol(),
        )

    def outputs(
        self, request: pb.InvokeExecuteMethodRequest, is_active: Callable[[], bool] | None = None
    ) -> AsyncGenerator[pb.InvokeExecuteMethodOutput, None]:
        return self.dispatcher.invoke_execute(request, is_active)

    async def execute(
        self, request: pb.InvokeExecuteMethodRequest
    ) -> list[pb.InvokeExecuteMethodOutput]:
        return [output async for output in self.outputs(request)]

    async def failure(
        self, request: pb.InvokeExecuteMethodRequest
    ) -> tuple[list[pb.InvokeExecuteMethodOutput], Exception]:
        """Return the frames of an attempt that fails, and what the Worker gets."""
        outputs: list[pb.InvokeExecuteMethodOutput] = []
        try:
            async for output in self.outputs(request):
                outputs += [output]
        except Exception as error:
            return outputs, error
        raise AssertionError("it did not fail")

    async def wait_for(
        self, request: pb.InvokeWaitForMethodRequest
    ) -> pb.InvokeWaitForMethodResponse:
        outputs: AsyncIterator[pb.InvokeWaitForMethodOutput]
        outputs = self.dispatcher.invoke_wait_for(request)
        return [output async for output in outputs][-1].result

    async def rpc(self, request: pb.InvokeWorkerRPCRequest) -> pb.InvokeWorkerRPCResponse:
        return await self.dispatcher.invoke_rpc(request)

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


class Blocking:
    """The same without waiting, for tests that compare the two packages."""

    def __init__(self, *script: Action, options: AgentSessionOptions = OPTIONS) -> None:
        self._runner = asyncio.Runner()
        self.driven = self._runner.run(self._build(script, options))

    async def _build(self, script: Sequence[Action], options: AgentSessionOptions) -> Driven:
        return Driven(ScriptedRunner(*script), options)

    def close(self) -> None:
        self._runner.close()

    def play(self, *script: Action) -> None:
        self.driven.runner.script = script

    def start_movement(self, start_input: str) -> pb.StepMovement:
        return self.driven.start_movement(start_input)

    def execute(self, request: pb.InvokeExecuteMethodRequest) -> list[pb.InvokeExecuteMethodOutput]:
        return self._runner.run(self.driven.execute(request))

    def failure(
        self, request: pb.InvokeExecuteMethodRequest
    ) -> tuple[list[pb.InvokeExecuteMethodOutput], Exception]:
        return self._runner.run(self.driven.failure(request))

    def wait_for(self, request: pb.InvokeWaitForMethodRequest) -> pb.InvokeWaitForMethodResponse:
        return self._runner.run(self.driven.wait_for(request))

    def rpc(self, request: pb.InvokeWorkerRPCRequest) -> pb.InvokeWorkerRPCResponse:
        return self._runner.run(self.driven.rpc(request))
