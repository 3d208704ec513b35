# twin: shared
"""Promises about the repository's own files: size, markers, names that must not appear, pins."""

import os
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE_FOLDERS = ("src", "tools", "tests", "examples", "benchmarks")
CODE_SUFFIXES = {".py", ".pyi", ".js", ".html", ".css", ".sh"}
LINE_LIMIT = 500

# Environments, caches and build outputs are never committed; of the folders with a leading dot,
# only these are.
IGNORED_FOLDERS = {"__pycache__", "build", "dist", "node_modules"}
DOT_FOLDERS = {".ci"}

SOURCE_MARKER = re.compile(r"# twin: (shared|source|seam|async-only)")
TWIN_MARKER = re.compile(
    r"# twin: (seam|sync-only|generated from src/dex_agents/\S+ by tools/twin; do not edit\.)"
)
GENERATED_MARKER = "# twin: generated from "

# Joined from parts, so that this file does not hold what it forbids.
REGISTRY_HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("python" + "hosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("deb", "debian", "org"),
    )
)
MACHINE_PATH = re.compile(r"(?<![\w.:/-])/(?:" + "|".join(["home", "Users", "root", "work"]) + ")/")

PINNED = re.compile(
    r"(?P<name>[a-z0-9-]+)==[\w.]+(?:; python_version == \"[\d.]+\")?"
    r"(?: --hash=sha256:[0-9a-f]{64})+"
)
REQUIREMENT_NAME = re.compile(r"[A-Za-z0-9._-]+")
REQUIREMENT_FILES = ("demo.txt", "dev.txt", "dev-3.13.txt")


@cache
def repository_texts() -> dict[Path, str]:
    """Read every text file that could be committed, by its path from the root."""
    return {path.relative_to(ROOT): text for path, text in _texts_below(ROOT)}


def _texts_below(top: Path) -> Iterator[tuple[Path, str]]:
    for folder, subfolders, names in os.walk(top):
        subfolders[:] = [
            name
            for name in subfolders
            if name not in IGNORED_FOLDERS and (name[0] != "." or name in DOT_FOLDERS)
        ]
        for name in names:
            path = Path(folder, name)
            try:
                yield path, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # pictures and databases


def code_texts() -> dict[Path, str]:
    return {
        path: text
        for path, text in repository_texts().items()
        if path.parts[0] in CODE_FOLDERS and path.suffix in CODE_SUFFIXES
    }


def modules_of(package: str) -> dict[Path, str]:
    """Return the modules below `src/<package>` with their first lines."""
    return {
        path: text.partition("\n")[0]
        for path, text in code_texts().items()
        if path.parts[:2] == ("src", package) and path.suffix == ".py"
    }


def project_table() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads(repository_texts()[Path("pyproject.toml")])["project"]
    return project


def logical_lines(requirement_file: str) -> list[str]:
    """Return the lines that pip reads: continuations joined, comments and blanks gone."""
    text = repository_texts()[Path("requirements", requirement_file)].replace("\\\n", "")
    lines = (re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines())
    return [" ".join(line.split()) for line in lines if line.strip()]


def pinned_names(requirement_file: str) -> set[str]:
    matches = (PINNED.fullmatch(line) for line in logical_lines(requirement_file))
    return {match["name"] for match in matches if match}


def normalized_name(requirement: str) -> str:
    match = REQUIREMENT_NAME.match(requirement)
    assert match, requirement
    return re.sub(r"[._-]+", "-", match[0]).lower()


def test_no_hand_written_file_is_over_the_line_limit() -> None:
    long = {
        str(path): count
        for path, text in code_texts().items()
        if not text.startswith(GENERATED_MARKER) and (count := text.count("\n")) > LINE_LIMIT
    }
    assert long == {}


@pytest.mark.parametrize(
    ("package", "marker"), [("dex_agents", SOURCE_MARKER), ("dex_agents_sync", TWIN_MARKER)]
)
def test_line_1_of_every_module_says_its_colour(package: str, marker: re.Pattern[str]) -> None:
    modules = modules_of(package)
    assert modules
    unmarked = [str(path) for path, line in modules.items() if not marker.fullmatch(line)]
    assert unmarked == []


def test_both_packages_are_typed() -> None:
    for package in ("dex_agents", "dex_agents_sync"):
        assert Path("src", package, "py.typed") in repository_texts()


def test_no_file_names_a_package_registry() -> None:
    naming = {
        f"{path}: {host}"
        for path, text in repository_texts().items()
        for host in REGISTRY_HOSTS
        if host in text
    }
    assert naming == set()


def test_no_file_holds_a_path_of_one_machine() -> None:
    holding = {
        f"{path}:{number}"
        for path, text in repository_texts().items()
        for number, line in enumerate(text.splitlines(), start=1)
        if MACHINE_PATH.search(line)
    }
    assert holding == set()


@pytest.mark.parametrize("name", REQUIREMENT_FILES)
def test_every_requirement_is_pinned_by_hash_and_no_index_is_named(name: str) -> None:
    lines = logical_lines(name)
    assert lines
    unpinned = [line for line in lines if not PINNED.fullmatch(line)]
    assert unpinned == []


def test_requirement_files_name_no_address() -> None:
    files = {
        path: text for path, text in repository_texts().items() if path.parts[0] == "requirements"
    }
    assert {Path("requirements", name) for name in REQUIREMENT_FILES} <= files.keys()
    assert [str(path) for path, text in files.items() if "://" in text] == []


def test_the_demo_runs_on_the_versions_that_the_tests_run_on() -> None:
    assert set(logical_lines("demo.txt")) <= set(logical_lines("dev.txt"))


def test_the_demo_has_every_core_dependency() -> None:
    core = {normalized_name(requirement) for requirement in project_table()["dependencies"]}
    assert core <= pinned_names("demo.txt")


@pytest.mark.parametrize("extra", sorted(project_table()["optional-dependencies"]))
def test_every_extra_is_there_to_be_tested(extra: str) -> None:
    requirements = project_table()["optional-dependencies"][extra]
    assert {normalized_name(requirement) for requirement in requirements} <= pinned_names("dev.txt")
