"""Prose of a source is copied as it is, so it may not speak of one colour."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from tools.twin.parsed import Parsed

# Whole words. A word that is part of an identifier or of a dotted name is code, not prose.
_COLOURED_WORD = re.compile(
    r"(?<![\w.])(await|async|asynchronous|coroutines?|event\s+loops?)(?!\w|\.\w)", re.IGNORECASE
)
_COMMENT_WITH_WORD = re.compile(r"#.*?" + _COLOURED_WORD.pattern, re.IGNORECASE)


def coloured_prose(parsed: Parsed) -> Iterator[tuple[int, str]]:
    """Yield the docstrings and comments that use a word of the refused list."""
    for node in parsed.nodes:
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield from _in_docstring(parsed, node)
            case _:
                continue
    if any(_COMMENT_WITH_WORD.search(line) for line in parsed.lines[1:]):
        yield from _in_comments(parsed)


def _in_docstring(parsed: Parsed, node: ast.Expr) -> Iterator[tuple[int, str]]:
    # The raw lines, not the value: an escape would shift the line number.
    raw = "\n".join(parsed.lines[node.lineno - 1 : node.end_lineno])
    for match in _COLOURED_WORD.finditer(raw):
        yield node.lineno + raw.count("\n", 0, match.start()), _reason("docstring", match[1])


def _in_comments(parsed: Parsed) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(parsed.module.text).readline):
        if token.type != tokenize.COMMENT or token.start[0] == 1:
            continue
        for match in _COLOURED_WORD.finditer(token.string):
            yield token.start[0], _reason("comment", match[1])


def _reason(where: str, word: str) -> str:
    words = " ".join(word.split())
    return f"the {where} says {words!r}; prose is copied into the twin and must fit both colours"
