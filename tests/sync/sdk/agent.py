# twin: generated from tests/aio/sdk/agent.py by tools/twin; do not edit.
"""The agent of the stack tests: its Workers build it from their environment."""

import os
from pathlib import Path

from dex_agents_sync._seam.worker_main import run_agent_worker
from dex_agents_sync.sdk.flow import AgentSessionFlow
from tests.sync.child import TOOLS, GatedModel, respond
from tests.sync.support import ToolBench, build_session

STATE_FOLDER = "DEX_AGENTS_TEST_STATE"
FLOW_TYPE = "DEX_AGENTS_TEST_FLOW_TYPE"


def build_flow(folder: Path, flow_type: str = "TestAgent") -> AgentSessionFlow:
    """Return the kill tests' agent, whose tools stop at gates in a folder."""
    bench = ToolBench(folder)
    tools = [
        bench.tool(name, effect, waits=True, requires_approval=name == "pay")
        for name, effect in TOOLS.items()
    ]
    session = build_session(respond, tools, model=GatedModel(bench), flow_type=flow_type)
    return AgentSessionFlow.of(session)


def main() -> None:
    """Serve the agent."""
    folder, flow_type = Path(os.environ[STATE_FOLDER]), os.environ[FLOW_TYPE]
    run_agent_worker([build_flow(folder, flow_type)])
