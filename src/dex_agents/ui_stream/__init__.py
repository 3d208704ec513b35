# twin: source
"""Browser streams: a snapshot to render, and Server-Sent Events that go on from it.

A page loads the snapshot, opens the event stream with its resume token, and loads the snapshot
again whenever a turn has ended. Nothing here needs a web framework. Authorize every route: session
IDs and resume tokens come from the browser.
"""

from typing import TYPE_CHECKING

from dex_agents._door import lazy_door

if TYPE_CHECKING:
    from dex_agents._seam.ui_aliases import (
        read_agent_event_stream_snapshot_sync as read_agent_event_stream_snapshot_sync,
    )
    from dex_agents._seam.ui_aliases import (
        stream_agent_event_frames_sync as stream_agent_event_frames_sync,
    )
    from dex_agents.errors import (
        InvalidAgentEventResumeTokenError as InvalidAgentEventResumeTokenError,
    )
    from dex_agents.ui_stream.browser import AgentEventStreamSnapshot as AgentEventStreamSnapshot
    from dex_agents.ui_stream.events import stream_agent_event_frames as stream_agent_event_frames
    from dex_agents.ui_stream.frames import AGENT_EVENT_STREAM_HEADERS as AGENT_EVENT_STREAM_HEADERS
    from dex_agents.ui_stream.frames import KEEP_ALIVE_FRAME as KEEP_ALIVE_FRAME
    from dex_agents.ui_stream.snapshot import (
        read_agent_event_stream_snapshot as read_agent_event_stream_snapshot,
    )

__all__ = [
    "AGENT_EVENT_STREAM_HEADERS",
    "KEEP_ALIVE_FRAME",
    "AgentEventStreamSnapshot",
    "InvalidAgentEventResumeTokenError",
    "read_agent_event_stream_snapshot",
    "read_agent_event_stream_snapshot_sync",
    "stream_agent_event_frames",
    "stream_agent_event_frames_sync",
]

_MODULES = {
    "AGENT_EVENT_STREAM_HEADERS": "dex_agents.ui_stream.frames",
    "KEEP_ALIVE_FRAME": "dex_agents.ui_stream.frames",
    "AgentEventStreamSnapshot": "dex_agents.ui_stream.browser",
    "InvalidAgentEventResumeTokenError": "dex_agents.errors",
    "read_agent_event_stream_snapshot": "dex_agents.ui_stream.snapshot",
    "read_agent_event_stream_snapshot_sync": "dex_agents._seam.ui_aliases",
    "stream_agent_event_frames": "dex_agents.ui_stream.events",
    "stream_agent_event_frames_sync": "dex_agents._seam.ui_aliases",
}

__getattr__, __dir__ = lazy_door(__name__, _MODULES)
