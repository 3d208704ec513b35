# twin: generated from src/dex_agents/testing/__init__.py by tools/twin; do not edit.
"""The testing kit: gates, ledgers, waits, histories, a recorder for one Step, and store cuts.

`AgentTestStack` adds an engine of its own with Worker processes that a test can kill.
"""

from typing import TYPE_CHECKING

from dex_agents._door import lazy_door

if TYPE_CHECKING:
    from dex_agents_sync._seam.worker_main import run_agent_worker as run_agent_worker
    from dex_agents.engine.clock import VirtualClock as VirtualClock
    from dex_agents.engine.store.cut import StoreCut as StoreCut
    from dex_agents_sync.stepwise.scripted import ScriptedModelClient as ScriptedModelClient
    from dex_agents.stepwise.scripted_reply import ScriptedModelReply as ScriptedModelReply
    from dex_agents.stepwise.scripted_reply import ScriptedToolCall as ScriptedToolCall
    from dex_agents.testing.blocking import InvocationLog as InvocationLog
    from dex_agents_sync.testing.gates import FileGate as FileGate
    from dex_agents.testing.history_values import EXECUTE_COMPLETED_EVENT as EXECUTE_COMPLETED_EVENT
    from dex_agents.testing.history_values import EXECUTE_FAILED_EVENT as EXECUTE_FAILED_EVENT
    from dex_agents.testing.history_values import (
        WAIT_FOR_COMPLETED_EVENT as WAIT_FOR_COMPLETED_EVENT,
    )
    from dex_agents.testing.history_values import WAIT_FOR_FAILED_EVENT as WAIT_FOR_FAILED_EVENT
    from dex_agents.testing.history_values import StepHistoryEntry as StepHistoryEntry
    from dex_agents_sync.testing.recorder import RecordedStep as RecordedStep
    from dex_agents_sync.testing.recorder import StepRecorder as StepRecorder
    from dex_agents_sync.testing.stack import AgentTestStack as AgentTestStack
    from dex_agents_sync.testing.stack import AgentWorker as AgentWorker
    from dex_agents_sync.testing.step_history import read_step_history as read_step_history
    from dex_agents.testing.store_cut import CommitCounter as CommitCounter
    from dex_agents_sync.testing.waiting import wait_for_agent_snapshot as wait_for_agent_snapshot
    from dex_agents_sync.testing.waiting import wait_until as wait_until

__all__ = [
    "EXECUTE_COMPLETED_EVENT",
    "EXECUTE_FAILED_EVENT",
    "WAIT_FOR_COMPLETED_EVENT",
    "WAIT_FOR_FAILED_EVENT",
    "AgentTestStack",
    "AgentWorker",
    "CommitCounter",
    "FileGate",
    "InvocationLog",
    "RecordedStep",
    "ScriptedModelClient",
    "ScriptedModelReply",
    "ScriptedToolCall",
    "StepHistoryEntry",
    "StepRecorder",
    "StoreCut",
    "VirtualClock",
    "read_step_history",
    "run_agent_worker",
    "wait_for_agent_snapshot",
    "wait_until",
]

_MODULES = {
    "AgentTestStack": "dex_agents_sync.testing.stack",
    "AgentWorker": "dex_agents_sync.testing.stack",
    "CommitCounter": "dex_agents.testing.store_cut",
    "EXECUTE_COMPLETED_EVENT": "dex_agents.testing.history_values",
    "EXECUTE_FAILED_EVENT": "dex_agents.testing.history_values",
    "FileGate": "dex_agents_sync.testing.gates",
    "InvocationLog": "dex_agents.testing.blocking",
    "RecordedStep": "dex_agents_sync.testing.recorder",
    "ScriptedModelClient": "dex_agents_sync.stepwise.scripted",
    "ScriptedModelReply": "dex_agents.stepwise.scripted_reply",
    "ScriptedToolCall": "dex_agents.stepwise.scripted_reply",
    "StepHistoryEntry": "dex_agents.testing.history_values",
    "StepRecorder": "dex_agents_sync.testing.recorder",
    "StoreCut": "dex_agents.engine.store.cut",
    "VirtualClock": "dex_agents.engine.clock",
    "WAIT_FOR_COMPLETED_EVENT": "dex_agents.testing.history_values",
    "WAIT_FOR_FAILED_EVENT": "dex_agents.testing.history_values",
    "read_step_history": "dex_agents_sync.testing.step_history",
    "run_agent_worker": "dex_agents_sync._seam.worker_main",
    "wait_for_agent_snapshot": "dex_agents_sync.testing.waiting",
    "wait_until": "dex_agents_sync.testing.waiting",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_door(__name__, _MODULES)
