"""A module with its syntax tree, walked once, for all the checks that look at it."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tools.twin.layout import Module

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

# Nodes that say how another one is used; they have no place of their own.
_TRIVIAL = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True)
class Syntax:
    """The syntax tree of a text, for reading only: it is shared by all who ask for it."""

    tree: ast.Module

    @cached_property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        """The parent of every node but the module itself, outside in."""
        parents: dict[ast.AST, ast.AST] = {}
        level: list[ast.AST] = [self.tree]
        for node in level:  # grows while it is walked
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, _TRIVIAL):
                    parents[child] = node
                    level.append(child)
        return parents

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree, outside in."""
        return (self.tree, *self.parents)

    @cached_property
    def used_names(self) -> frozenset[str]:
        """Every variable that is read or written, which leaves out imports and attributes."""
        return frozenset(node.id for node in self.nodes if isinstance(node, ast.Name))


# A run asks for the trees of one source and its twin at a time.
@lru_cache(maxsize=8)
def syntax(text: str) -> Syntax:
    """Parse a text, or remember what it was parsed to.

    Raises:
        SyntaxError: The text is not Python.
    """
    return Syntax(ast.parse(text))


@dataclass(frozen=True, slots=True)
class Parsed:
    """A module and its tree."""

    module: Module
    syntax: Syntax

    @property
    def lines(self) -> list[str]:
        """The text by lines, split where Python splits it."""
        return self.module.text.split("\n")

    @property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree, outside in."""
        return self.syntax.nodes

    @property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        """The parent of every node but the module itself."""
        return self.syntax.parents

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around a node, inside out."""
        while node in self.parents:
            node = self.parents[node]
            yield node


def parse(module: Module) -> Parsed:
    """Parse a module.

    Raises:
        SyntaxError: The text is not Python.
    """
    return Parsed(module, syntax(module.text))


def own_nodes(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield what runs with the given statements: all but the bodies of nested definitions."""
    for node in statements:
        yield node
        if not isinstance(node, _SCOPES):
            yield from own_nodes(ast.iter_child_nodes(node))


def last_name(node: ast.AST) -> str | None:
    """Return `z` of the expressions `z`, `x.y.z` and of a call of either."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def line_of(node: ast.AST) -> int:
    """Return the line of a node; nodes without one are the module."""
    return getattr(node, "lineno", 1)
