# twin: shared
"""What every test runs under: both backends, no Hypothesis deadline, no leaked threads."""

import asyncio
import inspect
import sys
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A machine with two busy cores misses any per-example deadline now and then; the timeout of the
# whole test is what catches a hang.
settings.register_profile("project", settings(), deadline=None)
settings.load_profile("project")

_TESTS = Path(__file__).parent
_BACKENDS = ("asyncio", "trio")
_THREADED_FOLDERS = (_TESTS / "sync", _TESTS / "sync_only")
_THREAD_GRACE_SECONDS = 2.0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each coroutine test on both backends, and one that takes `real_sdk` on asyncio only."""
    if "anyio_backend" not in metafunc.fixturenames:
        return
    marks = metafunc.definition.iter_markers("parametrize")
    if any("anyio_backend" in mark.args[0] for mark in marks):
        return
    backends = _BACKENDS[:1] if "real_sdk" in metafunc.fixturenames else _BACKENDS
    metafunc.parametrize("anyio_backend", backends, ids=backends, indirect=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object],
) -> Generator[None, object, object]:
    """Refuse a coroutine fixture that would keep one backend's runner for the other's tests.

    A fixture wider than one test is torn down between the backends only if it takes
    `anyio_backend`; without that, the tests named `[trio]` would silently run on asyncio.
    """
    function = fixturedef.func
    waits = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    if waits and fixturedef.scope != "function" and "anyio_backend" not in fixturedef.argnames:
        pytest.fail(f"the {fixturedef.scope} fixture {fixturedef.argname} must take anyio_backend")
    return (yield)


@pytest.fixture(scope="module")
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Name the backend; the plugin that runs coroutine tests asks for this fixture."""
    backend: str = request.param
    return backend


@pytest.fixture
def real_sdk(request: pytest.FixtureRequest) -> None:
    """Say that the test meets the SDK's own event loop, which is an asyncio one.

    gRPC keeps one queue of events for all loops of a process. What calls of a test before have
    left there would come up as errors in this test's loop; it comes up here instead.
    """
    if "anyio_backend" in request.fixturenames and "grpc.aio" in sys.modules:
        # The tests of a module share a loop, so most is left where a module ends.
        is_first = request.module.__name__ not in _settled_modules
        _settled_modules.add(request.module.__name__)
        asyncio.run(_settle_grpc(0.3 if is_first else 0.02))


_settled_modules: set[str] = set()


async def _settle_grpc(seconds: float) -> None:
    import grpc.aio

    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    async with grpc.aio.insecure_channel("127.0.0.1:1"):
        await asyncio.sleep(seconds)


@pytest.fixture(autouse=True)
def _no_leaked_threads(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test of the threaded package that leaves a thread running."""
    if not any(request.path.is_relative_to(folder) for folder in _THREADED_FOLDERS):
        yield
        return
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + _THREAD_GRACE_SECONDS
    started = set(threading.enumerate()) - before
    for thread in started:
        thread.join(max(0.0, deadline - time.monotonic()))
    leaked = sorted(thread.name for thread in started if thread.is_alive())
    if leaked:
        pytest.fail(f"the test left threads running: {', '.join(leaked)}")
