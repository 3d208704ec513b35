# twin: shared
"""How a test or an application ends a Worker that `serve` runs."""

from collections.abc import Callable


class WorkerStop:
    """A handle that ends `serve`: from any thread, task or signal handler, also beforehand."""

    def __init__(self) -> None:
        """Create a handle for one `serve`."""
        self.is_requested = False
        self._callbacks: list[Callable[[], None]] = []

    def request(self) -> None:
        """Let the Worker finish its running calls and `serve` return; again does nothing."""
        self.is_requested = True
        # Without a lock, because a signal handler may interrupt whoever would hold it. Each
        # callback is taken out before it is called, so none is called twice.
        while self._callbacks:
            try:
                callback = self._callbacks.pop()
            except IndexError:  # another thread was faster
                return
            callback()

    def on_request(self, callback: Callable[[], None]) -> None:
        """Call something at the request, or now if it has been made; for `serve`."""
        self._callbacks.append(callback)
        if self.is_requested:
            self.request()
