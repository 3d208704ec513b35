"""Find the modules of both packages, read their marker lines and map their paths and names."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path

from tools.twin.rules import Rules

COMMAND = "python -m tools.twin"
TYPED_MARKER = "py.typed"

_MARKER = re.compile(r"# twin: (shared|source|seam|async-only|sync-only)")
_GENERATED = re.compile(r"# twin: generated from (\S+) by tools/twin; do not edit\.")


class Colour(StrEnum):
    """What line 1 of a module says about it."""

    SHARED = "shared"
    SOURCE = "source"
    SEAM = "seam"
    ASYNC_ONLY = "async-only"
    SYNC_ONLY = "sync-only"
    GENERATED = "generated"


@dataclass(frozen=True, slots=True)
class Tree:
    """A folder of sources and the folder of their twins."""

    source: str
    twin: str
    package: str
    twin_package: str


PACKAGE = Tree("src/dex_agents", "src/dex_agents_sync", "dex_agents", "dex_agents_sync")
TESTS = Tree("tests/aio", "tests/sync", "tests.aio", "tests.sync")
TREES = (PACKAGE, TESTS)


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One reason for a run to fail; line 0 means the file as a whole."""

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Module:
    """A Python file of one of the trees, on either side."""

    tree: Tree
    path: str
    colour: Colour
    text: str

    @property
    def is_package(self) -> bool:
        """Whether this is the `__init__.py` of a folder."""
        return self.path.endswith("/__init__.py")

    @property
    def is_door(self) -> bool:
        """Whether this is the `__init__.py` of a public or private room of the package."""
        return self.is_package and self.tree is PACKAGE

    @property
    def may_be_seam(self) -> bool:
        """Whether this file lies where hand-written pairs live."""
        return self.tree is PACKAGE and "/_seam/" in self.path

    @property
    def name(self) -> str:
        """The dotted name of a module on the source side."""
        inner = self.path.removeprefix(self.tree.source).removesuffix(".py")
        return (self.tree.package + inner.replace("/", ".")).removesuffix(".__init__")

    @property
    def twin_path(self) -> str:
        """The path of the generated file or of the other half of a seam."""
        return self.tree.twin + self.path.removeprefix(self.tree.source)

    @property
    def header(self) -> str:
        """Line 1 of the generated file."""
        return f"# twin: generated from {self.path} by tools/twin; do not edit."


class ImportMap:
    """Which dotted names of the source side have another name in the twin."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self._modules = {module.name: module for module in modules}

    def colour_of(self, dotted: str) -> Colour | None:
        """Return the colour of a module, or None if the trees have no such module."""
        module = self._modules.get(dotted)
        return module.colour if module else None

    def is_door(self, dotted: str) -> bool:
        """Return whether the name is a package rather than a module."""
        module = self._modules.get(dotted)
        return module is not None and module.is_package

    def is_ours(self, dotted: str) -> bool:
        """Return whether the name lies inside one of the source trees."""
        return any(dotted == t.package or dotted.startswith(t.package + ".") for t in TREES)

    def is_twin(self, dotted: str) -> bool:
        """Return whether the name lies inside one of the generated trees."""
        packages = [tree.twin_package for tree in TREES]
        return any(dotted == name or dotted.startswith(name + ".") for name in packages)

    def twin_of(self, dotted: str) -> str:
        """Return the name that a module has in the twin; shared and foreign names stay."""
        module = self._modules.get(dotted)
        if module is None or module.colour not in (Colour.SOURCE, Colour.SEAM):
            return dotted
        return module.tree.twin_package + dotted.removeprefix(module.tree.package)

    def twin_of_import(self, dotted: str, names: Iterable[str]) -> frozenset[str]:
        """Return where `from dotted import names` finds its names in the twin.

        A name that is a module itself counts by its own colour. More than one answer means that
        the statement has to be split.
        """
        return frozenset(self._origin(dotted, name) for name in names)

    def _origin(self, dotted: str, name: str) -> str:
        whole = f"{dotted}.{name}"
        if whole not in self._modules:
            return self.twin_of(dotted)
        return self.twin_of(whole).rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class Layout:
    """Everything found under one root."""

    modules: tuple[Module, ...]
    twins: tuple[Module, ...]
    problems: tuple[Problem, ...]
    typed: Mapping[str, bytes]

    @property
    def imports(self) -> ImportMap:
        """The imports map that follows from the markers."""
        return ImportMap(self.modules)


def read_layout(root: Path, rules: Rules) -> Layout:
    """Read all marker lines under a repository root.

    Args:
        root: The folder that holds `src` and `tests`.
        rules: The allowlists to judge one-colour modules by.

    Returns:
        The modules of both sides and what is wrong with their markers and places.
    """
    modules: list[Module] = []
    twins: list[Module] = []
    problems: list[Problem] = []
    for tree in TREES:
        _read_tree(root, tree, tree.source, modules, problems)
        _read_tree(root, tree, tree.twin, twins, problems)
    for module in modules:
        problems.extend(_misplaced(module, rules))
    problems.extend(_packages_missing_in_twin(modules))
    for twin in twins:
        problems.extend(_misplaced_twin(twin, rules))
    problems.extend(_unpaired(modules, twins))
    problems.extend(_unmarked_tests(root))
    typed = {
        path: (root / path).read_bytes()
        for path in (f"{PACKAGE.source}/{TYPED_MARKER}", f"{PACKAGE.twin}/{TYPED_MARKER}")
        if (root / path).is_file()
    }
    return Layout(tuple(modules), tuple(twins), tuple(problems), typed)


def python_files(root: Path, folder: str) -> Iterator[str]:
    """Yield the paths of a folder's Python files relative to the root, sorted."""
    for file in sorted((root / folder).rglob("*.py")):
        yield file.relative_to(root).as_posix()


