# twin: shared
"""How much one session stores and loads at once, in bytes of stored JSON as UTF-8.

The `dex` SDK refuses a gRPC message above 4 MiB, and a Step whose task is refused fails its whole
Flow. So nothing of a session may need more than `MAX_LOAD_BYTES` at once; what is left of the
4 MiB is for what every call carries: the Attributes, the Step's input and the options.
"""

from typing import Final

MIB: Final = 1024 * 1024

MAX_LOAD_BYTES: Final = 3 * MIB
"""The most that one Step or RPC loads where values travel: on the SDK's Workers."""

MAX_WINDOW_BYTES: Final = MIB
"""The most that the window holds after a commit, whatever its number of messages."""

MAX_MESSAGE_BYTES: Final = MAX_LOAD_BYTES - 16 * 1024
"""The largest stored message; with its IDs it makes a chunk that can still be loaded."""

MAX_USER_MESSAGE_BYTES: Final = MIB
"""The longest text that a user may send, so that it fits beside the window."""

MAX_TURN_TOOL_BYTES: Final = 2 * MIB
"""What the tool calls of one turn may store: their arguments and results."""

MESSAGE_CHUNK_MAX_BYTES: Final = MIB
"""The default size limit of a chunk; `MAX_LOAD_BYTES` is the largest that can be set."""

MAX_ROLLOVER_CHUNKS: Final = 4
MAX_ROLLOVER_BYTES: Final = 8 * MIB
"""What one commit moves at most because the window holds too many messages."""
