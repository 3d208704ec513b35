# twin: shared
"""One engine per file, proven by a lock of the operating system.

The lock goes when its process does, however it ends; the number in the lock file is only for the
message.
"""

import os
import weakref
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from dex_agents.errors import EngineFileInUseError, EngineStorageError

# A forked child shares the lock with its parent and would keep it after the parent has died.
_held: "weakref.WeakSet[FileOwnership]" = weakref.WeakSet()


def _drop_in_child() -> None:
    for ownership in list(_held):
        ownership.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_in_child)


class FileOwnership:
    """Hold the lock beside an engine file until `close`."""

    def __init__(self, path: Path) -> None:
        """Take the lock.

        Raises:
            EngineFileInUseError: Another engine, in this process or another, holds it.
            EngineStorageError: The lock file cannot be created.
        """
        self._pid = os.getpid()
        self._file = -1
        try:
            if path.is_dir():
                raise EngineStorageError(f"cannot open {path}: it is a folder; name a file in it")
            self.path = path.with_name(path.name + ".lock")
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            is_locked = _try_lock(self._file)
        except OSError as error:
            self.close()
            raise EngineStorageError(
                f"cannot open {path}: {error.strerror or error}; give the engine a path in a "
                "folder that exists and that this user may write to"
            ) from None
        if not is_locked:
            owner = os.read(self._file, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            where = "this process" if owner == str(self._pid) else f"process {owner}"
            raise EngineFileInUseError(
                f"{path} is in use by an engine in {where}; stop that engine, or let this program "
                "use it instead of opening the file a second time"
            )
        _held.add(self)
        # The lock is what counts; a full disk only takes the number away.
        with suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, str(self._pid).encode(), 0)

    def __enter__(self) -> "FileOwnership":
        """Return the held lock."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release the lock."""
        self.close()

    def close(self) -> None:
        """Release the lock; the lock file stays, since removing it would race with an opener."""
        if self._file >= 0:
            if self._pid == os.getpid():
                # A child that was just forked holds the lock too until it has dropped it.
                _unlock(self._file)
            os.close(self._file)
            self._file = -1


if os.name == "nt":  # pragma: no cover - the test machines are POSIX
    import msvcrt

    def _unlock(file: int) -> None:
        """Closing the file is enough here: there are no forked processes."""

    def _try_lock(file: int) -> bool:
        # A byte far beyond the number, so that others can still read who holds the lock.
        os.lseek(file, 1 << 30, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # Windows
        except OSError:
            return False
        finally:
            os.lseek(file, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)

    def _try_lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
