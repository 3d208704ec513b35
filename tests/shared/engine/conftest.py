# twin: shared
"""Close what the engine tests open: most of them end in the middle of a Flow's life."""

from collections.abc import Iterator

import pytest

from dex_agents.engine.store.file import Store


@pytest.fixture(autouse=True)
def _no_open_stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    opened: list[Store] = []
    original = Store.__init__

    def recorded(store: Store, *arguments: object, **options: object) -> None:
        # Whatever the tests pass to the constructor.
        original(store, *arguments, **options)  # type: ignore[arg-type]
        opened.append(store)

    monkeypatch.setattr(Store, "__init__", recorded)
    yield
    for store in opened:
        store.abandon()
