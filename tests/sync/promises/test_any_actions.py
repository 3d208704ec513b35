# twin: generated from tests/aio/promises/test_any_actions.py by tools/twin; do not edit.
"""Any order of what people do, with deaths of the engine in between, keeps every promise."""

import pytest
from hypothesis import HealthCheck, given, note, settings

from tests.actions import ACTIONS, EXAMPLES, Action, replay_script
from tests.sync import player


# Deaths and clocks are the same on trio, which runs every scripted test of these promises.
@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(ACTIONS)
def test_any_actions_keep_every_promise(anyio_backend: str, actions: list[Action]) -> None:
    note(replay_script(actions, player.__name__))
    player.play(actions)
