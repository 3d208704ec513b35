# twin: generated from tests/aio/player.py by tools/twin; do not edit.
"""Plays actions on one session of the embedded engine, and checks what must always hold."""

import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from dex_agents_sync._seam.concurrency import sleep
from dex_agents.engine.clock import VirtualClock
from dex_agents_sync.engine.embedded.runtime import EmbeddedEngine
from dex_agents.errors import EngineStoppedError
from dex_agents.model.messages import AgentMessage
from dex_agents.model.requests import AgentSnapshot
from dex_agents.model.tool_calls import ToolEffect
from dex_agents_sync.session.agent_session import AgentSession
from dex_agents_sync.session.client import AgentSessionClient
from dex_agents_sync.stepwise import (
    ModelOutputItem,
    ModelRequest,
    ScriptedModelClient,
    ScriptedModelReply,
    ScriptedToolCall,
    ToolResultItem,
)
from dex_agents.testing.store_cut import CommitCounter
from tests.actions import MESSAGES, Action
from tests.sync.support import ToolBench, build_session
from tests.invariants import check_session, check_turns

SESSION_ID = "s-1"
_SINGLE_ATTEMPT_TOOLS = ("pay", "burn")
# So many rounds of "answer all, let time pass" end every conversation that is not stuck.
_MOST_ROUNDS = 60


