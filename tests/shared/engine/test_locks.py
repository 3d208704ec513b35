# twin: shared
"""Prove that Attribute locks exclude, are granted in turn, and are given back."""

from pathlib import Path

import pytest

from dex_agents.engine.core import EngineCore
from dex_agents.engine.kernel.messages import Decision, Effects, RpcResponse
from dex_agents.engine.kernel.options import MethodOptions, RetryPolicy
from dex_agents.engine.kernel.state import RunStatus
from dex_agents.engine.kernel.waits import TimerCondition, WaitingCondition
from dex_agents.engine.refusals import LocksTaken, MessageGone
from dex_agents.errors import EngineStorageError
from tests.shared.engine.harness import (
    FLOW_ID,
    Engine,
    go_to,
    refuse_next_commit,
    rpc_request,
    step,
    writes,
)

A = MethodOptions(locks=("a",))
B = MethodOptions(locks=("b",))
BOTH = MethodOptions(locks=("a", "b"))


def parallel(*locked: tuple[str, MethodOptions], path: Path | str = ":memory:") -> Engine:
    """Start Steps side by side, in this order."""
    engine = Engine(path)
    engine.start(step("Start"))
    engine.complete("Start-1", go_to(*(step(name, execute=locks) for name, locks in locked)))
    return engine


def phases(engine: Engine) -> dict[str, str]:
    return {step_id: s.phase.value for step_id, s in engine.steps().items()}


def test_steps_with_the_same_lock_run_one_after_the_other_in_turn() -> None:
    engine = parallel(("S", A), ("S", A), ("S", A))
    for number in (1, 2, 3):
        assert [s for s, phase in phases(engine).items() if phase == "running"] == [f"S-{number}"]
        engine.complete(f"S-{number}")
    assert phases(engine) == {}


def test_steps_with_different_locks_run_in_parallel() -> None:
    assert set(phases(parallel(("S", A), ("T", B))).values()) == {"running"}


def test_a_lock_covers_one_instance_of_a_map() -> None:
    x, y = MethodOptions(locks=("map/x",)), MethodOptions(locks=("map/y",))
    engine = parallel(("S", x), ("T", y), ("U", x))
    assert phases(engine) == {"S-1": "running", "T-1": "running", "U-1": "locked"}


def test_all_locks_are_taken_at_once_and_nobody_overtakes_on_the_same_keys() -> None:
    engine = parallel(("S", A), ("T", BOTH), ("U", B))
    assert phases(engine) == {"S-1": "running", "T-1": "locked", "U-1": "locked"}
    engine.complete("S-1")
    assert phases(engine) == {"T-1": "running", "U-1": "locked"}
    engine.complete("T-1")
    assert phases(engine) == {"U-1": "running"}


def test_a_lock_is_held_through_the_delays_between_attempts() -> None:
    engine = parallel(("S", A), ("T", A))
    engine.fail("S-1", retry_after=10)
    assert phases(engine) == {"S-1": "ready", "T-1": "locked"}
    with pytest.raises(LocksTaken, match="a is locked"):
        engine.rpc(locks=("a",))
    engine.pass_time(10)
    assert phases(engine) == {"S-1": "running", "T-1": "locked"}


def test_the_last_failure_gives_the_lock_back() -> None:
    engine = Engine()
    engine.start(step("Start"))
    once = MethodOptions(locks=("a",), retry=RetryPolicy(maximum_attempts=1))
    movements = step("S", execute=once, failure_step="R"), step("T", execute=A)
    engine.complete("Start-1", go_to(*movements))
    engine.fail("S-1")
    assert phases(engine)["T-1"] == "running"


def test_a_cancelled_step_gives_the_lock_back() -> None:
    engine = parallel(("S", A), ("T", A))
    engine.rpc(RpcResponse(decision=Decision(cancelled_types=("S",))))
    assert phases(engine) == {"T-1": "running"}


def test_wait_for_gives_its_locks_back_before_it_waits() -> None:
    engine = Engine()
    engine.start(step("S", waits=True, wait_for=A, execute=A))
    assert phases(engine) == {"S-1": "running"}
    engine.wait("S-1", WaitingCondition(timers=(TimerCondition(10),)))
    engine.rpc(locks=("a",))
    engine.pass_time(10)
    with pytest.raises(LocksTaken):
        engine.rpc(locks=("a",))


