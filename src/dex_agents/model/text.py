# twin: shared
"""Text at the boundary: valid Unicode, and no longer than its limit."""

MAX_ERROR_BYTES = 4 * 1024
MAX_STEP_FAILURE_BYTES = 1000
"""What an error may take where it travels as a Step failure: the SDK cuts at 1,024."""

MAX_TOOL_RESULT_BYTES = 256 * 1024

CUT_MARKER = " … [cut here]"
_CUT_MARKER_BYTES = len(CUT_MARKER.encode())


def clean_text(text: str) -> str:
    """Return the text with every lone surrogate as U+FFFD; a surrogate pair becomes its character.

    A store or a socket refuses a lone surrogate, which a model or a tool can produce at any time.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def utf8_size(text: str) -> int:
    """Return how many bytes the text takes as UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def bounded_text(text: str, max_bytes: int) -> str:
    """Return clean text of at most `max_bytes` of UTF-8, with a marker where it was cut.

    Args:
        text: Any text, also one of many megabytes: no more than `max_bytes` characters are read.
        max_bytes: The limit. One too small for the marker cuts without it.
    """
    # One character more than fits tells apart "all of it" and "the start of it".
    head = clean_text(text[: max_bytes + 1])
    encoded = head.encode()
    if len(encoded) <= max_bytes:
        return head
    marker, room = (
        (CUT_MARKER, max_bytes - _CUT_MARKER_BYTES)
        if max_bytes >= _CUT_MARKER_BYTES
        else ("", max_bytes)
    )
    return encoded[:room].decode("utf-8", "ignore") + marker
