# twin: shared
"""What must hold at the end of every test of a session: I1 to I5 of the test cases."""

import json
from collections import Counter
from collections.abc import Iterable

from dex_agents.model.messages import AgentMessage, MessageRole
from dex_agents.model.requests import AgentSnapshot
from dex_agents.testing.blocking import InvocationLog


def check_pairs(messages: Iterable[AgentMessage]) -> None:
    """I1: every stored tool call has exactly one stored result, after it, and the reverse."""
    open_calls: set[tuple[str, str]] = set()
    done: set[tuple[str, str]] = set()
    for message in messages:
        if message.tool_call_id is None:
            continue
        key = (message.turn_id, message.tool_call_id)
        if message.role is MessageRole.TOOL:
            assert key in open_calls, f"a result without its call: {key}"
            open_calls.remove(key)
            done.add(key)
        else:
            assert key not in open_calls | done, f"a call stored twice: {key}"
            open_calls.add(key)
    assert not open_calls, f"calls without a result: {open_calls}"


def check_ledger(ledger: InvocationLog, single_attempt_tools: Iterable[str]) -> None:
    """I2: no single-attempt tool ran twice for one call."""
    for name in single_attempt_tools:
        counts = Counter(entry["key"] for entry in ledger.entries(name))
        repeated = {key: n for key, n in counts.items() if n > 1}
        assert not repeated, f"{name} ran more than once: {repeated}"


def check_turns(messages: Iterable[AgentMessage], sent: Iterable[str]) -> None:
    """I3: each user message starts at most one turn."""
    counts = Counter(
        m.text for m in messages if m.role is MessageRole.USER and not m.text.startswith("[Dex]")
    )
    for text, n in Counter(sent).items():
        assert counts[text] <= n, f"message {text!r} was stored {counts[text]} times"


def check_interrupts(snapshot: AgentSnapshot) -> None:
    """I5: no pending interrupt belongs to a finished turn."""
    active = None if snapshot.state is None else snapshot.state.active_turn_id
    for interrupt in snapshot.pending_interrupts:
        assert interrupt.turn_id == active, f"interrupt {interrupt.interrupt_id} outlived its turn"


def check_session(
    snapshot: AgentSnapshot, ledger: InvocationLog, single_attempt_tools: Iterable[str] = ()
) -> None:
    """Check all of the above on a session that waits for a message."""
    check_pairs(snapshot.messages)
    check_ledger(ledger, single_attempt_tools)
    check_interrupts(snapshot)


def event_types(events: Iterable[str]) -> list[str]:
    """Return the types of event texts."""
    return [json.loads(event)["type"] for event in events]
