"""Write, check, list or explain the twin; see `python -m tools.twin --help`."""

import argparse
import gc
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.twin.layout import COMMAND, Colour, Module
from tools.twin.rules import Rules
from tools.twin.verify import Plan, differences, make_plan, write_twin

_REPOSITORY = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None, rules: Rules | None = None) -> int:
    """Run the generator.

    Args:
        arguments: The command line without the program's name; None reads the process's own.
        rules: The tables; None takes those of `tools.twin.rules`.

    Returns:
        0 if all is well, 1 if something was refused or differs.
    """
    options = _parser().parse_args(arguments)
    root: Path = options.root
    rules = rules or Rules()
    plan = make_plan(root, rules)
    if options.list:
        _print(_listing(plan, rules))
        return 0
    if options.explain is not None:
        return _explain(root, plan, options.explain)
    return _check(root, plan) if options.check else _write(root, plan)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--root", type=Path, default=_REPOSITORY, help="the repository's folder")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="compare, write nothing")
    action.add_argument("--list", action="store_true", help="print the colour of every module")
    action.add_argument("--explain", metavar="FILE", help="print what changes in FILE, and why")
    return parser


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        print(line)


def _check(root: Path, plan: Plan) -> int:
    problems = [str(problem) for problem in (*plan.problems, *differences(root, plan))]
    problems += [_dead(rule) for rule in plan.dead_rules]
    _print(iter(problems))
    count = len(problems)
    print(f"twin: {len(plan.outputs)} generated files, {count} problem{'s' * (count != 1)}")
    return int(bool(problems))


def _write(root: Path, plan: Plan) -> int:
    changed = write_twin(root, plan)
    for path in changed:
        print(f"{'wrote' if (root / path).exists() else 'removed'} {path}")
    if plan.dead_rules:
        print(f"note: rules that fire nowhere, and fail --check: {', '.join(plan.dead_rules)}")
    _print(str(problem) for problem in plan.problems)
    print(f"twin: {len(plan.outputs)} generated files, {len(changed)} changed")
    return int(bool(plan.problems))


def _dead(rule: str) -> str:
    return f"tools/twin/rules.py: the rule `{rule}` fires nowhere; delete its line"


def _listing(plan: Plan, rules: Rules) -> Iterator[str]:
    for module in plan.layout.modules:
        target = f" -> {module.twin_path}" if module.colour in (Colour.SOURCE, Colour.SEAM) else ""
        yield f"{module.colour:<11} {module.path}{target}"
    for twin in plan.layout.twins:
        if twin.colour is Colour.SYNC_ONLY:
            yield f"{twin.colour:<11} {twin.path}"
    for row in rules.one_colour:
        yield f"allowed     {row.pattern} is {row.colour}: {row.reason}"
    for path, reason in rules.shared_imports_coloured.items():
        yield f"allowed     {path} imports a coloured module: {reason}"
    for test in plan.async_only:
        yield f"left out    {test}"


def _explain(root: Path, plan: Plan, file: str) -> int:
    path = _relative(root, file)
    modules = {module.path: module for module in plan.layout.modules}
    modules |= {m.twin_path: m for m in modules.values() if m.colour is Colour.SOURCE}
    module = modules.get(path)
    if module is None:
        print(f"{path}: not a module of a source tree, or it has no valid marker")
        return 1
    if module.colour is not Colour.SOURCE:
        print(f"{module.path}: {module.colour}; {_FATES[module.colour]}")
        return 0
    problems = [problem for problem in plan.problems if problem.path == module.path]
    _print(str(problem) for problem in problems)
    if module.twin_path in plan.outputs:
        _print(_changes(module, plan))
    return int(bool(problems))


_FATES = {
    Colour.SHARED: "the twin imports it from the source package",
    Colour.SEAM: "the twin has a half of its own, written by hand",
    Colour.ASYNC_ONLY: "the twin does not have it",
    Colour.SYNC_ONLY: "it belongs into the twin",
    Colour.GENERATED: "it belongs into the twin",
}


def _relative(root: Path, file: str) -> str:
    """Return a path from the root, whether it was given so or from the current folder."""
    if (root / file).exists() and not Path(file).is_absolute():
        return Path(file).as_posix()
    whole = Path(file).resolve()
    return whole.relative_to(root.resolve()).as_posix() if whole.is_relative_to(root) else file


def _changes(module: Module, plan: Plan) -> Iterator[str]:
    yield f"{module.path} -> {module.twin_path}"
    twin = plan.outputs[module.twin_path].split("\n")
    for number, (line, its) in enumerate(zip(module.text.split("\n"), twin, strict=False), start=1):
        if line != its:
            yield f"{number:5} - {line}"
            yield f"      + {its}".rstrip()
    for rule, count in sorted(plan.fired[module.path].items()):
        yield f"{count:5} x {rule}"


if __name__ == "__main__":
    # Syntax trees are nothing but small objects that live until the end; looking for cycles among
    # them takes a quarter of the run.
    gc.disable()
    sys.exit(main())
