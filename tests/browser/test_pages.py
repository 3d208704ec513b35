# twin: shared
"""What a person sees and does on both chat pages."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.examples.servers import ExampleServer

REFUND = "Please refund order 7"
REFUNDED = "Order 7 is refunded: 26.90 EUR are on their way (refund R-7)."

expect.set_options(timeout=15_000)


def say(page: Page, text: str) -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.get_by_role("button", name="Send").click()


def transcript(page: Page) -> Locator:
    return page.get_by_role("log", name="Transcript")


def approval(page: Page) -> Locator:
    return page.get_by_role("form", name="Approval of refund_order")


def call(page: Page, tool: str) -> Locator:
    return page.locator(f'article[data-tool="{tool}"]')


def entries(page: Page) -> list[str]:
    """Return what the transcript shows, as a person reads it."""
    return [
        re.sub(r"\s+", " ", text) for text in transcript(page).locator("article").all_inner_texts()
    ]


def screenshot(page: Page, folder: Path, name: str) -> None:
    """Keep a picture in the test's folder, to look at when something is wrong."""
    page.screenshot(path=folder / f"{name}.png")


# Runs in every page: notes whether one text was ever shown twice, be it for a frame, and promises
# the moment in which the second answer streams.
NOTE_TEXTS = """
    window.wasDouble = false;
    window.secondAnswer = new Promise((resolve) => {
        document.addEventListener("DOMContentLoaded", () => {
            new MutationObserver(() => {
                const texts = [...document.querySelectorAll(".assistant .text, .live .text")];
                const first = texts.filter((node) => node.textContent.startsWith("Let me look"));
                if (first.length > 1) window.wasDouble = true;
                const live = document.querySelector(".live .text")?.textContent ?? "";
                if (live.startsWith("Order 7")) resolve(live);
            }).observe(document.getElementById("transcript"),
                       {subtree: true, childList: true, characterData: true});
        });
    });
"""


def watch_growth(page: Page) -> None:
    """Note every text that the live answer ever showed."""
    page.evaluate(
        """() => {
            window.seenLive = [];
            new MutationObserver(() => {
                const live = document.querySelector(".live .text")?.textContent;
                if (live && live !== window.seenLive.at(-1)) window.seenLive.push(live);
            }).observe(document.getElementById("transcript"),
                       {subtree: true, childList: true, characterData: true});
        }"""
    )


def test_a_refund_from_the_first_word_to_the_last(page: Page, tmp_path: Path) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", name="What can I do for you?")).to_be_visible()
    expect(page.locator("#connection")).to_have_text("live")
    screenshot(page, tmp_path, "welcome")
    watch_growth(page)
    say(page, REFUND)
    expect(call(page, "lookup_order").locator(".status")).to_have_text("running")
    expect(approval(page)).to_be_visible()
    screenshot(page, tmp_path, "approval")
    grown = page.evaluate("window.seenLive")
    first_answer = [text for text in grown if "Let me look up".startswith(text[:14])]
    assert len(first_answer) > 2
    assert all(b.startswith(a) for a, b in pairwise(first_answer))
    card = call(page, "refund_order")
    expect(card.locator(".status")).to_have_text("waits for your approval")
    expect(card.locator(".arguments")).to_have_text("order_id7amount_cents2690")
    approval(page).get_by_role("button", name="Approve").click()
    expect(card.locator(".status")).to_have_text("running")
    expect(approval(page)).to_have_count(0)
    expect(card.locator(".status")).to_have_text("done")
    expect(transcript(page)).to_contain_text(REFUNDED)
    expect(page.locator(".live, .thinking")).to_have_count(0)
    screenshot(page, tmp_path, "done")


def test_a_reload_and_another_tab_show_the_same(page: Page) -> None:
    page.goto("/")
    say(page, REFUND)
    expect(approval(page)).to_be_visible()
    waiting = entries(page)
    page.reload()
    expect(approval(page)).to_be_visible()
    assert entries(page) == waiting
    other = page.context.new_page()
    other.goto(page.url)
    expect(approval(other)).to_be_visible()
    assert entries(other) == waiting
    # What one tab decides, the other sees, and both see the end.
    approval(other).get_by_role("button", name="Approve").click()
    expect(approval(page)).to_have_count(0)
    for tab in (page, other):
        expect(transcript(tab)).to_contain_text(REFUNDED)
        expect(tab.locator(".live, .thinking")).to_have_count(0)
    assert entries(page) == entries(other)
    page.reload()
    expect(transcript(page)).to_contain_text(REFUNDED)
    assert entries(page) == entries(other)


def test_a_reload_while_text_streams_shows_each_text_once(page: Page) -> None:
    page.add_init_script(NOTE_TEXTS)
    page.goto("/")
    say(page, REFUND)
    # The second model call streams: the first one's text is stored and in the event stream too.
    assert page.evaluate("window.secondAnswer").startswith("Order 7")
    page.reload()
    expect(approval(page)).to_be_visible()
    assert page.evaluate("window.wasDouble") is False
    texts = [text for text in entries(page) if text.startswith("Agent")]
    assert texts == [
        "Agent Let me look up order 7 first.",
        "Agent Order 7 is a rucksack for 26.90 EUR. A refund needs an approval.",
    ]


