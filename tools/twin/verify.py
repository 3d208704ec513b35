"""One whole run: what the twin should be, what it is, and what is wrong."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.twin.layout import (
    COMMAND,
    PACKAGE,
    TREES,
    TYPED_MARKER,
    Colour,
    ImportMap,
    Layout,
    Module,
    Problem,
    python_files,
    read_layout,
)
from tools.twin.parsed import Parsed, parse, syntax
from tools.twin.refusals import async_only_tests, async_syntax, refusals
from tools.twin.rules import Rules
from tools.twin.transform import Translator


@dataclass(frozen=True, slots=True)
class Plan:
    """What the sources under one root ask for.

    Attributes:
        layout: The modules that were found.
        outputs: The text of every generated file by path.
        expected: The paths of `outputs` and of the twins of refused sources.
        problems: Why sources were refused, and files in the wrong place.
        async_only: Place and reason of each test that the twin leaves out.
        dead_rules: Rules that changed nothing anywhere.
        fired: How often each rule fired, by source.
    """

    layout: Layout
    outputs: Mapping[str, str]
    expected: frozenset[str]
    problems: tuple[Problem, ...]
    async_only: tuple[Problem, ...]
    dead_rules: tuple[str, ...]
    fired: Mapping[str, Counter[str]]


def make_plan(root: Path, rules: Rules) -> Plan:
    """Judge and translate every source under a root; read nothing of the twin but its markers."""
    layout = read_layout(root, rules)
    imports = layout.imports
    translator = Translator(rules, imports)
    problems = list(layout.problems)
    async_only: list[Problem] = []
    outputs: dict[str, str] = {}
    fired: dict[str, Counter[str]] = {}
    for module in (*layout.modules, *_by_hand(layout)):
        parsed = _parse(module, problems)
        if parsed is None:
            continue
        found = refusals(parsed, imports, rules)
        problems.extend(found)
        if module.colour is not Colour.SOURCE or found:
            continue
        tests = async_only_tests(parsed)
        async_only.extend(Problem(module.path, line, reason) for line, reason in tests)
        fired[module.path], outputs[module.twin_path] = _translate(translator, module, problems)
    sources = [module for module in layout.modules if module.colour is Colour.SOURCE]
    return Plan(
        layout,
        outputs,
        frozenset(module.twin_path for module in sources),
        tuple(sorted(problems)),
        tuple(sorted(async_only)),
        tuple(_dead_rules(root, rules, fired)),
        fired,
    )


def _by_hand(layout: Layout) -> list[Module]:
    return [twin for twin in layout.twins if twin.colour in (Colour.SEAM, Colour.SYNC_ONLY)]


def _parse(module: Module, problems: list[Problem]) -> Parsed | None:
    try:
        return parse(module)
    except SyntaxError as error:
        problems.append(Problem(module.path, error.lineno or 1, f"not Python: {error.msg}"))
        return None


def _translate(
    translator: Translator, module: Module, problems: list[Problem]
) -> tuple[Counter[str], str]:
    translation = translator.translate(module.text, door=module.is_door)
    again = translator.translate(translation.text, door=module.is_door)
    for line, reason in broken_output(module.text, translation.text, again.text):
        problems.append(Problem(module.path, line, f"its twin is broken: {reason}"))
    _, newline, rest = translation.text.partition("\n")
    return translation.fired, module.header + newline + rest


def broken_output(source: str, twin: str, again: str) -> Iterator[tuple[int, str]]:
    """Yield what must not be true of any output.

    Args:
        source: The source.
        twin: What it was translated to.
        again: What the translation was translated to.
    """
    try:
        compile(twin, "twin", "exec", dont_inherit=True)
    except SyntaxError as error:
        yield error.lineno or 1, f"it does not compile: {error.msg}"
        return
    for line, what in async_syntax(syntax(twin).nodes):
        yield line, f"it still contains {what}"
    if twin.count("\n") != source.count("\n"):
        yield 1, "it has another number of lines; keep `await` and its operand on one line"
    if again != twin:
        yield _first_difference(twin, again), "a second run would change it again"


def _dead_rules(root: Path, rules: Rules, fired: Mapping[str, Counter[str]]) -> Iterator[str]:
    alive = {rule for counts in fired.values() for rule in counts}
    alive |= {rule for counts in _fired_in_examples(root, rules) for rule in counts}
    for kind, table in (("name", rules.names), ("annotation", rules.annotations)):
        for key in table:
            if f"{kind} {key}" not in alive:
                yield f"{kind} {key}"


def _fired_in_examples(root: Path, rules: Rules) -> Iterator[Counter[str]]:
    """Translate the examples for the count only: they are written by hand in both colours."""
    translator = Translator(rules, ImportMap(()))
    for path in python_files(root, "examples"):
        try:
            yield translator.translate((root / path).read_text(encoding="utf-8")).fired
        except SyntaxError:
            continue  # whoever runs the examples will say so


def differences(root: Path, plan: Plan) -> list[Problem]:
    """Compare the twin with the plan, whole files and in both directions."""
    found = [*_differing_files(root, plan), *_differing_typed_marker(root, plan.layout)]
    for path in orphans(plan):
        source = path.replace(_tree_of(path)[1], _tree_of(path)[0], 1)
        found.append(Problem(path, 0, f"orphan: {source} is not a source; run: {COMMAND}"))
    stray = "orphan: data files live in the source package only"
    found.extend(Problem(path, 0, stray) for path in _stray_files(root))
    return sorted(found)


def _differing_files(root: Path, plan: Plan) -> Iterator[Problem]:
    for path, text in plan.outputs.items():
        file = root / path
        if not file.is_file():
            yield Problem(path, 0, f"missing; run: {COMMAND}")
        elif file.read_bytes() != text.encode():
            line = _first_difference(file.read_bytes().decode("utf-8", "replace"), text)
            twin, source = _tree_of(path)[1], _tree_of(path)[0]
            place = f"{path.replace(twin, source, 1)}:{line}"
            yield Problem(path, line, f"stale; it comes from {place}: edit that, run: {COMMAND}")


def _differing_typed_marker(root: Path, layout: Layout) -> Iterator[Problem]:
    source, twin = (f"{folder}/{TYPED_MARKER}" for folder in (PACKAGE.source, PACKAGE.twin))
    if not (root / PACKAGE.source).is_dir():
        return
    if source not in layout.typed:
        yield Problem(source, 0, "missing; both packages are typed")
    elif layout.typed.get(twin) != layout.typed[source]:
        yield Problem(twin, 0, f"missing or stale; run: {COMMAND}")


def orphans(plan: Plan) -> list[str]:
    """Return the generated files that no source stands for any more."""
    generated = (twin for twin in plan.layout.twins if twin.colour is Colour.GENERATED)
    return [twin.path for twin in generated if twin.path not in plan.expected]


def _stray_files(root: Path) -> Iterator[str]:
    """Yield the files of the twin that are neither Python nor the typed marker."""
    folder = root / PACKAGE.twin
    for file in sorted(folder.rglob("*")):
        inner = file.relative_to(folder)
        if any(part.startswith((".", "__pycache__")) for part in inner.parts):
            continue
        if file.is_file() and file.suffix != ".py" and str(inner) != TYPED_MARKER:
            yield file.relative_to(root).as_posix()


def _tree_of(path: str) -> tuple[str, str]:
    """Return the source folder and the twin folder that a path of the twin belongs to."""
    tree = next(tree for tree in TREES if path.startswith(f"{tree.twin}/"))
    return tree.source, tree.twin


def _first_difference(one: str, other: str) -> int:
    lines, others = one.split("\n"), other.split("\n")
    for number, (line, its) in enumerate(zip(lines, others, strict=False), start=1):
        if line != its:
            return number
    return min(len(lines), len(others)) + 1


def write_twin(root: Path, plan: Plan) -> list[str]:
    """Bring the twin to what the plan says; leave the twins of refused sources alone.

    Returns:
        The paths that were written or removed.
    """
    changed: list[str] = []
    for path, text in plan.outputs.items():
        if _write(root / path, text.encode()):
            changed.append(path)
    typed = plan.layout.typed.get(f"{PACKAGE.source}/{TYPED_MARKER}")
    if typed is not None and _write(root / PACKAGE.twin / TYPED_MARKER, typed):
        changed.append(f"{PACKAGE.twin}/{TYPED_MARKER}")
    for path in orphans(plan):
        (root / path).unlink()
        changed.append(path)
    return sorted(changed)


def _write(file: Path, content: bytes) -> bool:
    if file.is_file() and file.read_bytes() == content:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return True
