# twin: generated from tests/aio/sdk/test_stack.py by tools/twin; do not edit.
"""Sessions in Worker processes of either colour, which are killed, stopped and replaced."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import dex
import pytest

from dex_agents.model.messages import MessageRole
from dex_agents.model.requests import AgentSnapshot
from dex_agents_sync.sdk.flow import AgentSessionFlow
from dex_agents.testing.blocking import GateFiles
from dex_agents.testing.history_values import EXECUTE_COMPLETED_EVENT
from dex_agents_sync.testing.stack import AgentTestStack, AgentWorker
from dex_agents_sync.ui_stream import read_agent_event_stream_snapshot, stream_agent_event_frames
from tests.sync.sdk.agent import FLOW_TYPE, STATE_FOLDER
from tests.sync.support import ToolBench, run_turn, wait_for_interrupts, wait_for_turn_end
from tests.invariants import check_session

pytestmark = pytest.mark.usefixtures("real_sdk")

# New in each process, so that no Worker of another one serves these sessions.
FLOW = AgentSessionFlow.remote(f"TestAgent-{uuid4().hex[:12]}")
ASYNC_WORKER = "tests.aio_only.run_worker"
THREADED_WORKER = "tests.sync_only.run_worker"

# Who works first, or is killed, and who goes on: a Worker of the other colour.
COLOURS = {
    "async": (ASYNC_WORKER, THREADED_WORKER),
    "threads": (THREADED_WORKER, ASYNC_WORKER),
}
Workers = tuple[str, str]


@pytest.fixture(params=list(COLOURS))
def workers(request: pytest.FixtureRequest) -> Workers:
    """Return the module of the first Worker and of the one that takes over."""
    return COLOURS[request.param]


@pytest.fixture
def session_id() -> str:
    """Return an ID that is new, also to a server that other runs have used."""
    return f"s-{uuid4().hex[:12]}"


def new_stack(folder: Path) -> AgentTestStack:
    env = {STATE_FOLDER: str(folder), FLOW_TYPE: FLOW.get_flow_type()}
    return AgentTestStack(folder, [FLOW], ASYNC_WORKER, worker_env=env)


def open_gates(folder: Path, *names: str) -> None:
    for name in names:
        GateFiles(folder, name).release()


def kill_at(stack: AgentTestStack, worker: AgentWorker, gate: str, successor: str) -> None:
    """Kill a Worker whose tool or model is at a gate, and start the one that takes over."""
    bench = ToolBench(worker.log.parent)
    bench.gate(gate).wait_until_reached()
    worker.kill()
    bench.gate(gate).release()
    stack.start_worker(successor)


def finished(
    stack: AgentTestStack, folder: Path, session_id: str, turn: int = 1
) -> AgentSnapshot:
    snapshot = wait_for_turn_end(stack.sessions(FLOW), session_id, turn)
    check_session(snapshot, ToolBench(folder).ledger, ["pay"])
    assert snapshot.state is not None
    assert snapshot.state.last_turn_error is None
    return snapshot


def test_a_read_that_was_killed_runs_again(
    real_sdk: None, tmp_path: Path, session_id: str, workers: Workers
) -> None:
    with new_stack(tmp_path) as stack:
        worker = stack.start_worker(workers[0])
        stack.sessions(FLOW).start_session(session_id, "look")
        kill_at(stack, worker, "look", workers[1])
        snapshot = finished(stack, tmp_path, session_id)
    assert snapshot.messages[-1].text == "done look: look 1"
    attempts = [entry["attempt"] for entry in ToolBench(tmp_path).ledger.entries("look")]
    assert attempts == ["1", "2"]


def test_an_idempotent_write_runs_again_with_the_same_key(
    real_sdk: None, tmp_path: Path, session_id: str, workers: Workers
) -> None:
    with new_stack(tmp_path) as stack:
        worker = stack.start_worker(workers[0])
        stack.sessions(FLOW).start_session(session_id, "save")
        kill_at(stack, worker, "save", workers[1])
        snapshot = finished(stack, tmp_path, session_id)
    assert snapshot.messages[-1].text == "done save: save 1"
    keys = [entry["key"] for entry in ToolBench(tmp_path).ledger.entries("save")]
    assert keys == [f"{session_id}/turn-1/save"] * 2


def test_a_non_idempotent_write_that_was_killed_is_never_repeated(
    real_sdk: None, tmp_path: Path, session_id: str, workers: Workers
) -> None:
    with new_stack(tmp_path) as stack:
        sessions = stack.sessions(FLOW)
        worker = stack.start_worker(workers[0])
        sessions.start_session(session_id, "pay")
        waiting = wait_for_interrupts(sessions, session_id)
        interrupt_id = waiting.pending_interrupts[0].interrupt_id
        assert sessions.resolve_interrupt(session_id, interrupt_id, approved=True)
        kill_at(stack, worker, "pay", workers[1])
        snapshot = finished(stack, tmp_path, session_id)
        assert "unknown" in snapshot.messages[-1].text
        results = [one for one in snapshot.messages if one.role is MessageRole.TOOL]
        assert len(results) == 1
        assert (
            (run_turn(sessions, session_id, "hello"))
            .messages[-1]
            .text.startswith("done hello")
        )
    assert ToolBench(tmp_path).ledger.count("pay") == 1


def test_a_model_call_that_was_killed_is_made_again(
    real_sdk: None, tmp_path: Path, session_id: str, workers: Workers
) -> None:
    with new_stack(tmp_path) as stack:
        worker = stack.start_worker(workers[0])
        stack.sessions(FLOW).start_session(session_id, "think")
        kill_at(stack, worker, "model", workers[1])
        snapshot = finished(stack, tmp_path, session_id)
    assert snapshot.messages[-1].text.startswith("done think")
    assert ToolBench(tmp_path).ledger.count("model") == 2


def test_a_session_waits_for_approval_without_any_worker(
    real_sdk: None, tmp_path: Path, session_id: str, workers: Workers
) -> None:
    open_gates(tmp_path, "pay")
    with new_stack(tmp_path) as stack:
        sessions = stack.sessions(FLOW)
        worker = stack.start_worker(workers[0])
        sessions.start_session(session_id, "pay")
        waiting = wait_for_interrupts(sessions, session_id)
        worker.kill()
        stack.start_worker(workers[1])
        interrupt_id = waiting.pending_interrupts[0].interrupt_id
        assert sessions.resolve_interrupt(session_id, interrupt_id, approved=True)
        assert not sessions.resolve_interrupt(session_id, interrupt_id, approved=False)
        snapshot = finished(stack, tmp_path, session_id)
        history = stack.read_step_history(session_id)
    assert snapshot.messages[-1].text == "done pay: pay 1"
    executed = [one for one in history if one.event_type == EXECUTE_COMPLETED_EVENT]
    assert [one.step_type for one in executed].count("CallSingleAttemptTool") == 1
    assert executed[0].step_execution_id == "StartAgentSession-1"
    assert executed[0].final_attempt == 1


def test_a_worker_that_is_stopped_finishes_its_tool(
    real_sdk: None, tmp_path: Path, session_id: str, workers: Workers
) -> None:
    with new_stack(tmp_path) as stack:
        worker = stack.start_worker(workers[0])
        stack.sessions(FLOW).start_session(session_id, "look")
        gate = ToolBench(tmp_path).gate("look")
        gate.wait_until_reached()
        worker.terminate()
        # While it drains, it takes nothing new.
        stack.start_worker(workers[1])
        gate.release()
        worker.stop()
        finished(stack, tmp_path, session_id)
    attempts = [entry["attempt"] for entry in ToolBench(tmp_path).ledger.entries("look")]
    assert attempts == ["1"]


def test_two_workers_of_both_colours_share_one_agents_sessions(
    real_sdk: None, tmp_path: Path, session_id: str
) -> None:
    open_gates(tmp_path, "look", "save")
    with new_stack(tmp_path) as stack:
        sessions = stack.sessions(FLOW)
        stack.start_worker(ASYNC_WORKER)
        stack.start_worker(THREADED_WORKER)
        for number in range(8):
            sessions.start_session(f"{session_id}-{number}", "look save")
        for number in range(8):
            snapshot = finished(stack, tmp_path, f"{session_id}-{number}")
            assert snapshot.messages[-1].text == "done look save: look 1; save 1"
        for number in range(8):
            run_turn(sessions, f"{session_id}-{number}", "look")
    ledger = ToolBench(tmp_path).ledger
    assert (ledger.count("look"), ledger.count("save")) == (16, 8)


def test_parallel_tools_of_one_worker_are_at_their_gates_at_once(
    real_sdk: None, tmp_path: Path, session_id: str, workers: Workers
) -> None:
    with new_stack(tmp_path) as stack:
        bench = ToolBench(tmp_path)
        stack.start_worker(workers[0])
        stack.sessions(FLOW).start_session(session_id, "look save")
        bench.gate("look").wait_until_reached()
        bench.gate("save").wait_until_reached()
        open_gates(tmp_path, "look", "save")
        finished(stack, tmp_path, session_id)


def test_a_browsers_token_outlives_the_worker(
    real_sdk: None, tmp_path: Path, session_id: str, workers: Workers
) -> None:
    open_gates(tmp_path, "look")
    with new_stack(tmp_path) as stack:
        sessions = stack.sessions(FLOW)
        client = sessions.client
        worker = stack.start_worker(workers[0])
        sessions.start_session(session_id, "look")
        finished(stack, tmp_path, session_id)
        stored = read_agent_event_stream_snapshot(client, FLOW, session_id)
        worker.kill()
        stack.start_worker(workers[1])
        run_turn(sessions, session_id, "hello")
        frames = stream_agent_event_frames(
            client, FLOW, session_id, resume_token=stored.resume_token
        )
        with closing(frames):
            first = next(frames)
    assert '"turn_started"' in first
    assert '"turn-2"' in first


def test_a_worker_that_cannot_start_says_why(real_sdk: None, tmp_path: Path) -> None:
    with AgentTestStack(tmp_path, [FLOW], "tests.no_such_module") as stack:
        with pytest.raises(RuntimeError, match="No module named"):
            stack.start_worker()


def test_the_history_of_no_session_is_told_as_such(
    real_sdk: None, tmp_path: Path, session_id: str
) -> None:
    with new_stack(tmp_path) as stack:
        with pytest.raises(dex.FlowNotFoundError):
            stack.read_step_history(session_id)


def test_a_stack_that_does_not_run_says_so(tmp_path: Path) -> None:
    stack = new_stack(tmp_path)
    calls: list[Callable[[], object]] = [
        lambda: stack.server_address,
        lambda: stack.sessions(FLOW),
        lambda: stack.engine,
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="stack"):
            call()
