# twin: shared
"""The durable names of Steps and RPCs; running sessions refer to them."""

from typing import Final

START_AGENT_SESSION: Final = "StartAgentSession"
AWAIT_USER_MESSAGE: Final = "AwaitUserMessage"
RUN_MODEL: Final = "RunModel"
AWAIT_TOOL_APPROVAL: Final = "AwaitToolApproval"
CALL_TOOL: Final = "CallTool"
CALL_SINGLE_ATTEMPT_TOOL: Final = "CallSingleAttemptTool"
RESUME_TURN: Final = "ResumeTurn"
RECORD_TURN_FAILURE: Final = "RecordTurnFailure"
RECORD_TOOL_FAILURE: Final = "RecordToolFailure"
RECORD_TOOL_OUTCOME_UNKNOWN: Final = "RecordToolOutcomeUnknown"

SEND_USER_MESSAGE: Final = "send_user_message"
RESOLVE_INTERRUPT: Final = "resolve_interrupt"
GET_AGENT_SNAPSHOT: Final = "get_agent_snapshot"
LIST_AGENT_MESSAGES: Final = "list_agent_messages"
READ_MESSAGE_CHUNKS: Final = "read_message_chunks"