def test_a_rejection_with_its_reason(page: Page) -> None:
    page.goto("/")
    say(page, REFUND)
    approval(page).get_by_label("Reason").fill("The customer kept it.")
    approval(page).get_by_role("button", name="Reject").click()
    expect(call(page, "refund_order").locator(".status")).to_have_text("rejected")
    expect(transcript(page)).to_contain_text("was not refunded")
    expect(transcript(page).locator("article").last).to_contain_text("The customer kept it.")
    page.reload()
    expect(call(page, "refund_order").locator(".status")).to_have_text("rejected")


def test_a_half_written_reason_survives_what_else_happens(page: Page) -> None:
    page.goto("/")
    say(page, "Refund orders 3 and 8")
    expect(approval(page)).to_have_count(2)
    reason = approval(page).nth(1).get_by_label("Reason")
    reason.fill("They kept")
    approval(page).nth(0).get_by_role("button", name="Approve").click()
    expect(call(page, "refund_order").nth(0).locator(".status")).to_have_text("done")
    expect(approval(page)).to_have_count(1)
    expect(approval(page).get_by_label("Reason")).to_have_value("They kept")


def test_the_conversation_goes_on_after_a_kill(own_page: Page, own_server: ExampleServer) -> None:
    page = own_page
    page.goto("/")
    say(page, "Where is order 7?")
    expect(call(page, "check_stock").locator(".status")).to_have_text("running")
    own_server.kill()
    expect(page.locator("#connection")).to_have_text("reconnecting")
    say(page, "Hello?")
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    own_server.start()
    expect(page.locator("#connection")).to_have_text("live")
    expect(transcript(page)).to_contain_text("Order 7 is a rucksack")
    # What could not be sent is still there to send.
    expect(page.get_by_label("Message", exact=True)).to_have_value("Hello?")
    page.get_by_role("button", name="Send").click()
    expect(transcript(page)).to_contain_text("I can look up an order")
    assert sum("Where is order 7?" in text for text in entries(page)) == 1


def test_an_approval_waits_through_a_kill(own_page: Page, own_server: ExampleServer) -> None:
    page = own_page
    page.goto("/")
    say(page, REFUND)
    expect(approval(page)).to_be_visible()
    own_server.kill()
    expect(page.locator("#connection")).to_have_text("reconnecting")
    approval(page).get_by_role("button", name="Approve").click()
    expect(approval(page).get_by_role("alert")).to_contain_text("does not answer")
    own_server.start()
    expect(page.locator("#connection")).to_have_text("live")
    approval(page).get_by_role("button", name="Approve").click()
    expect(transcript(page)).to_contain_text(REFUNDED)


def test_what_people_and_models_write_is_never_markup(page: Page) -> None:
    page.goto("/")
    evil = "<img src=x onerror=\"document.title='gone'\"><b>bold</b> order 7"
    say(page, evil)
    expect(transcript(page).locator("article.user")).to_contain_text(evil)
    expect(transcript(page)).to_contain_text("Order 7 is a rucksack")
    assert transcript(page).locator("img, b").count() == 0
    assert page.title() == "Order support"


def test_everything_can_be_done_with_the_keyboard(page: Page) -> None:
    page.goto("/")
    message = page.get_by_label("Message", exact=True)
    expect(message).to_be_focused()
    page.keyboard.type("Please refund")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("order 7")
    page.keyboard.press("Enter")
    expect(approval(page)).to_be_visible()
    expect(message).to_be_focused()
    # Backwards from the message: Approve, Reject, the reason.
    page.keyboard.press("Shift+Tab")
    expect(approval(page).get_by_role("button", name="Approve")).to_be_focused()
    page.keyboard.press("Enter")
    expect(transcript(page)).to_contain_text(REFUNDED)


def test_enter_in_the_reason_does_not_approve(page: Page) -> None:
    page.goto("/")
    say(page, REFUND)
    approval(page).get_by_label("Reason").fill("No.")
    page.keyboard.press("Enter")
    expect(call(page, "refund_order").locator(".status")).to_have_text("rejected")


def test_the_list_leads_to_the_conversation_that_waits(page: Page) -> None:
    page.goto("/")
    say(page, REFUND)
    expect(approval(page)).to_be_visible()
    waiting = page.locator("#session-id").inner_text()
    page.get_by_role("link", name="New conversation").click()
    say(page, "Hello")
    expect(transcript(page)).to_contain_text("I can look up an order")
    page.get_by_label("only those that wait for approval").check()
    sessions = page.get_by_role("navigation")
    answered = page.locator("#session-id").inner_text()
    expect(sessions.get_by_role("link", name=answered)).to_have_count(0)
    sessions.get_by_role("link", name=waiting).click()
    expect(approval(page)).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_shows_all_of_it(page: Page, scheme: str, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto("/")
    say(page, REFUND)
    expect(approval(page).get_by_role("button", name="Approve")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Send")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    screenshot(page, tmp_path, f"narrow-{scheme}")
    page.get_by_role("button", name="Conversations").click()
    expect(page.get_by_role("navigation")).to_be_visible()
