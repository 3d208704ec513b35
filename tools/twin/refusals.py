"""What a module may not contain, by colour: the list of checks and the ones about names."""

import ast
import re
from collections.abc import Callable, Iterator

from tools.twin.flow import context_around_yield, unawaited_calls
from tools.twin.layout import PACKAGE, TESTS, Colour, ImportMap, Problem
from tools.twin.parsed import Parsed, last_name, line_of
from tools.twin.prose import coloured_prose
from tools.twin.rules import (
    COLOUR_TESTS,
    COLOUR_TESTS_HOME,
    REFUSED_IMPORTS,
    REFUSED_IMPORTS_SHARED,
    SDK_NAMES,
    Rules,
)

Found = Iterator[tuple[int, str]]

_BY_STRING = frozenset(
    {"getattr", "hasattr", "setattr", "delattr", "attrgetter", "methodcaller", "cast"}
)
_WORD = re.compile(r"\w+")


def refusals(parsed: Parsed, imports: ImportMap, rules: Rules) -> list[Problem]:
    """Return every reason to refuse a module, in the order of its lines."""
    path = parsed.module.path
    found = {
        Problem(path, line, reason)
        for check in _CHECKS.get(parsed.module.colour, ())
        for line, reason in check(parsed, imports, rules)
    }
    return sorted(found)


def _prose(parsed: Parsed, imports: ImportMap, rules: Rules) -> Found:
    return coloured_prose(parsed)


def _flow(parsed: Parsed, imports: ImportMap, rules: Rules) -> Found:
    yield from unawaited_calls(parsed)
    yield from context_around_yield(parsed)


def _import_forms(parsed: Parsed, imports: ImportMap, rules: Rules) -> Found:
    """Refuse the imports that the imports map cannot see through."""
    for node in parsed.nodes:
        if isinstance(node, ast.ImportFrom):
            if node.level:
                yield node.lineno, "a relative import; name the module in full"
            if any(alias.name == "*" for alias in node.names):
                yield node.lineno, "a star import; name what is imported"


def _loop_imports(parsed: Parsed, imports: ImportMap, rules: Rules) -> Found:
    return _refused_imports(
        parsed, REFUSED_IMPORTS_SHARED, "a shared module has no colour; an event loop has"
    )


def _wait_imports(parsed: Parsed, imports: ImportMap, rules: Rules) -> Found:
    yield from _refused_imports(
        parsed, REFUSED_IMPORTS, "waiting and concurrency are in dex_agents._seam"
    )
    for node in parsed.nodes:
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "time.sleep":
            yield node.lineno, "time.sleep; waiting and concurrency are in dex_agents._seam"


def _refused_imports(parsed: Parsed, refused: frozenset[str], reason: str) -> Found:
    for node, dotted in _imported(parsed):
        top = dotted.partition(".")[0]
        if top in refused or dotted in refused:
            yield line_of(node), f"imports {dotted}; {reason}"


