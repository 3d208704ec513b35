# twin: shared
"""The miniature repository that every test of the generator starts from."""

from pathlib import Path

import pytest

from tests.twin.trees import SOURCE, MiniTree


@pytest.fixture
def tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> MiniTree:
    """Return a repository with an empty typed package."""
    mini = MiniTree(tmp_path, capsys)
    mini.write(SOURCE + "__init__.py", "# twin: source")
    mini.write(SOURCE + "py.typed")
    return mini
