# twin: generated from src/dex_agents/spend/__init__.py by tools/twin; do not edit.
"""Spend limits: a session asks before each model call, and reports what the call used."""

from typing import TYPE_CHECKING

from dex_agents._door import lazy_door

if TYPE_CHECKING:
    from dex_agents.spend.allowances import SpendAllowance as SpendAllowance
    from dex_agents.spend.allowances import SpendPeriod as SpendPeriod
    from dex_agents.spend.allowances import SpendScope as SpendScope
    from dex_agents.spend.allowances import SpendTotal as SpendTotal
    from dex_agents_sync.spend.limit import ModelSpendLimit as ModelSpendLimit
    from dex_agents_sync.spend.sqlite import SqliteModelSpendLimit as SqliteModelSpendLimit
    from dex_agents.spend.values import ModelCallKind as ModelCallKind
    from dex_agents.spend.values import ModelSpendDecision as ModelSpendDecision
    from dex_agents.spend.values import ModelSpendReport as ModelSpendReport
    from dex_agents.spend.values import ModelSpendRequest as ModelSpendRequest

__all__ = [
    "ModelCallKind",
    "ModelSpendDecision",
    "ModelSpendLimit",
    "ModelSpendReport",
    "ModelSpendRequest",
    "SpendAllowance",
    "SpendPeriod",
    "SpendScope",
    "SpendTotal",
    "SqliteModelSpendLimit",
]

_MODULES = {
    "ModelCallKind": "dex_agents.spend.values",
    "ModelSpendDecision": "dex_agents.spend.values",
    "ModelSpendLimit": "dex_agents_sync.spend.limit",
    "ModelSpendReport": "dex_agents.spend.values",
    "ModelSpendRequest": "dex_agents.spend.values",
    "SpendAllowance": "dex_agents.spend.allowances",
    "SpendPeriod": "dex_agents.spend.allowances",
    "SpendScope": "dex_agents.spend.allowances",
    "SpendTotal": "dex_agents.spend.allowances",
    "SqliteModelSpendLimit": "dex_agents_sync.spend.sqlite",
}

__getattr__, __dir__ = lazy_door(__name__, _MODULES)