def _imported(parsed: Parsed) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the dotted name of everything imported: modules and the names taken from them."""
    for node in parsed.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield node, f"{node.module}.{alias.name}"


def _own_imports(parsed: Parsed, imports: ImportMap, rules: Rules) -> Found:
    """Refuse imports from our own packages that have no single translation."""
    for node in parsed.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname is None and _is_ours(imports, alias.name):
                    yield node.lineno, f"import {alias.name} needs a name: import ... as ..."
                yield from _untranslatable(imports, node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [alias.name for alias in node.names]
            yield from _untranslatable(imports, node.lineno, node.module)
            for name in names:
                colour = imports.colour_of(f"{node.module}.{name}")
                if colour is Colour.ASYNC_ONLY:
                    yield from _untranslatable(imports, node.lineno, f"{node.module}.{name}")
            if f"{node.module}.{names[0]}" == TESTS.package:
                yield node.lineno, f"import from {TESTS.package} by its full name"
            elif len(imports.twin_of_import(node.module, names)) > 1:
                yield node.lineno, "these modules have two colours; split the import in two"


def _is_ours(imports: ImportMap, dotted: str) -> bool:
    return imports.is_ours(dotted) or dotted == TESTS.package.partition(".")[0]


def _untranslatable(imports: ImportMap, line: int, dotted: str) -> Found:
    colour = imports.colour_of(dotted)
    if imports.is_twin(dotted):
        yield line, f"imports {dotted}; a source knows nothing of its twin"
    elif imports.is_ours(dotted) and colour is None:
        yield line, f"imports {dotted}, which does not exist or has no valid marker"
    elif colour is Colour.ASYNC_ONLY:
        yield line, f"imports {dotted}, which is async-only and missing in the twin"


def _coloured_imports(parsed: Parsed, imports: ImportMap, rules: Rules) -> Found:
    """Refuse that a shared module leads to one colour; only a type checker may look there."""
    if parsed.module.path in rules.shared_imports_coloured:
        return
    for node in parsed.nodes:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if any(_is_type_checking(outer) for outer in parsed.ancestors(node)):
            continue
        dotted = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            dotted = [f"{node.module}.{name}" for name in dotted] + [str(node.module)]
        for name in dotted:
            coloured = imports.colour_of(name) in (Colour.SOURCE, Colour.SEAM)
            if coloured and not imports.is_door(name):
                yield (
                    node.lineno,
                    f"imports {name}, which has a colour; a shared module means the same in both "
                    "packages",
                )


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING"


def _colour_tests(parsed: Parsed, imports: ImportMap, rules: Rules) -> Found:
    if parsed.module.path.endswith(f"/{COLOUR_TESTS_HOME}"):
        return
    for line, name in _identifiers(parsed):
        if name in COLOUR_TESTS:
            yield line, f"{name} branches on colour; only {COLOUR_TESTS_HOME} may"


def _identifiers(parsed: Parsed) -> Iterator[tuple[int, str]]:
    for node in parsed.nodes:
        if isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.alias):
            yield node.lineno, node.name.rpartition(".")[2]


def _coloured_names(parsed: Parsed, imports: ImportMap, rules: Rules) -> Found:
    for line, name in _identifiers(parsed):
        if name in SDK_NAMES:
            yield line, f"{name} is one colour of the SDK; the seam has a name for both"
    for node in parsed.nodes:
        if not isinstance(node, ast.Name | ast.Attribute):
            continue
        generic = last_name(node)
        parent = parsed.parents[node]
        is_generic = isinstance(parent, ast.Subscript) and parent.value is node
        if generic in rules.annotations and not is_generic:
            yield node.lineno, f"{generic} without [...] means nothing in the twin"


def _coloured_strings(parsed: Parsed, imports: ImportMap, rules: Rules) -> Found:
    """Refuse strings that name something coloured: the generator does not look into strings."""
    for node in parsed.nodes:
        if isinstance(node, ast.Call) and last_name(node) in _BY_STRING:
            yield from _in_strings(node.args, rules)
        elif isinstance(node, ast.AnnAssign | ast.arg) and node.annotation:
            yield from _in_strings([node.annotation], rules)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
            yield from _in_strings([node.returns], rules)


def _in_strings(nodes: list[ast.expr], rules: Rules) -> Found:
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                for word in sorted(set(_WORD.findall(inner.value)) & rules.coloured):
                    yield inner.lineno, f"a string names {word}; write it without quotes"


def _no_async(parsed: Parsed, imports: ImportMap, rules: Rules) -> Found:
    for line, what in async_syntax(parsed.nodes):
        yield line, f"{what} in a shared module; mark it `# twin: source` or lift the waiting out"


def async_syntax(nodes: tuple[ast.AST, ...]) -> Found:
    """Yield line and name of everything that only a coroutine can run."""
    line = 1
    for node in nodes:
        line = getattr(node, "lineno", line)
        if isinstance(node, ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith):
            yield line, _ASYNC_STATEMENTS[type(node)]
        elif isinstance(node, ast.Await):
            yield line, "await"
        elif isinstance(node, ast.comprehension) and node.is_async:
            yield line_of(node.target), "async comprehension"


_ASYNC_STATEMENTS: dict[type[ast.AST], str] = {
    ast.AsyncFunctionDef: "async def",
    ast.AsyncFor: "async for",
    ast.AsyncWith: "async with",
}


def _async_only_marks(parsed: Parsed, imports: ImportMap, rules: Rules) -> Found:
    for line, reason in async_only_tests(parsed):
        if parsed.module.tree is PACKAGE:
            yield line, "async_only is for tests; the twin has everything the source has"
        elif not reason:
            yield line, 'async_only needs its reason as a string: @async_only("...")'


def async_only_tests(parsed: Parsed) -> Iterator[tuple[int, str]]:
    """Yield line and reason of each `@async_only("reason")`; an unreadable reason is empty."""
    for node in parsed.nodes:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for decorator in node.decorator_list:
            if last_name(decorator) == "async_only":
                yield decorator.lineno, _reason_of(decorator)


def _reason_of(decorator: ast.expr) -> str:
    match decorator:
        case ast.Call(args=[ast.Constant(value=str(reason))], keywords=[]):
            return reason.strip()
        case _:
            return ""


_Check = Callable[[Parsed, ImportMap, Rules], Found]

_CHECKS: dict[Colour, tuple[_Check, ...]] = {
    Colour.SOURCE: (
        _prose,
        _flow,
        _import_forms,
        _wait_imports,
        _own_imports,
        _colour_tests,
        _coloured_names,
        _coloured_strings,
        _async_only_marks,
    ),
    Colour.SHARED: (_no_async, _import_forms, _loop_imports, _coloured_imports, _colour_tests),
    Colour.SEAM: (_import_forms, _colour_tests),
    Colour.ASYNC_ONLY: (_import_forms,),
    Colour.SYNC_ONLY: (_import_forms,),
}
