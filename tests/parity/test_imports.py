# twin: shared
"""Importing costs only what is used: no extra, no SDK, and no other colour."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.parity.tree import (
    DOOR_NAMES,
    DOORS,
    MODULES,
    ROOT,
    SOURCE,
    TWIN,
    exported,
    required_extra,
    twin_name,
)
from tools.twin.layout import Colour

EXTRAS = {"litellm", "mcp", "opentelemetry", "httpx", "click", "rich", "flask", "quart"}
SDK = {"dex", "grpc"}
EVENT_LOOPS = {"anyio", "trio"}
# Whoever asks for one of these asks for the SDK.
SDK_NAMES = {
    "AgentSessionFlow",
    "DexConnection",
    "client_options",
    "serve",
    "stepwise_agent_session_flow",
    "worker_options",
}

COLOURED_MODULES = {
    module.name
    for module in MODULES
    if module.colour in (Colour.SOURCE, Colour.SEAM) and not module.is_door
}
PACKAGES = (SOURCE, TWIN) if DOORS else ()
OPTIONAL = tuple(door for door in DOORS if required_extra(door))

Step = tuple[str, str | None]


def probe(steps: list[Step], hidden: tuple[str, ...] = ()) -> list[tuple[set[str], str | None]]:
    """Take import steps in a new process; return what each loaded and why it failed."""
    request = json.dumps({"steps": steps, "hidden": hidden})
    script = Path(__file__).with_name("import_probe.py")
    output = subprocess.run(
        [sys.executable, str(script), request],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        check=True,
        capture_output=True,
        text=True,
        timeout=50,
    ).stdout
    return [(set(answer["loaded"]), answer["error"]) for answer in json.loads(output)]


def unwanted(package: str, loaded: set[str]) -> list[str]:
    """Return the modules that must not be loaded for a package."""
    tops = EXTRAS | SDK | (EVENT_LOOPS if package == TWIN else set())
    coloured = COLOURED_MODULES if package == TWIN else set()
    return sorted(
        module for module in loaded if module in coloured or module.partition(".")[0] in tops
    )


def doors_of(package: str) -> list[str]:
    return [name if package == SOURCE else twin_name(name) for name in DOOR_NAMES]


def complaints(package: str, steps: list[Step]) -> dict[str, list[str]]:
    """Return the unwanted modules by the step that loaded them."""
    answers = probe(steps)
    failures = [error for _, error in answers if error and "dex-agents[" not in error]
    assert failures == []
    return {
        f"{door}.{name}" if name else door: found
        for (door, name), (loaded, _) in zip(steps, answers, strict=True)
        if (found := unwanted(package, loaded))
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_the_doors_loads_no_extra_no_sdk_and_no_other_colour(package: str) -> None:
    steps: list[Step] = [(door, None) for door in doors_of(package)]
    assert complaints(package, steps) == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_asking_for_a_name_loads_no_extra_no_sdk_and_no_other_colour(package: str) -> None:
    steps: list[Step] = [
        (door, name)
        for door in doors_of(package)
        for name in exported(import_module(door))
        if name not in SDK_NAMES
    ]
    assert complaints(package, steps) == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_missing_extra_is_named_by_each_door_that_needs_one(package: str) -> None:
    # Not one test per door: a release without optional rooms has none, and must not skip.
    for door in OPTIONAL:
        needed, extra = required_extra(door) or ("", "")
        name = door.name if package == SOURCE else twin_name(door.name)
        steps: list[Step] = [(name, None)]
        steps += [(name, public) for public in exported(import_module(name))]
        (_, at_import), *at_names = probe(steps, hidden=(needed.partition(".")[0],))
        assert at_import is None
        wrong = [error for _, error in at_names if f"dex-agents[{extra}]" not in str(error)]
        assert wrong == []
