# twin: shared
"""Promises of the lazy doors."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from dex_agents._door import lazy_door

DOOR = "door_of_a_test"


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    module = ModuleType(DOOR)
    monkeypatch.setitem(sys.modules, DOOR, module)
    yield module


def open_door(
    door: ModuleType, modules: dict[str, str], requires: tuple[str, str] | None = None
) -> ModuleType:
    functions = lazy_door(DOOR, modules, requires=requires)
    vars(door).update(zip(("__getattr__", "__dir__"), functions, strict=True))
    return door


def test_a_name_comes_from_its_module_and_stays(door: ModuleType) -> None:
    open_door(door, {"PurePath": "pathlib"})
    assert "PurePath" not in vars(door)
    assert door.PurePath is Path.__mro__[1]
    assert "PurePath" in vars(door)


def test_an_unknown_name_is_an_attribute_error_in_the_usual_words(door: ModuleType) -> None:
    open_door(door, {})
    with pytest.raises(AttributeError, match=f"module '{DOOR}' has no attribute 'nothing'"):
        _ = door.nothing


def test_dir_names_what_has_not_been_asked_for(door: ModuleType) -> None:
    open_door(door, {"PurePath": "pathlib"})
    assert "PurePath" in dir(door)
    assert "__name__" in dir(door)


@pytest.mark.parametrize("needed", ["no_such_package", "no_such_package.inner"])
def test_a_door_of_an_extra_names_the_extra(door: ModuleType, needed: str) -> None:
    open_door(door, {"PurePath": "pathlib"}, requires=(needed, "fancy"))
    with pytest.raises(ImportError, match=r"pip install 'dex-agents\[fancy\]'"):
        _ = door.PurePath
    with pytest.raises(AttributeError):
        _ = door.nothing


def test_a_door_of_an_installed_extra_opens(door: ModuleType) -> None:
    open_door(door, {"PurePath": "pathlib"}, requires=("json", "fancy"))
    assert door.PurePath is Path.__mro__[1]


def test_importing_a_name_from_a_real_door_imports_its_module_only(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "__init__.py").write_text(
        "from dex_agents._door import lazy_door\n"
        "_MODULES = {'ONE': 'room.one', 'TWO': 'room.two'}\n"
        "__getattr__, __dir__ = lazy_door(__name__, _MODULES)\n"
    )
    (tmp_path / "room" / "one.py").write_text("ONE = 1\n")
    (tmp_path / "room" / "two.py").write_text("raise RuntimeError\n")
    script = (
        "from room import ONE; import sys; assert ONE == 1; assert 'room.two' not in sys.modules"
    )
    package = str(Path(lazy_door.__code__.co_filename).parents[1])
    path = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {package!r}]; "
    subprocess.run([sys.executable, "-c", path + script], check=True, timeout=30)
