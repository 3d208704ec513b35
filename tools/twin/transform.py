"""Translate the text of one source into the text of its twin, line for line."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import libcst as cst
from libcst.helpers import get_full_name_for_node

from tools.twin.imports import blank_async_only, drop_unneeded_imports
from tools.twin.layout import ImportMap
from tools.twin.parsed import syntax
from tools.twin.rules import Rules

_MODULES_TABLE = "_MODULES"

# Nothing below these nodes is ever translated; not visiting them saves half the time.
_LEAVES = frozenset(
    {
        cst.SimpleWhitespace,
        cst.ParenthesizedWhitespace,
        cst.EmptyLine,
        cst.TrailingWhitespace,
        cst.Newline,
        cst.Comment,
        cst.Comma,
        cst.Dot,
        cst.LeftParen,
        cst.RightParen,
        cst.AssignEqual,
        cst.SimpleString,
        cst.Integer,
        cst.Colon,
    }
)


@dataclass(frozen=True, slots=True)
class Translation:
    """The twin's text and how often each rule fired."""

    text: str
    fired: Counter[str]


class Translator:
    """Translates sources by one set of rules and one imports map."""

    def __init__(self, rules: Rules, imports: ImportMap) -> None:
        self._rules = rules
        self._imports = imports
        words = sorted(rules.coloured | {"async", "await", "dex_agents", "tests"})
        self._trigger = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b")

    def translate(self, text: str, *, door: bool = False) -> Translation:
        """Translate the text of a source that was not refused.

        Line 1 is treated like any other comment; the caller puts the header there.

        Args:
            text: The source.
            door: Whether the module names in its `_MODULES` table are translated too.

        Raises:
            SyntaxError: The text is not Python.
        """
        fired: Counter[str] = Counter()
        kept = blank_async_only(text)
        if kept != text:
            fired["async_only"] += 1
        to_sync = _ToSync(self._rules, self._imports, door, fired)
        body = "".join(
            cst.parse_module(part).visit(to_sync).code if self._trigger.search(part) else part
            for part in _statements(kept)
        )
        # What needed no change has only the imports that its author wrote.
        return Translation(drop_unneeded_imports(text, body) if body != text else text, fired)


def _statements(text: str) -> Iterator[str]:
    """Cut a text behind each top-level statement, so that untouched ones need no second parse."""
    lines = text.split("\n")
    ends: list[int] = []
    for statement in syntax(text).tree.body:
        end = statement.end_lineno or statement.lineno
        if ends and statement.lineno <= ends[-1]:
            ends[-1] = end
        else:
            ends.append(end)
    start = 0
    for end in ends:
        if end < len(lines):
            yield "\n".join(lines[start:end]) + "\n"
            start = end
    yield "\n".join(lines[start:])


_NodeT = TypeVar("_NodeT", cst.FunctionDef, cst.For, cst.With, cst.CompFor)
_ExpressionT = TypeVar("_ExpressionT", bound=cst.BaseExpression)


