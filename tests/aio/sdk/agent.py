# twin: source
"""The agent of the stack tests: its Workers build it from their environment."""

import os
from pathlib import Path

from dex_agents._seam.worker_main import run_agent_worker
from dex_agents.sdk.flow import AgentSessionFlow
from tests.aio.child import TOOLS, GatedModel, respond
from tests.aio.support import ToolBench, build_session

STATE_FOLDER = "DEX_AGENTS_TEST_STATE"


def build_flow(folder: Path) -> AgentSessionFlow:
    """Return the kill tests' agent, whose tools stop at gates in a folder."""
    bench = ToolBench(folder)
    tools = [
        bench.tool(name, effect, waits=True, requires_approval=name == "pay")
        for name, effect in TOOLS.items()
    ]
    return AgentSessionFlow.of(build_session(respond, tools, model=GatedModel(bench)))


def main() -> None:
    """Serve the agent."""
    run_agent_worker([build_flow(Path(os.environ[STATE_FOLDER]))])
