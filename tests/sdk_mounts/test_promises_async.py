# twin: async-only
"""The session's promises, unchanged, on the SDK's AsyncWorker and a local engine."""

import pytest

from tests.aio.promises import (
    test_approvals,
    test_chat_turn,
    test_long_sessions,
    test_model_failures,
    test_parallel_tools,
    test_search,
    test_tool_failures,
)
from tests.aio.ui_stream import test_events, test_snapshot
from tests.sdk_mounts.async_mount import MountedEngine
from tests.sdk_mounts.promises import promises_of

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
