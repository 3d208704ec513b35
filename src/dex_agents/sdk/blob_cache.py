# twin: shared
"""The folder where the SDK keeps large values that a Dex Server stores apart."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import dex

_MAX_BYTES: Final = 64 * 1024 * 1024


@contextmanager
def opened_blob_cache(folder: str | Path | None) -> Generator[dex.BlobCache]:
    """Open the cache of one Client or Worker, in a temporary folder unless one is given.

    The local engine sends every value inline, so with it the cache stays empty.

    Raises:
        OSError: The folder cannot be created, or another process uses it.
    """
    if folder is not None:
        with _opened(folder) as cache:
            yield cache
        return
    with (
        tempfile.TemporaryDirectory(prefix="dex-agents-blobs-") as temporary,
        _opened(temporary) as cache,
    ):
        yield cache


@contextmanager
def _opened(folder: str | Path) -> Generator[dex.BlobCache]:
    cache = dex.open_blob_cache(dex.BlobCacheConfig(str(folder), _MAX_BYTES))
    try:
        yield cache
    finally:
        cache.close()