class Player:
    """One session, the file it lives in, and all that was done to it."""

    def __init__(self, folder: Path) -> None:
        """Make the player of a session that is not started yet."""
        self.bench = ToolBench(folder)
        self.clock = VirtualClock()
        self.sent: list[str] = []
        self.broken_requests: list[str] = []
        self._path = folder / "agents.db"
        self._engine: EmbeddedEngine | None = None
        self._sessions: AgentSessionClient | None = None
        self._counter = CommitCounter()

    def play(self, actions: Sequence[Action]) -> AgentSnapshot:
        """Do all actions, bring the session to rest, check it, and return what it came to."""
        try:
            self._open()
            for action in actions:
                self._act(action)
            snapshot = self._come_to_rest()
            messages = self._all_messages()
        finally:
            self._close()
        self._check(snapshot, messages)
        return snapshot

    def _act(self, action: Action) -> None:
        step = getattr(self, f"_do_{action.name}")
        try:
            step(action.number)
        except EngineStoppedError:
            # Whether it took effect is not known, as for any caller of a process that dies.
            self._reopen()

    # --- what a person does

    def _do_send(self, number: int) -> None:
        text = f"m{len(self.sent)} {MESSAGES[number % len(MESSAGES)]}"
        self.sent.append(text)
        assert self._client.send_user_message(SESSION_ID, text)

    def _do_approve(self, number: int) -> None:
        self._decide(number, approved=True)

    def _do_reject(self, number: int) -> None:
        self._decide(number, approved=False)

    def _do_stale(self, number: int) -> None:
        taken = self._client.resolve_interrupt(SESSION_ID, f"no-{number}", approved=True)
        assert not taken

    def _decide(self, number: int, *, approved: bool) -> None:
        pending = (self._client.get_agent_snapshot(SESSION_ID)).pending_interrupts
        if pending:
            interrupt_id = pending[number % len(pending)].interrupt_id
            self._client.resolve_interrupt(SESSION_ID, interrupt_id, approved=approved)

    # --- what happens around them

    def _do_settle(self, number: int) -> None:
        self._settle()

    def _do_breathe(self, number: int) -> None:
        for _ in range(number):
            sleep(0)

    def _do_jump(self, number: int) -> None:
        self.clock.advance(timedelta(seconds=20 * number))

    def _do_die_before(self, number: int) -> None:
        self._counter.before = self._counter.commits + 1 + number

    def _do_die_after(self, number: int) -> None:
        self._counter.after = self._counter.commits + 1 + number

    def _do_restart(self, number: int) -> None:
        self._reopen()

    # --- the engine

    @property
    def _client(self) -> AgentSessionClient:
        assert self._sessions is not None
        return self._sessions

    def _open(self) -> None:
        self._counter = CommitCounter()
        self._engine = EmbeddedEngine(self._path, clock=self.clock)
        self._engine.on_commit = self._counter
        self._engine.start()
        self._sessions = self._engine.serve(self._session())
        self._sessions.start_session(SESSION_ID, request_id="start")

    def _close(self) -> None:
        if self._engine is not None:
            engine, self._engine = self._engine, None
            engine.close(drain_seconds=0)

    def _reopen(self) -> None:
        self._close()
        self._open()

    def _session(self) -> AgentSession:
        tools = [
            self.bench.tool("look", ToolEffect.READ),
            self.bench.tool("save", ToolEffect.IDEMPOTENT_WRITE, requires_approval=False),
            self.bench.tool("pay", ToolEffect.NON_IDEMPOTENT_WRITE),
            self.bench.tool("burn", ToolEffect.NON_IDEMPOTENT_WRITE, requires_approval=False),
        ]
        return build_session(self._respond, tools, interrupt_deadline=timedelta(minutes=2))

    def _respond(self, request: ModelRequest) -> ScriptedModelReply:
        """Call what the latest user text asks for, once; I4 is checked on the way."""
        items = request.input_items
        calls = [item.tool_call_id for item in items if isinstance(item, ModelOutputItem)]
        results = [item.tool_call_id for item in items if isinstance(item, ToolResultItem)]
        if [call for call in calls if call] != results:
            self.broken_requests.append(f"calls {calls}, results {results}")
        text = ScriptedModelClient.user_texts(request)[-1]
        if ScriptedModelClient.tool_results(request):
            return ScriptedModelReply(text=f"done {text.split()[0]}")
        words = [word[1:] for word in text.split() if word.startswith("!")]
        return ScriptedModelReply(
            text=f"on it: {text.split()[0]}", tool_calls=[ScriptedToolCall(word) for word in words]
        )

    # --- the end

    def _settle(self) -> AgentSnapshot:
        """Wait until nothing moves any more: the same snapshot three times in a row."""
        seen: list[str] = []
        while True:
            snapshot = self._client.get_agent_snapshot(SESSION_ID)
            seen.append(snapshot.to_text())
            if len(seen) >= 3 and len(set(seen[-3:])) == 1:
                return snapshot
            sleep(0.002)

    def _come_to_rest(self) -> AgentSnapshot:
        """Answer everything and let time pass until the session waits for a message."""
        for _ in range(_MOST_ROUNDS):
            try:
                snapshot = self._settle()
                if _is_at_rest(snapshot):
                    return snapshot
                self._do_approve(0)
                if not snapshot.pending_interrupts:
                    self.clock.advance(timedelta(minutes=1))
            except EngineStoppedError:
                self._reopen()
        raise AssertionError(f"the session never came to rest: {snapshot}")

    def _all_messages(self) -> list[AgentMessage]:
        messages: list[AgentMessage] = []
        before: int | None = None
        while True:
            page = self._client.list_agent_messages(
                SESSION_ID, before_sequence=before, limit=200
            )
            messages[:0] = page.messages
            before = page.next_before_sequence
            if before is None:
                return messages

    def _check(self, snapshot: AgentSnapshot, messages: list[AgentMessage]) -> None:
        check_session(snapshot, self.bench.ledger, _SINGLE_ATTEMPT_TOOLS)
        check_turns(messages, self.sent)
        assert [m.sequence for m in messages] == list(range(1, len(messages) + 1))
        assert not self.broken_requests
        assert snapshot.state is not None
        assert snapshot.state.last_turn_error is None or "attempt 3" in (
            snapshot.state.last_turn_error
        )


def _is_at_rest(snapshot: AgentSnapshot) -> bool:
    state = snapshot.state
    return state is not None and state.active_turn_id is None and not snapshot.queued_message_count


def play(actions: Sequence[Action]) -> AgentSnapshot:
    """Play actions in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        return Player(Path(folder)).play(actions)
