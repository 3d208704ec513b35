# twin: shared
"""A second process on the same file is told which process owns it."""

from pathlib import Path

import pytest

from dex_agents.errors import EngineFileInUseError
from dex_agents_sync import EmbeddedEngine
from tests.kill.processes import COLOURS, Child


@pytest.mark.parametrize("colour", COLOURS)
def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path: Path, colour: str) -> None:
    path = tmp_path / "agents.db"
    child = Child(colour, path, tmp_path)
    with pytest.raises(EngineFileInUseError, match=f"process {child.process.pid}"):
        EmbeddedEngine(path).start()
    child.kill()
    with EmbeddedEngine(path):
        pass
