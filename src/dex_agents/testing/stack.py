# twin: source
"""A private engine, Worker processes and a client, for integration tests."""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from dex_agents._seam.concurrency import sleep
from dex_agents.engine.local import LocalEngine
from dex_agents.session.client import AgentSessionClient
from dex_agents.testing.history_values import StepHistoryEntry
from dex_agents.testing.step_history import read_step_history
from dex_agents.testing.worker_process import WorkerProcess

if TYPE_CHECKING:
    import dex

    from dex_agents.sdk.connection import DexConnection
    from dex_agents.sdk.flow import AgentSessionFlow

SERVER_VARIABLE: Final = "DEX_AGENTS_SERVER"
"""With it in the environment, tests run against the engine at that address."""

_POLL_SECONDS: Final = 0.01
_START_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 40.0


class AgentWorker(WorkerProcess):
    """A Worker child that `AgentTestStack.start_worker` has started."""

    async def stop(self, timeout_seconds: float = _STOP_SECONDS) -> None:
        """Let it finish its running calls, and wait until it has ended.

        Raises:
            TimeoutError: It did not end in time.
        """
        self.terminate()
        give_up_at = time.monotonic() + timeout_seconds
        while self.is_running:
            if time.monotonic() > give_up_at:
                raise TimeoutError(f"{self.module} did not stop; it printed: {self.printed()}")
            await sleep(_POLL_SECONDS)


class AgentTestStack:
    """An engine of the test's own, its Workers, and a client of its sessions.

    The engine keeps its file in the test's folder. Workers are child processes, so that a test
    can kill one at an exact point; the test process itself runs no Step.
    """

    def __init__(
        self,
        folder: str | Path,
        flows: "Sequence[dex.Flow[Any]]",
        worker_module: str,
        *,
        worker_cwd: str | Path | None = None,
        worker_env: Mapping[str, str] | None = None,
        dispatch_wait: float = 10.0,
        server_address: str | None = None,
    ) -> None:
        """Describe a stack; nothing runs before it is entered.

        Args:
            folder: The test's own folder, for the engine's file and the Workers' output.
            flows: The Flows that the test talks to.
            worker_module: Calls `run_agent_worker` with the same Flows.
            worker_cwd: Where Workers run; the current folder unless given.
            worker_env: What a Worker's environment has besides this process's.
            dispatch_wait: How long, in seconds, the engine waits for a Worker to take a call
                before that counts as a failed attempt.
            server_address: An engine that runs already, as `host:port`, instead of a private one;
                by default what the environment says in `DEX_AGENTS_SERVER`, if anything.
        """
        self._folder = Path(folder)
        self._flows = tuple(flows)
        self._worker_module = worker_module
        self._worker_cwd = worker_cwd
        self._worker_env = dict(worker_env or {})
        self._address = server_address or os.environ.get(SERVER_VARIABLE)
        self._dispatch_wait = dispatch_wait
        self._engine: LocalEngine | None = None
        self._connection: DexConnection | None = None
        self._workers: list[AgentWorker] = []

    async def __aenter__(self) -> Self:
        """Start the engine and open the client."""
        # The SDK takes time to load.
        from dex_agents.sdk.connection import DexConnection

        if self._address is None:
            self._engine = LocalEngine(
                self._folder / "agents.db", dispatch_wait=self._dispatch_wait
            )
            await self._engine.start()
            self._address = self._engine.address
        connection = DexConnection(self._flows, server_address=self._address)
        self._connection = await connection.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kill the Workers, close the client and stop the engine."""
        for worker in self._workers:
            worker.kill()
        try:
            if self._connection is not None:
                await self._connection.close()
        finally:
            if self._engine is not None:
                await self._engine.close()

    @property
    def server_address(self) -> str:
        """Return the engine's address, as `host:port`.

        Raises:
            RuntimeError: The stack was not entered.
        """
        return self._open.server_address

    @property
    def engine(self) -> LocalEngine:
        """Return the private engine.

        Raises:
            RuntimeError: The stack was not entered, or runs against another engine.
        """
        if self._engine is None:
            raise RuntimeError("this stack has no engine of its own")
        return self._engine

    async def start_worker(
        self, module: str | None = None, *, env: Mapping[str, str] | None = None
    ) -> AgentWorker:
        """Start a Worker, and return it once the engine has accepted it.

        Args:
            module: What it runs instead of the stack's `worker_module`, such as the Worker of
                the other package.
            env: What its environment has besides the stack's `worker_env`.

        Raises:
            RuntimeError: It ended, or was not accepted in time; the text holds what it printed.
        """
        worker = AgentWorker(
            module or self._worker_module,
            server_address=self.server_address,
            folder=self._folder,
            cwd=self._worker_cwd,
            env={**self._worker_env, **(env or {})},
        )
        self._workers.append(worker)
        give_up_at = time.monotonic() + _START_SECONDS
        while not worker.is_ready:
            if not worker.is_running or time.monotonic() > give_up_at:
                worker.kill()
                raise RuntimeError(f"{worker.module} did not start; it printed: {worker.printed()}")
            await sleep(_POLL_SECONDS)
        return worker

    def sessions(self, flow: "AgentSessionFlow") -> AgentSessionClient:
        """Return the client of one agent's sessions; `flow` is one of the stack's Flows."""
        return self._open.sessions(flow)

    async def read_step_history(self, session_id: str) -> list[StepHistoryEntry]:
        """Return the finished Step methods of a session, oldest first.

        Raises:
            dex.FlowNotFoundError: There is no such session.
        """
        return await read_step_history(self.server_address, session_id)

    @property
    def _open(self) -> "DexConnection":
        if self._connection is None:
            raise RuntimeError("the stack is not running; use it as a context manager")
        return self._connection
