# twin: source
"""Spend limits for the tests: one that keeps everything in memory and may fail on purpose."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from dex_agents.model.state import AgentUsage
from dex_agents.spend import (
    ModelSpendDecision,
    ModelSpendLimit,
    ModelSpendReport,
    ModelSpendRequest,
)
from dex_agents.stepwise import ModelRequest, ScriptedModelReply

Respond = Callable[[ModelRequest], ScriptedModelReply]

USAGE = AgentUsage(input_tokens=70, output_tokens=30)
TOKENS = 100

Operation = Literal["reserve", "report"]


def counted(respond: Respond, calls: list[str]) -> Respond:
    """Return a script whose calls use exactly `USAGE` each and are listed in `calls`."""

    def reply(request: ModelRequest) -> ScriptedModelReply:
        calls.append(request.turn_id)
        made = respond(request)
        return ScriptedModelReply(text=made.text, tool_calls=made.tool_calls, usage=USAGE)

    return reply


@dataclass
class RecordingLimit:
    """Allow everything, or refuse with a reason; keep what was asked and reported."""

    refusal: str | None = None
    asked: list[ModelSpendRequest] = field(default_factory=list[ModelSpendRequest])
    reported: list[ModelSpendReport] = field(default_factory=list[ModelSpendReport])

    async def reserve_model_call(self, request: ModelSpendRequest, /) -> ModelSpendDecision:
        self.asked.append(request)
        return ModelSpendDecision(refusal=self.refusal)

    async def report_model_call(self, report: ModelSpendReport, /) -> None:
        self.reported.append(report)


@dataclass
class FailingLimit:
    """Pass on to another limit, and lose the n-th question or answer on the way."""

    inner: ModelSpendLimit
    fails_at: int
    moment: Literal["before", "after"]
    operations: list[Operation] = field(default_factory=list[Operation])

    async def reserve_model_call(self, request: ModelSpendRequest, /) -> ModelSpendDecision:
        self._count("reserve", "before")
        decision = await self.inner.reserve_model_call(request)
        self._count("reserve", "after")
        return decision

    async def report_model_call(self, report: ModelSpendReport, /) -> None:
        self._count("report", "before")
        await self.inner.report_model_call(report)
        self._count("report", "after")

    def _count(self, operation: Operation, moment: Literal["before", "after"]) -> None:
        if moment == "before":
            self.operations.append(operation)
        if moment == self.moment and len(self.operations) == self.fails_at:
            raise ConnectionError("the counters are away")
