# twin: sync-only
"""The session's promises, unchanged, on the SDK's threaded Worker and a local engine."""

import pytest

from tests.sdk_mounts.promises import promises_of
from tests.sdk_mounts.sync_mount import MountedEngine
from tests.sync.promises import (
    test_approvals,
    test_chat_turn,
    test_long_sessions,
    test_model_failures,
    test_parallel_tools,
    test_search,
    test_tool_failures,
)
from tests.sync.ui_stream import test_events, test_snapshot

MODULES = [
    test_approvals,
    test_chat_turn,
    test_events,
    test_long_sessions,
    test_model_failures,
    test_parallel_tools,
    test_search,
    test_snapshot,
    test_tool_failures,
]


@pytest.fixture(autouse=True)
def _mount(real_sdk: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in MODULES:
        monkeypatch.setattr(module, "EmbeddedEngine", MountedEngine)


globals().update(promises_of(MODULES))
