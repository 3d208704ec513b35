# twin: shared
"""Why the engine refuses a request; each shell answers with its own error for it.

The embedded client raises the `dex` SDK's exception, the server a gRPC status.
"""


class RequestRefused(Exception):
    """The base of refusals; the text is for the caller."""


class FlowAlreadyExists(RequestRefused):
    """A Flow with this ID exists, started by another request."""


class FlowMissing(RequestRefused):
    """There is no Flow with this ID."""


class FlowNotActive(RequestRefused):
    """The Flow is closed, and the request needs it to run."""


class LocksTaken(RequestRefused):
    """A Step or another RPC holds one of the RPC's locks."""


class MessageGone(RequestRefused):
    """A message that a transactional RPC deletes was consumed meanwhile."""


class InvalidRequest(RequestRefused):
    """The request makes no sense, whatever the state."""
