# twin: shared
"""Who may open an engine file: one process, and only with the right to write it."""

import os
from pathlib import Path

import pytest

from dex_agents.errors import EngineError, EngineFileInUseError
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


_NOBODY = 65534


def _let_others_pass(folder: Path) -> None:
    """Let any user reach a folder of the tests, which pytest keeps to its own user."""
    while folder.stat().st_mode & 0o001 == 0 or "pytest" in folder.name:
        folder.chmod(folder.stat().st_mode | 0o055)
        folder = folder.parent


def _error_in_child(path: Path) -> str:
    """Return what opening the file says in a forked process that may not write there."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        text = "opened"
        try:
            if os.getuid() == 0:
                # Root may write anywhere, so the child gives its rights up.
                os.setgid(_NOBODY)
                os.setuid(_NOBODY)
            EmbeddedEngine(path).start().close()
        except EngineError as error:
            text = f"{type(error).__name__}: {error}"
        except BaseException as error:
            text = f"unexpected {error!r}"
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        text = answer.read().decode()
    os.waitpid(child, 0)
    return text


def test_a_folder_without_permission_is_told_as_such(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o755)
    if os.getuid() != 0:
        folder.chmod(0o555)
    _let_others_pass(tmp_path)
    text = _error_in_child(folder / "agents.db")
    assert text.startswith("EngineStorageError: cannot open")
    assert "this user may write to" in text


def test_a_file_without_write_permission_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    with EmbeddedEngine(path):
        pass
    path.chmod(0o444)
    _let_others_pass(tmp_path)
    text = _error_in_child(path)
    assert text.startswith("EngineStorageError: cannot open")
