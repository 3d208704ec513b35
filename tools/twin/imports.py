"""Take out what the twin does not need: tests of one colour, and imports that lost their use.

Both work on text and leave blank lines behind, because line N of the twin is line N of the source.
"""

import ast
from collections.abc import Iterable, Iterator

from tools.twin.parsed import last_name, syntax

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ImportNode = ast.Import | ast.ImportFrom


def blank_async_only(text: str) -> str:
    """Blank out every definition that is decorated with `async_only`."""
    if "async_only" not in text:
        return text
    lines = text.split("\n")
    for node in syntax(text).nodes:
        if isinstance(node, _DEFINITIONS) and _is_async_only(node):
            first = min(decorator.lineno for decorator in node.decorator_list)
            last = node.end_lineno or node.lineno
            lines[first - 1 : last] = [""] * (last - first + 1)
    return "\n".join(lines)


def _is_async_only(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return any(last_name(decorator) == "async_only" for decorator in node.decorator_list)


def drop_unneeded_imports(source: str, twin: str) -> str:
    """Drop the imports that only the source used, and those that now stand there twice.

    Args:
        source: The text before translation.
        twin: The translated text, with as many lines.

    Returns:
        The twin with the same number of lines.
    """
    lost = syntax(source).used_names - syntax(twin).used_names
    lines = twin.split("\n")
    at_top: set[tuple[str, str, str]] = set()
    for statement, parent in syntax(twin).parents.items():
        if isinstance(statement, ast.Import | ast.ImportFrom):
            seen = at_top if isinstance(parent, ast.Module) else set[tuple[str, str, str]]()
            dropped = list(_dropped(statement, lost, seen))
            if dropped:
                _rewrite(lines, statement, dropped)
    return "\n".join(lines)


def _dropped(
    statement: _ImportNode, lost: frozenset[str], seen: set[tuple[str, str, str]]
) -> Iterator[ast.alias]:
    """Yield the names of one statement that go, and remember the ones that stay."""
    module = statement.module or "" if isinstance(statement, ast.ImportFrom) else ""
    for alias in statement.names:
        bound = alias.asname or alias.name.partition(".")[0]
        key = (module, alias.name, bound)
        if bound in lost or key in seen:
            yield alias
        seen.add(key)


def _rewrite(lines: list[str], statement: _ImportNode, dropped: list[ast.alias]) -> None:
    first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
    kept = [alias for alias in statement.names if alias not in dropped]
    if not kept:
        # A block needs a statement; the module itself does not.
        indent = " " * statement.col_offset
        lines[first] = f"{indent}pass" if indent else ""
        lines[first + 1 : last + 1] = [""] * (last - first)
    elif first == last:
        start, end = statement.names[0].col_offset, statement.names[-1].end_col_offset or 0
        # Offsets count bytes; a line of imports that is not ASCII is not worth a second thought.
        raw = lines[first].encode()
        lines[first] = (raw[:start] + _joined(kept).encode() + raw[end:]).decode()
    else:
        _blank_names(lines, dropped)


def _joined(aliases: Iterable[ast.alias]) -> str:
    return ", ".join(ast.unparse(alias) for alias in aliases)


def _blank_names(lines: list[str], dropped: list[ast.alias]) -> None:
    """Cut names out of an import in parentheses, right to left, each with its comma."""
    for alias in reversed(dropped):
        row = alias.lineno - 1
        raw = lines[row].encode()
        before = raw[: alias.col_offset].decode()
        after = raw[alias.end_col_offset :].decode().lstrip().removeprefix(",").lstrip()
        lines[row] = (before + after).rstrip()
