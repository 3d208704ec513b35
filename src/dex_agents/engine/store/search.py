# twin: shared
"""The search language: a filter such as `ActiveStepTypes = "AwaitToolApproval" AND FlowType = "A"`.

Fields, `= != IN < <= > >=`, AND, OR, NOT and parentheses, with strings in single or double quotes.
It is translated to one SQL condition on the `runs` table; values are always parameters.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

_TOKEN = re.compile(
    r"""\s*(?: (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<number>-?\d+(?:\.\d+)?)
      | (?P<symbol><=|>=|!=|=|<|>|\(|\)|,)
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*) )""",
    re.VERBOSE,
)
_COLUMNS = {
    "FlowId": "flow_id",
    "WorkflowId": "flow_id",
    "RunId": "run_id",
    "FlowType": "flow_type",
    "ExecutionStatus": "status",
    "StartTime": "started_at",
    "CloseTime": "closed_at",
}
_TIMES = ("StartTime", "CloseTime")
_ACTIVE_STEP = (
    "(status = 'running' AND search_mode != 'disabled' AND EXISTS (SELECT 1 FROM steps s WHERE "
    "s.run = runs.run AND s.type {comparison} AND (s.waits = 1 OR runs.search_mode = 'all')))"
)
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
# Far more than a person writes, and less than what SQLite's parser has room for.
_LARGEST_QUERY = 16_384
_MOST_COMPARISONS = 256
_DEEPEST_NESTING = 8


@dataclass(frozen=True, slots=True)
class SearchCondition:
    """A SQL condition on `runs` and its parameters."""

    sql: str
    parameters: tuple[str | float, ...] = ()


class SearchQueryError(ValueError):
    """Report a query that cannot be understood; the text says where and what is possible."""


def parse_query(query: str, index_types: Mapping[str, str] | None = None) -> SearchCondition:
    """Translate a search query; an empty one matches every run.

    Args:
        query: The text.
        index_types: More fields: names that Attributes are indexed by, and the type of each.

    Raises:
        SearchQueryError: The query is not of the language above.
    """
    if not query.strip():
        return SearchCondition("1")
    parser = _Parser(query, index_types or {})
    condition = parser.any_of()
    parser.expect_end()
    return condition


class _Parser:
    """Recursive descent over the tokens: OR, then AND, then one comparison."""

    def __init__(self, query: str, index_types: Mapping[str, str]) -> None:
        if len(query) > _LARGEST_QUERY:
            raise SearchQueryError(f"search query: longer than {_LARGEST_QUERY} characters")
        try:
            query.encode()
        except UnicodeEncodeError as error:
            unreadable = query[error.start : error.end]
            raise SearchQueryError(f"search query: cannot read {unreadable!r}") from None
        self._query = query
        self._index_types = index_types
        self._depth = 0
        self._comparisons = 0
        self._tokens: list[tuple[str, str]] = []
        self._next = 0
        position = 0
        while query[position:].strip():
            found = _TOKEN.match(query, position)
            if found is None:
                raise SearchQueryError(f"search query: cannot read {query[position:].strip()!r}")
            self._tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
            position = found.end()

    def any_of(self) -> SearchCondition:
        return self._joined("OR", self._all_of)

    def _all_of(self) -> SearchCondition:
        return self._joined("AND", self._single)

    def _joined(self, word: str, part: Callable[[], SearchCondition]) -> SearchCondition:
        parts = [part()]
        while self._take_word(word):
            parts.append(part())
        if len(parts) == 1:
            return parts[0]
        sql = f" {word} ".join(found.sql for found in parts)
        return SearchCondition(f"({sql})", tuple(p for found in parts for p in found.parameters))

    def _single(self) -> SearchCondition:
        if self._take_word("NOT"):
            inner = self._nested(self._single)
            return SearchCondition(f"(NOT {inner.sql})", inner.parameters)
        if self._take_symbol("("):
            inner = self._nested(self.any_of)
            self._expect_symbol(")")
            return inner
        return self._comparison()

    def _nested(self, part: Callable[[], SearchCondition]) -> SearchCondition:
        self._depth += 1
        if self._depth > _DEEPEST_NESTING:
            raise SearchQueryError(f"search query: nested more than {_DEEPEST_NESTING} deep")
        found = part()
        self._depth -= 1
        return found

    def _comparison(self) -> SearchCondition:
        self._comparisons += 1
        if self._comparisons > _MOST_COMPARISONS:
            raise SearchQueryError(f"search query: more than {_MOST_COMPARISONS} comparisons")
        kind, field = self._take()
        fields = ["ActiveStepTypes", *_COLUMNS, *self._index_types]
        if kind != "word" or field not in fields:
            known = ", ".join(fields)
            raise SearchQueryError(f"search query: unknown field {field!r}; known are {known}")
        if self._take_word("IN"):
            return self._membership(field)
        kind, operator = self._take()
        if kind != "symbol" or operator not in _COMPARISONS:
            known = " ".join([*_COMPARISONS, "IN"])
            raise SearchQueryError(
                f"search query: {operator!r} after {field} is not one of {known}"
            )
        value = self._value(field)
        if field in self._index_types:
            return _indexed(field, "=" if operator == "!=" else operator, (value,), operator)
        if field != "ActiveStepTypes":
            return SearchCondition(f"({_COLUMNS[field]} {operator} ?)", (value,))
        if operator not in ("=", "!="):
            raise SearchQueryError("search query: ActiveStepTypes can only be compared by = != IN")
        sql = _ACTIVE_STEP.format(comparison="= ?")
        return SearchCondition(sql if operator == "=" else f"(NOT {sql})", (value,))

    def _membership(self, field: str) -> SearchCondition:
        self._expect_symbol("(")
        values = [self._value(field)]
        while self._take_symbol(","):
            values.append(self._value(field))
        self._expect_symbol(")")
        marks = f"IN ({', '.join('?' * len(values))})"
        if field in self._index_types:
            return _indexed(field, marks, tuple(values), "IN")
        if field == "ActiveStepTypes":
            return SearchCondition(_ACTIVE_STEP.format(comparison=marks), tuple(values))
        return SearchCondition(f"({_COLUMNS[field]} {marks})", tuple(values))

    def _value(self, field: str) -> str | float:
        kind, text = self._take()
        index_type = self._index_types.get(field)
        if index_type == "bool" and text.lower().strip("\"'") in ("true", "false"):
            return float(text.lower().strip("\"'") == "true")
        if kind not in ("string", "number"):
            raise SearchQueryError(
                f"search query: {field} is compared with {text!r}, which is not a value in quotes"
            )
        text = re.sub(r"\\(.)", r"\1", text[1:-1]) if kind == "string" else text
        if field == "ExecutionStatus":
            return text.lower()
        if index_type in ("int", "double", "datetime"):
            return _seconds(field, text)
        return _seconds(field, text) if field in _TIMES else text

    def _take(self) -> tuple[str, str]:
        if self._next >= len(self._tokens):
            raise SearchQueryError(f"search query: {self._query!r} ends too early")
        self._next += 1
        return self._tokens[self._next - 1]

    def _take_word(self, word: str) -> bool:
        return self._take_if("word", word)

    def _take_symbol(self, symbol: str) -> bool:
        return self._take_if("symbol", symbol)

    def _take_if(self, kind: str, text: str) -> bool:
        if self._next >= len(self._tokens):
            return False
        found_kind, found = self._tokens[self._next]
        if found_kind != kind or found.upper() != text:
            return False
        self._next += 1
        return True

    def _expect_symbol(self, symbol: str) -> None:
        kind, text = self._take()
        if (kind, text) != ("symbol", symbol):
            raise SearchQueryError(f"search query: expected {symbol!r} before {text!r}")

    def expect_end(self) -> None:
        if self._next < len(self._tokens):
            text = self._tokens[self._next][1]
            raise SearchQueryError(f"search query: {text!r} follows a complete condition")


def _seconds(field: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise SearchQueryError(
            f"search query: {field} needs an ISO 8601 time or seconds since 1970, got {text!r}"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _indexed(
    field: str, comparison: str, values: tuple[str | float, ...], operator: str
) -> SearchCondition:
    """Compare an indexed Attribute; a run that has no such value does not match, not even `!=`."""
    if not comparison.startswith("IN"):
        comparison += " ?"
    found = "EXISTS (SELECT 1 FROM indexed i WHERE i.run = runs.run AND i.key = ?"
    equal = SearchCondition(f"({found} AND i.term {comparison}))", (field, *values))
    if operator != "!=":
        return equal
    return SearchCondition(f"({found}) AND NOT {equal.sql})", (field, *equal.parameters))
