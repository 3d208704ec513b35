# twin: source
"""A spend limit that keeps its counters in a SQLite file."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TypeAlias, cast

from dex_agents._seam.callables import call_user_function, is_coloured_function
from dex_agents.model.state import AgentUsage
from dex_agents.spend.allowances import (
    SpendAllowance,
    SpendPeriod,
    SpendScope,
    SpendTotal,
    to_micros,
)
from dex_agents.spend.book import BookEntry, SpendBook
from dex_agents.spend.values import ModelSpendDecision, ModelSpendReport, ModelSpendRequest

PriceFunction: TypeAlias = Callable[[AgentUsage, str | None], Decimal]
UserKeyFunction: TypeAlias = Callable[[ModelSpendRequest], str | None]


class SqliteModelSpendLimit:
    """Limit tokens and money per session, user and day, for all processes that name one file.

    An allowance is refused to a call whose estimate does not fit into what is left of it, with
    what other calls have reserved taken off. So it is passed by no more than the calls in flight
    use beyond their estimates. A call that was cut off by a crash counts with its estimate.
    """

    def __init__(
        self,
        path: str | Path,
        allowances: Sequence[SpendAllowance] = (),
        *,
        price: PriceFunction | None = None,
        user_key: UserKeyFunction | None = None,
    ) -> None:
        """Create the limit; the file is opened with the first call.

        Args:
            path: The SQLite file, not the engine's own; `":memory:"` for this object alone.
            allowances: What may be spent; without any, spending is only counted.
            price: Returns what a usage costs, given the model's name where it is known. A plain
                function that asks nobody.
            user_key: Returns whose call it is, such as from the session ID; `None` for nobody's. A
                plain function that asks nobody.

        Raises:
            TypeError: An argument has the wrong type.
            ValueError: An allowance limits money, or a user, and there is no function for it.
        """
        checked = _checked_allowances(allowances)
        for name, function in (("price", price), ("user_key", user_key)):
            if function is not None and (not callable(function) or is_coloured_function(function)):
                raise TypeError(f"SqliteModelSpendLimit: {name} must be a plain function")
        if price is None and any(allowance.max_money is not None for allowance in checked):
            raise ValueError("an allowance has max_money; give SqliteModelSpendLimit a price=")
        if user_key is None and any(a.scope is SpendScope.USER for a in checked):
            raise ValueError("an allowance is for users; give SqliteModelSpendLimit a user_key=")
        self._price = price
        self._user_key = user_key
        self._book = SpendBook(path, checked)

    async def reserve_model_call(self, request: ModelSpendRequest, /) -> ModelSpendDecision:
        """Reserve the estimate, or refuse the call."""
        entry = self._entry(request, request.estimate, request.model)
        refusal = cast("str | None", await call_user_function(partial(self._book.reserve, entry)))
        return ModelSpendDecision(refusal=refusal)

    async def report_model_call(self, report: ModelSpendReport, /) -> None:
        """Count what the call used instead of its estimate."""
        model = report.model or report.request.model
        entry = self._entry(report.request, report.usage or AgentUsage(), model)
        await call_user_function(partial(self._book.settle, entry, has_failed=report.has_failed))

    async def total(
        self,
        scope: SpendScope,
        owner: str = "",
        *,
        period: SpendPeriod = SpendPeriod.DAY,
        day: date | None = None,
    ) -> SpendTotal:
        """Return what was spent.

        Args:
            scope: Whose spending.
            owner: The session ID or the user's key; not used for all together.
            period: On one day, or ever.
            day: Which day of UTC; `None` means today.
        """
        when = None
        if period is SpendPeriod.DAY:
            when = (day or datetime.now(UTC).date()).isoformat()
        found = await call_user_function(
            partial(self._book.total, scope, "" if scope is SpendScope.ALL else owner, when)
        )
        return cast("SpendTotal", found)

    def close(self) -> None:
        """Close the file; another call opens it again."""
        self._book.close()

    def _entry(self, request: ModelSpendRequest, usage: AgentUsage, model: str | None) -> BookEntry:
        price, user_key = self._price, self._user_key
        return BookEntry(
            key=request.key,
            session=request.flow_id,
            user=None if user_key is None else user_key(request),
            at=request.requested_at,
            tokens=usage.input_tokens + usage.output_tokens,
            micros=0 if price is None else to_micros(price(usage, model)),
        )


def _checked_allowances(allowances: object) -> tuple[SpendAllowance, ...]:
    if not isinstance(allowances, Sequence) or isinstance(allowances, str):
        raise TypeError("allowances must be a list of SpendAllowance")
    values = tuple(cast("Sequence[object]", allowances))
    for value in values:
        if not isinstance(value, SpendAllowance):
            raise TypeError(f"expected a SpendAllowance, not {type(value).__name__}")
    return cast("tuple[SpendAllowance, ...]", values)
