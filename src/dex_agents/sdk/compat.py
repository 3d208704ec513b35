# twin: shared
"""What differs between releases of the SDK, in one place.

No private name of the SDK is used so far. A private name that becomes necessary belongs here, with
the reason.
"""

from enum import Enum

import dex


def attempt_progress(error: dex.RecoveryErrorInfo) -> str | None:
    """Return how far the failed call got, such as `NOT_STARTED`, where the SDK says so.

    Releases before 1.35 have no such attribute. `None` means "it may have run".
    """
    progress: object = getattr(error, "attempt_progress", None)
    if isinstance(progress, Enum):
        return progress.name
    return progress if isinstance(progress, str) else None
