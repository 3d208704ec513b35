# twin: shared
"""A headless Chromium, and servers to look at."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.examples.servers import EXAMPLES, ExampleServer, running_example

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
# A machine with few cores runs a browser and a server side by side.
WAIT_MILLISECONDS = 15_000
# What a browser says of a server that is down for a moment.
EXPECTED_COMPLAINTS = ("Failed to load resource", "net::ERR_")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start Debian's Chromium once."""
    if not Path(CHROMIUM).exists():
        pytest.fail("these tests need a browser: apt-get install chromium")
    # Chromium refuses its sandbox to root, which is who tests in a container.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=EXAMPLES)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ExampleServer]:
    """Run an example for the tests of one module, each with a session of its own."""
    with running_example(request.param, tmp_path_factory.mktemp(request.param)) as server:
        yield server


@pytest.fixture(params=EXAMPLES)
def own_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ExampleServer]:
    """Run an example for one test, which may kill it."""
    with running_example(request.param, tmp_path) as server:
        yield server


@pytest.fixture
def page(browser: Browser, server: ExampleServer) -> Iterator[Page]:
    """Open a tab in a window of its own."""
    with open_page(browser, server) as page:
        yield page


@pytest.fixture
def own_page(browser: Browser, own_server: ExampleServer) -> Iterator[Page]:
    """Open a tab on a server that may be killed."""
    with open_page(browser, own_server) as page:
        yield page


@contextmanager
def open_page(browser: Browser, server: ExampleServer) -> Iterator[Page]:
    """Open a tab; an error on its console fails the test."""
    context = browser.new_context(
        base_url=server.base_url, viewport={"width": 1100, "height": 760}, reduced_motion="reduce"
    )
    context.set_default_timeout(WAIT_MILLISECONDS)
    page = context.new_page()
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(EXPECTED_COMPLAINTS):
            complaints.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert complaints == []