def test_an_rpc_tries_its_locks_once_and_takes_all_or_none() -> None:
    engine = parallel(("S", A))
    with pytest.raises(LocksTaken, match="a is locked"):
        engine.rpc(locks=("a", "b"))
    engine.rpc(locks=("b",))


def test_a_step_waits_for_the_lock_of_an_rpc_until_it_is_finished() -> None:
    engine = parallel()
    call = engine.ask(lambda core: core.begin_rpc(rpc_request(locks=("a",))))
    engine.rpc(RpcResponse(decision=go_to(step("S", execute=A))))
    assert phases(engine) == {"S-1": "locked"}
    with pytest.raises(LocksTaken):
        engine.rpc(locks=("a",))
    engine.ask(lambda core: core.finish_rpc(call, RpcResponse()))
    assert phases(engine) == {"S-1": "running"}


def test_an_abandoned_rpc_gives_its_locks_back() -> None:
    engine = parallel()
    call = engine.ask(lambda core: core.begin_rpc(rpc_request(locks=("a",))))
    engine.rpc(RpcResponse(decision=go_to(step("S", execute=A))))
    engine.ask(lambda core: core.abandon_rpc(call))
    assert phases(engine) == {"S-1": "running"}


def test_a_refused_rpc_gives_its_locks_back() -> None:
    engine = parallel()
    call = engine.ask(lambda core: core.begin_rpc(rpc_request(locks=("a",))))
    engine.rpc(RpcResponse(decision=go_to(step("S", execute=A))))
    gone = RpcResponse(effects=Effects(deleted_messages=(("c", "no such message"),)))
    with pytest.raises(MessageGone):
        engine.ask(lambda core: core.finish_rpc(call, gone))
    engine.pass_time(0)
    assert phases(engine) == {"S-1": "running"}


def test_locks_stop_neither_readers_nor_writers_without_them() -> None:
    engine = parallel(("S", A))
    engine.rpc(RpcResponse(effects=writes(a="written")), is_transactional=True)
    assert engine.state().attributes["a"].data == "written"


def test_the_locks_of_an_rpc_go_with_the_engine(tmp_path: Path) -> None:
    engine = parallel(path=tmp_path / "engine.db")
    engine.ask(lambda core: core.begin_rpc(rpc_request(locks=("a",))))
    engine.rpc(RpcResponse(decision=go_to(step("S", execute=A))))
    engine.cut()
    assert phases(Engine(tmp_path / "engine.db")) == {"S-1": "running"}


def test_steps_hold_their_locks_across_a_restart(tmp_path: Path) -> None:
    engine = parallel(("S", A), ("T", A), path=tmp_path / "engine.db")
    engine.fail("S-1", retry_after=100)
    engine.cut()
    assert phases(Engine(tmp_path / "engine.db")) == {"S-1": "ready", "T-1": "locked"}


def test_an_rpc_keeps_its_locks_when_the_disk_refuses_another_change() -> None:
    engine = parallel()
    call = engine.ask(lambda core: core.begin_rpc(rpc_request(locks=("a",))))
    refuse_next_commit(engine)
    with pytest.raises(EngineStorageError):
        engine.rpc(RpcResponse(effects=writes(x="lost")))
    with pytest.raises(LocksTaken):
        engine.rpc(locks=("a",))
    engine.ask(lambda core: core.finish_rpc(call, RpcResponse(effects=writes(x="kept"))))
    assert engine.state().attributes["x"].data == "kept"
    engine.rpc(locks=("a",))


def test_a_lock_that_was_taken_in_a_refused_wave_is_free_again() -> None:
    engine = parallel()

    def begin_and_write(core: EngineCore) -> None:
        core.begin_rpc(rpc_request(locks=("a",)))
        core.stop_flow(FLOW_ID, RunStatus.CANCELED, "")

    refuse_next_commit(engine)
    with pytest.raises(EngineStorageError):
        engine.ask(begin_and_write)
    engine.rpc(locks=("a",))
