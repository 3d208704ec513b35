# twin: shared
"""A headless Chromium, and servers to look at."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.examples.servers import EXAMPLES, ExampleServer

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


@pytest.fixture(params=EXAMPLES)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ExampleServer]:
    """Run an example for one test, which may kill it."""
    server = ExampleServer(request.param, tmp_path)
    server.start()
    yield server
    server.stop_if_running()
    assert server.log.read_text() == ""


@pytest.fixture
def context(browser: Browser, server: ExampleServer) -> Iterator[BrowserContext]:
    """Give the test a browser window of its own."""
    context = browser.new_context(
        base_url=server.base_url, viewport={"width": 1100, "height": 760}, reduced_motion="reduce"
    )
    context.set_default_timeout(WAIT_MILLISECONDS)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """Open a tab; an error on its console fails the test."""
    page = context.new_page()
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(EXPECTED_COMPLAINTS):
            complaints.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    assert complaints == []
