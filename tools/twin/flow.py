"""Calls and blocks that would mean something else once nothing is awaited."""

import ast
from collections.abc import Iterator

from tools.twin.parsed import FunctionNode, Parsed, last_name, own_nodes
from tools.twin.rules import CONTEXT_SETTERS

# Decorators that leave a coroutine function what it is.
_TRANSPARENT = frozenset({"override", "staticmethod", "classmethod", "abstractmethod", "final"})
_CONTEXT_MANAGER = frozenset({"contextmanager", "asynccontextmanager"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def unawaited_calls(parsed: Parsed) -> Iterator[tuple[int, str]]:
    """Yield the calls of this module's own coroutine functions that nobody awaits on the spot.

    The caller may be handed the result: by `return` of a plain function or by a lambda. Functions
    themselves may be passed around freely.
    """
    names = {node.name for node in parsed.nodes if isinstance(node, ast.AsyncFunctionDef)}
    for call in parsed.nodes:
        if not isinstance(call, ast.Call) or last_name(call.func) not in names:
            continue
        if not _calls_coroutine_function(parsed, call):
            continue
        if not _is_handed_on(parsed, call):
            yield (
                call.lineno,
                f"{last_name(call)}(...) is not awaited; the twin would run it here and now: "
                "await it, or pass the function itself",
            )


def _is_handed_on(parsed: Parsed, call: ast.Call) -> bool:
    inner: ast.AST = call
    for outer in parsed.ancestors(call):
        if isinstance(outer, ast.IfExp | ast.BoolOp):
            inner = outer
            continue
        if isinstance(outer, ast.Lambda):
            return outer.body is inner
        if isinstance(outer, ast.Return):
            return isinstance(_enclosing_function(parsed, outer), ast.FunctionDef)
        return isinstance(outer, ast.Await)
    return False


def _enclosing_function(parsed: Parsed, node: ast.AST) -> FunctionNode | None:
    return next((outer for outer in parsed.ancestors(node) if isinstance(outer, _FUNCTIONS)), None)


def _calls_coroutine_function(parsed: Parsed, call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=name):
            return _finds_coroutine_function(parsed, call, name)
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            return _has_coroutine_method(parsed, call, name)
        case _:
            return False


def _finds_coroutine_function(parsed: Parsed, call: ast.Call, name: str) -> bool:
    """Look a name up the way Python does: functions from the inside out, then the module."""
    for scope in parsed.ancestors(call):
        if isinstance(scope, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
            found = _binding(scope, name)
            if found is not None:
                return found
    return False


def _binding(scope: ast.Module | FunctionNode, name: str) -> bool | None:
    """Return whether a scope binds a name to a coroutine function; None if it does not bind it."""
    if not isinstance(scope, ast.Module):
        arguments = (node for node in ast.walk(scope.args) if isinstance(node, ast.arg))
        if any(argument.arg == name for argument in arguments):
            return False
    for node in own_nodes(scope.body):
        if isinstance(node, _FUNCTIONS) and node.name == name:
            return _is_coroutine_function(node)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            return False
    return None


def _has_coroutine_method(parsed: Parsed, call: ast.Call, name: str) -> bool:
    for scope in parsed.ancestors(call):
        if isinstance(scope, ast.ClassDef):
            methods = (node for node in own_nodes(scope.body) if isinstance(node, _FUNCTIONS))
            return any(node.name == name and _is_coroutine_function(node) for node in methods)
    return False


def _is_coroutine_function(node: FunctionNode) -> bool:
    return (
        isinstance(node, ast.AsyncFunctionDef)
        and all(last_name(decorator) in _TRANSPARENT for decorator in node.decorator_list)
        and not _yields(node.body)
    )


def _yields(statements: list[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(statements))


def context_around_yield(parsed: Parsed) -> Iterator[tuple[int, str]]:
    """Yield the `with` blocks that set a context variable and yield inside.

    The body of a context manager's function is exempt: it yields once, to the block it guards.
    """
    for node in parsed.nodes:
        if not isinstance(node, ast.With | ast.AsyncWith):
            continue
        names = {last_name(item.context_expr) for item in node.items}
        setters = sorted(name for name in names if name in CONTEXT_SETTERS)
        if setters and _yields(node.body) and not _is_context_manager(parsed, node):
            yield (
                node.lineno,
                f"{setters[0]} sets a context variable around a yield, where it leaks to whoever "
                "resumes the generator; open it inside the called function",
            )


def _is_context_manager(parsed: Parsed, node: ast.AST) -> bool:
    function = _enclosing_function(parsed, node)
    decorators = function.decorator_list if function else []
    return any(last_name(decorator) in _CONTEXT_MANAGER for decorator in decorators)
