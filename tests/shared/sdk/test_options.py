# twin: shared
"""Workers fetch their work, have room for parallel tools, and keep some for messages."""

from datetime import timedelta
from pathlib import Path

import dex
import pytest

from dex_agents.sdk.blob_cache import opened_blob_cache
from dex_agents.sdk.options import client_options, worker_options


def test_a_worker_has_room_for_tools_and_for_messages() -> None:
    options = worker_options("engine:1", parallel_steps=10, rpc_slots=3, drain=timedelta(seconds=7))
    assert options.server_address == "engine:1"
    assert options.pull is not None
    assert options.pull.max_concurrent_tasks == 13
    assert options.pull.reserved_rpc_tasks == 3
    assert options.pull.stop_drain_timeout == timedelta(seconds=7)


def test_the_defaults_are_those_of_a_server_on_this_machine() -> None:
    options = worker_options()
    assert options.server_address == client_options().server_address == "localhost:8801"
    assert options.pull is not None
    assert options.pull.max_concurrent_tasks > 16


@pytest.mark.parametrize("name", ["parallel_steps", "rpc_slots"])
def test_a_worker_without_room_is_refused(name: str) -> None:
    wrong: dict[str, int] = {name: 0}
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        worker_options(**wrong)  # type: ignore[arg-type]  # the names are checked above


def test_flows_of_a_client_are_served_by_workers_that_fetch() -> None:
    options = client_options("engine:1")
    assert options.server_address == "engine:1"
    assert options.worker_target == dex.WorkerTarget(pull=True)


def test_a_cache_has_a_folder_of_its_own_that_goes_with_it() -> None:
    with opened_blob_cache(None) as cache:
        folder = Path(cache.config.directory)
        assert folder.is_dir()
    assert not folder.exists()


def test_a_given_folder_is_kept(tmp_path: Path) -> None:
    with opened_blob_cache(tmp_path / "blobs") as cache:
        cache.put("blob", b"value")
    assert (tmp_path / "blobs").is_dir()