class _ToSync(cst.CSTTransformer):
    """The structural rules, the names map, the annotation map and the imports map."""

    def __init__(self, rules: Rules, imports: ImportMap, door: bool, fired: Counter[str]) -> None:
        super().__init__()
        self._rules = rules
        self._imports = imports
        self._door = door
        self._fired = fired

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Visit everything but leaves; there are no rules that look from the outside in."""
        return type(node) not in _LEAVES

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        """Skip the look-up of a rule for each attribute; there are none, and it takes long."""

    def on_leave_attribute(self, original_node: cst.CSTNode, attribute: str) -> None:
        """Skip the look-up of a rule for each attribute; there are none, and it takes long."""

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        """Turn `async def` into `def`."""
        return self._without_async(updated_node, "async def")

    def leave_For(self, original_node: cst.For, updated_node: cst.For) -> cst.For:
        """Turn `async for` into `for`."""
        return self._without_async(updated_node, "async for")

    def leave_With(self, original_node: cst.With, updated_node: cst.With) -> cst.With:
        """Turn `async with` into `with`."""
        return self._without_async(updated_node, "async with")

    def leave_CompFor(self, original_node: cst.CompFor, updated_node: cst.CompFor) -> cst.CompFor:
        """Turn the `async for` of a comprehension into `for`."""
        return self._without_async(updated_node, "async comprehension")

    def _without_async(self, node: _NodeT, rule: str) -> _NodeT:
        if node.asynchronous is None:
            return node
        self._fired[rule] += 1
        return node.with_changes(asynchronous=None)

    def leave_Await(self, original_node: cst.Await, updated_node: cst.Await) -> cst.BaseExpression:
        """Turn `await x` into `x` with the parentheses of both."""
        self._fired["await"] += 1
        return _in_parentheses_of(updated_node, updated_node.expression)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        """Rename an identifier by the names map."""
        name = self._rules.names.get(updated_node.value)
        if name is None:
            return updated_node
        self._fired[f"name {updated_node.value}"] += 1
        return updated_node.with_changes(value=name)

    def leave_Subscript(
        self, original_node: cst.Subscript, updated_node: cst.Subscript
    ) -> cst.BaseExpression:
        """Unwrap generic types that vanish and complete those that take more arguments."""
        name = (get_full_name_for_node(original_node.value) or "").rpartition(".")[2]
        if name in self._rules.annotations:
            kept = _argument(updated_node, self._rules.annotations[name])
            if kept is not None:
                self._fired[f"annotation {name}"] += 1
                return _on_as_many_lines(updated_node, _in_parentheses_of(updated_node, kept))
        if name in self._rules.arities:
            return _completed(updated_node, self._rules.arities[name])
        return updated_node

    def leave_ImportFrom(
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.ImportFrom:
        """Point `from x import ...` at the twin's module."""
        if original_node.module is None or isinstance(original_node.names, cst.ImportStar):
            return updated_node
        dotted = get_full_name_for_node(original_node.module) or ""
        names = [alias.evaluated_name for alias in original_node.names]
        (origin,) = self._imports.twin_of_import(dotted, names)
        if origin == dotted:
            return updated_node.with_changes(module=original_node.module)
        self._fired["import"] += 1
        return updated_node.with_changes(module=cst.parse_expression(origin))

    def leave_ImportAlias(
        self, original_node: cst.ImportAlias, updated_node: cst.ImportAlias
    ) -> cst.ImportAlias:
        """Point `import x.y as z` at the twin's module; in a `from` statement this finds none."""
        dotted = original_node.evaluated_name
        twin = self._imports.twin_of(dotted)
        if twin == dotted:
            return updated_node
        self._fired["import"] += 1
        return updated_node.with_changes(name=cst.parse_expression(twin))

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:
        """Translate the table of a door."""
        targets = [get_full_name_for_node(target.target) for target in original_node.targets]
        if not self._door or targets != [_MODULES_TABLE]:
            return updated_node
        return updated_node.with_changes(value=self._table(updated_node.value))

    def leave_AnnAssign(
        self, original_node: cst.AnnAssign, updated_node: cst.AnnAssign
    ) -> cst.AnnAssign:
        """Translate the table of a door that has an annotation."""
        target = get_full_name_for_node(original_node.target)
        if not self._door or target != _MODULES_TABLE or updated_node.value is None:
            return updated_node
        return updated_node.with_changes(value=self._table(updated_node.value))

    def _table(self, value: cst.BaseExpression) -> cst.BaseExpression:
        if not isinstance(value, cst.Dict):
            return value
        return value.with_changes(elements=[self._row(element) for element in value.elements])

    def _row(self, element: cst.BaseDictElement) -> cst.BaseDictElement:
        if not isinstance(element, cst.DictElement):
            return element
        if not isinstance(element.value, cst.SimpleString):
            return element
        name = element.value.raw_value
        twin = self._imports.twin_of(name)
        if twin == name:
            return element
        self._fired["door"] += 1
        quoted = element.value.quote + twin + element.value.quote
        return element.with_changes(value=element.value.with_changes(value=quoted))


def _in_parentheses_of(
    outer: cst.Await | cst.Subscript, inner: cst.BaseExpression
) -> cst.BaseExpression:
    return inner.with_changes(lpar=[*outer.lpar, *inner.lpar], rpar=[*inner.rpar, *outer.rpar])


def _argument(node: cst.Subscript, index: int) -> cst.BaseExpression | None:
    """Return one argument of a generic type."""
    if index >= len(node.slice):
        return None
    argument = node.slice[index].slice
    return argument.value if isinstance(argument, cst.Index) else None


def _completed(node: cst.Subscript, arity: int) -> cst.Subscript:
    """Append None until a generic type has so many arguments."""
    missing = arity - len(node.slice)
    if missing <= 0:
        return node
    # The last comma, if any, carries the line break before the bracket and stays last.
    *first, last = node.slice
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    none = cst.SubscriptElement(cst.Index(cst.Name("None")), comma=comma)
    final = none.with_changes(comma=last.comma)
    added = [last.with_changes(comma=comma), *[none] * (missing - 1), final]
    return node.with_changes(slice=[*first, *added])


def _on_as_many_lines(before: cst.Subscript, after: cst.BaseExpression) -> cst.BaseExpression:
    """Put an expression in parentheses with as many line breaks as it has lost."""
    lost = _line_breaks(before) - _line_breaks(after)
    if lost <= 0:
        return after
    space = cst.ParenthesizedWhitespace(empty_lines=[cst.EmptyLine(indent=False)] * (lost - 1))
    return after.with_changes(
        lpar=[*after.lpar, cst.LeftParen()],
        rpar=[cst.RightParen(whitespace_before=space), *after.rpar],
    )


def _line_breaks(node: cst.CSTNode) -> int:
    return cst.Module([]).code_for_node(node).count("\n")