def _read_tree(
    root: Path, tree: Tree, folder: str, found: list[Module], problems: list[Problem]
) -> None:
    for path in python_files(root, folder):
        text = (root / path).read_bytes().decode("utf-8")
        colour = _colour(text)
        if colour is None:
            problems.append(Problem(path, 1, _NO_MARKER))
            continue
        found.append(Module(tree, path, colour, text))


_NO_MARKER = (
    "line 1 names no colour; write `# twin: ` and one of "
    "shared, source, seam, async-only, sync-only"
)


def _colour(text: str) -> Colour | None:
    first = text.partition("\n")[0]
    if _GENERATED.fullmatch(first):
        return Colour.GENERATED
    match = _MARKER.fullmatch(first)
    return Colour(match[1]) if match else None


def _misplaced(module: Module, rules: Rules) -> Iterator[Problem]:
    """Yield what is wrong with the colour of a module on the source side."""
    colour = module.colour
    if colour is Colour.GENERATED:
        yield Problem(module.path, 1, "a generated file does not belong on the source side")
    elif colour is Colour.SEAM and not module.may_be_seam:
        yield Problem(module.path, 1, "a seam lives under _seam/ and nowhere else")
    elif colour is Colour.SYNC_ONLY:
        yield Problem(module.path, 1, f"a sync-only module belongs into {module.tree.twin}/")
    elif colour is Colour.ASYNC_ONLY:
        yield from _not_allowed(module, rules)


def _packages_missing_in_twin(modules: list[Module]) -> Iterator[Problem]:
    """Yield each shared `__init__.py` of a folder that the twin has as well."""
    coloured = [m.path for m in modules if m.colour in (Colour.SOURCE, Colour.SEAM)]
    for module in modules:
        folder = module.path.removesuffix("__init__.py")
        if not module.is_package or module.colour is not Colour.SHARED:
            continue
        if any(path.startswith(folder) for path in coloured):
            yield Problem(module.path, 1, "the twin has this package too; mark it source")


def _misplaced_twin(twin: Module, rules: Rules) -> Iterator[Problem]:
    """Yield what is wrong with the colour of a file on the generated side."""
    if twin.colour is Colour.SYNC_ONLY:
        yield from _not_allowed(twin, rules)
    elif twin.colour not in (Colour.GENERATED, Colour.SEAM):
        yield Problem(
            twin.path,
            1,
            f"orphan: a file of the twin is generated, a seam or sync-only, not {twin.colour}",
        )


def _not_allowed(module: Module, rules: Rules) -> Iterator[Problem]:
    for row in rules.one_colour:
        if row.colour == module.colour and fnmatchcase(module.path, row.pattern):
            return
    yield Problem(
        module.path,
        1,
        f"{module.colour} modules need a row with a reason in tools/twin/rules.py (ONE_COLOUR)",
    )


def _unpaired(modules: list[Module], twins: list[Module]) -> Iterator[Problem]:
    """Yield the seams that have one half only."""
    here = {m.twin_path: m for m in modules if m.colour is Colour.SEAM and m.may_be_seam}
    there = {twin.path: twin for twin in twins if twin.colour is Colour.SEAM}
    for path, module in here.items():
        if path not in there:
            yield Problem(module.path, 1, f"the other half is missing: write {path} by hand")
    for path in there:
        if path not in here:
            yield Problem(path, 1, "orphan: this half of a seam has no other half")


def _unmarked_tests(root: Path) -> Iterator[Problem]:
    """Yield the test modules outside the trees that do not say their colour."""
    covered = (f"{TESTS.source}/", f"{TESTS.twin}/")
    allowed = (Colour.SHARED, Colour.ASYNC_ONLY, Colour.SYNC_ONLY)
    for path in python_files(root, "tests"):
        if path.startswith(covered):
            continue
        with (root / path).open(encoding="utf-8") as file:
            first = file.readline()
        colour = _colour(first.rstrip("\n"))
        if not first:
            continue  # an empty __init__.py
        if colour is None:
            yield Problem(path, 1, _NO_MARKER)
        elif colour not in allowed:
            yield Problem(path, 1, f"only {TESTS.source}/ has twins; write `# twin: shared`")
