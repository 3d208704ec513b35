# twin: shared
"""Keys and IDs that are stored, and so may never change their form."""

_FORBIDDEN_NAME_CHARACTERS = "/$:"


def message_sequence_key(sequence: int) -> str:
    """Return the key of a stored message: 12 digits, so that text order is message order."""
    return f"{sequence:012d}"


def turn_id_of(turn_number: int) -> str:
    """Return the ID of a session's n-th turn."""
    return f"turn-{turn_number}"


def idempotency_key(flow_id: str, turn_id: str, tool_call_id: str) -> str:
    """Return the key of one tool call, the same on every attempt; no part contains a `/`."""
    return f"{flow_id}/{turn_id}/{tool_call_id}"


def plan_execution_key(revision: int) -> str:
    """Return the key under which the approval of one plan revision waits."""
    return str(revision)


def check_durable_name(name: object, what: str) -> str:
    """Return the name when an engine can store it.

    Raises:
        TypeError: It is no text.
        ValueError: It is empty, or contains `/`, `$`, `:`, a control character or no valid text.
    """
    if not isinstance(name, str):
        raise TypeError(f"{what} must be a str, not {type(name).__name__}")
    if not name:
        raise ValueError(f"{what} must not be empty")
    found = next((char for char in _FORBIDDEN_NAME_CHARACTERS if char in name), None)
    if found is not None:
        raise ValueError(f"{what} {name!r} must not contain {found!r}")
    # Control characters and lone surrogates are not printable; they break logs, URLs and stores.
    if any(
        char != " " and (char.isspace() or char < " " or "\ud800" <= char <= "\udfff")
        for char in name
    ):
        raise ValueError(f"{what} {name!r} must be one line of valid text")
    return name
