# twin: generated from src/dex_agents/engine/embedded/requests.py by tools/twin; do not edit.
"""One piece of work for the engine's loop, and who waits for it."""

import sqlite3
from collections.abc import Callable
from typing import Generic, TypeVar

from dex_agents_sync._seam.scheduler import Ticket
from dex_agents.engine.core import EngineCore
from dex_agents.errors import EngineStorageError

T = TypeVar("T")


class Request(Generic[T]):
    """Work on the core, with a ticket when somebody waits for its answer.

    Work without a ticket is the engine's own (a call's result, an event): when the disk refuses
    the commit, it is done again later and nobody is told.
    """

    __slots__ = ("_error", "_value", "_work", "ticket")

    def __init__(self, work: Callable[[EngineCore], T], ticket: Ticket[T] | None = None) -> None:
        """Wrap the work."""
        self._work = work
        self.ticket = ticket
        self._value: T | None = None
        self._error: Exception | None = None

    def run(self, core: EngineCore) -> None:
        """Do the work and keep the outcome until it is durable."""
        self._value = None
        self._error = None
        try:
            self._value = self._work(core)
        except sqlite3.Error as error:
            self._error = EngineStorageError(f"cannot read the engine file: {error}")
        except Exception as error:  # answered to the caller, whose error it is
            self._error = error

    @property
    def own_error(self) -> Exception | None:
        """What the work of a request without a ticket raised; a fault of the engine."""
        return self._error if self.ticket is None else None

    def answer(self) -> None:
        """Answer with the outcome."""
        if self.ticket is None:
            return
        if self._error is None:
            self.ticket.set(self._value)  # type: ignore[arg-type]  # it is set
        else:
            self.ticket.fail(self._error)

    def refuse(self, error: BaseException) -> None:
        """Answer with an error instead of the outcome."""
        if self.ticket is not None:
            self.ticket.fail(error)
