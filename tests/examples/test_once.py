# twin: shared
"""One conversation in the terminal, as `make demo` runs it."""

import subprocess
import time

import pytest

from dex_agents_sync import AgentSession, NonRetryableError
from dex_agents_sync.stepwise import (
    AgentDefinition,
    ModelRequest,
    ScriptedModelClient,
    ScriptedModelReply,
    stepwise_agent_session,
)
from examples.flask import once
from tests.examples.servers import EXAMPLES, ROOT, example_command


def run_once(example: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        example_command(example, *arguments),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_refund_is_asked_approved_and_done(example: str) -> None:
    started = time.monotonic()
    done = run_once(example, "--once", "refund order 7")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "you       refund order 7",
        "agent     Let me look up order 7 first.",
        "tool      lookup_order: running",
        "tool      lookup_order: succeeded",
        "agent     Order 7 is a rucksack for 26.90 EUR. A refund needs an approval.",
        'approval  refund_order {"order_id":"7","amount_cents":2690}',
        "you       approved",
        "tool      refund_order: running",
        "tool      refund_order: succeeded",
        "agent     Order 7 is refunded: 26.90 EUR are on their way (refund R-7).",
        "answer    Order 7 is refunded: 26.90 EUR are on their way (refund R-7).",
    ]
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("example", EXAMPLES)
def test_both_tools_of_a_question_run(example: str) -> None:
    done = run_once(example, "--once", "Where is order 7?")
    assert done.returncode == 0
    assert "check_stock: succeeded" in done.stdout
    assert "lookup_order: succeeded" in done.stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_nothing_to_say_is_a_mistake(example: str) -> None:
    done = run_once(example, "--once", " ")
    assert done.returncode == 2
    assert "needs something to say" in done.stderr


def refusing_session(*, pace: float) -> AgentSession:
    """Return a session whose every turn fails."""

    def refuse(request: ModelRequest) -> ScriptedModelReply:
        raise NonRetryableError("the key was refused")

    definition = AgentDefinition(name="a", instructions="", model=ScriptedModelClient(refuse))
    return stepwise_agent_session(definition, flow_type="Refusing")


def test_a_turn_that_fails_is_told_with_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(once, "support_session", refusing_session)
    assert once.run_once("hello") == 1
    assert "the turn failed: " in capsys.readouterr().out
