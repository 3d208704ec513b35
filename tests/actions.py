# twin: shared
"""Random actions on a session: how they are drawn, and the script that repeats a failure."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st

EXAMPLES: Final = int(os.environ.get("DEX_AGENTS_ACTION_EXAMPLES", "25"))
"""How many random conversations a run plays; `make torture` asks for more."""

MESSAGES: Final = (
    "hello",
    "!look",
    "!pay",
    "!look !save !pay",
    "!burn !pay",
    "!pay !pay !save",
)
"""What a user may say: each `!word` makes the scripted model call a tool."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that happens to a session.

    Attributes:
        name: What: a method of the player.
        number: Which message, interrupt, commit or length of time; meaning and range are the
            action's own.
    """

    name: str
    number: int = 0


# The more often an action is listed, the more often it is drawn.
_NAMES: Final = (
    *("send",) * 4,
    *("approve",) * 3,
    "reject",
    "stale",
    *("settle",) * 5,
    *("breathe",) * 3,
    *("die_before", "die_after"),
    "restart",
    "jump",
)

ACTIONS: Final = st.lists(
    st.builds(Action, st.sampled_from(_NAMES), st.integers(0, 7)), min_size=3, max_size=25
)


def replay_script(actions: Sequence[Action], module: str) -> str:
    """Return a script that plays the same actions again.

    Args:
        actions: What was played.
        module: The module of the player, in the colour that failed.
    """
    lines = [f"    Action({action.name!r}, {action.number})," for action in actions]
    is_async = ".aio." in module
    return "\n".join(
        [
            "# Plays the conversation again: save it as replay.py beside pyproject.toml.",
            *(["import anyio"] if is_async else []),
            "from tests.actions import Action",
            f"from {module} import play",
            "",
            "actions = [",
            *lines,
            "]",
            "anyio.run(play, actions)" if is_async else "play(actions)",
        ]
    )
