# twin: shared
"""How much may be spent, by whom and in what time; and what has been spent."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Final

MICROS: Final = 1_000_000
"""Money is counted in whole millionths of its unit, so that sums are exact."""


class SpendScope(StrEnum):
    """Whose spending is added up."""

    SESSION = "session"
    USER = "user"
    ALL = "all"


class SpendPeriod(StrEnum):
    """In what time it is added up; a day is one of UTC."""

    DAY = "day"
    EVER = "ever"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendAllowance:
    """The most that may be spent by one session, one user, or all together.

    Attributes:
        scope: Whose spending is added up.
        period: In what time.
        max_tokens: Input and output tokens together; `None` for no such limit.
        max_money: In the unit of the price function; `None` for no such limit.
    """

    scope: SpendScope
    period: SpendPeriod = SpendPeriod.DAY
    max_tokens: int | None = None
    max_money: Decimal | None = None

    def __post_init__(self) -> None:
        """Refuse an allowance that says nothing or nothing sensible.

        Raises:
            TypeError: A limit has the wrong type; money must be a `Decimal`, never a float.
            ValueError: There is no limit, or one is negative.
        """
        object.__setattr__(self, "scope", SpendScope(self.scope))
        object.__setattr__(self, "period", SpendPeriod(self.period))
        tokens, money = self.max_tokens, self.max_money
        if tokens is None and money is None:
            raise ValueError("SpendAllowance needs max_tokens, max_money or both")
        if tokens is not None and type(tokens) is not int:
            raise TypeError(f"max_tokens must be an int, not {type(tokens).__name__}")
        _check_money(money, "max_money")
        if (tokens is not None and tokens < 0) or (money is not None and money < 0):
            raise ValueError("SpendAllowance: a limit must not be negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendTotal:
    """What has been spent.

    Attributes:
        calls: The calls that were reported with their usage.
        tokens: Their input and output tokens.
        money: Their price.
        open_calls: The calls that run, or were cut off and never reported.
        reserved_tokens: What those were estimated at.
        reserved_money: The price of that.
    """

    calls: int = 0
    tokens: int = 0
    money: Decimal = Decimal(0)
    open_calls: int = 0
    reserved_tokens: int = 0
    reserved_money: Decimal = Decimal(0)


def to_micros(money: object) -> int:
    """Return an amount in whole millionths, rounded up.

    Raises:
        TypeError: It is no `Decimal`.
        ValueError: It is negative, infinite or not a number.
    """
    if not isinstance(money, Decimal):
        raise TypeError(f"a price must be a Decimal, not {type(money).__name__}")
    if not money.is_finite() or money < 0:
        raise ValueError(f"a price must be a number that is not negative, not {money}")
    return int((money * MICROS).to_integral_value(ROUND_CEILING))


def from_micros(micros: int) -> Decimal:
    """Return an amount of whole millionths as money."""
    return Decimal(micros) / MICROS


def _check_money(money: object, name: str) -> None:
    if money is not None and (not isinstance(money, Decimal) or not money.is_finite()):
        raise TypeError(f"{name} must be a finite Decimal, not {type(money).__name__}")
