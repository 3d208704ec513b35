# twin: shared
"""The way tests end a store: as if the process had died, between two instructions."""


class StoreCut(BaseException):
    """Raised by a store's `on_commit` to make its engine die on the spot.

    Not an `Exception`, so that nothing on the way mistakes it for a failure it could handle.
    """
