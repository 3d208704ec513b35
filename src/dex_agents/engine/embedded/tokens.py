# twin: shared
"""Resume tokens of Streams: opaque text that names the Stream and the last event read."""

import base64
import binascii
import json

from dex_agents.engine.store.streams import StreamKey
from dex_agents.errors import InvalidAgentEventResumeTokenError

_VERSION = 1


def encode_token(key: StreamKey, message_id: int) -> str:
    """Return the token that continues after an event."""
    text = json.dumps([_VERSION, *key, message_id], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_token(key: StreamKey, token: str) -> int:
    """Return the event ID of a token; 0, before all events, of an empty one.

    Raises:
        InvalidAgentEventResumeTokenError: The token is damaged, or of another Stream.
    """
    if not token:
        return 0
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        message_id = json.loads(text)[-1]
    except (binascii.Error, ValueError, TypeError, LookupError, RecursionError):
        raise InvalidAgentEventResumeTokenError("the resume token cannot be read") from None
    # Only what this module wrote is taken: the same token must come out again.
    is_id = type(message_id) is int and 0 <= message_id < 1 << 63
    if not is_id or encode_token(key, message_id) != token:
        raise InvalidAgentEventResumeTokenError(
            f"the resume token is not one of session {key.flow_id!r}"
        )
    return int(message_id)
