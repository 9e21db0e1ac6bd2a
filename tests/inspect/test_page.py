"""The page of a program's actors in a real browser: live, clicked, and with hostile names and values."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import rawko.inspect
from rawko import Actor
from rawko.inspect import Inspector
from tests.inspect.conftest import turnstile
from tests.web.conftest import browser, chromium  # noqa: F401 - fixtures

pytestmark = pytest.mark.slow
HOSTILE = '<img src=x onerror="document.title=`owned`">\u202e'


class Program:
    """An actor with its inspector, in a thread as a program would have it."""

    def __init__(self) -> None:
        self.actor: Actor
        self.inspector: Inspector
        self._ready, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()))
        self._thread.start()
        self._ready.wait()

    async def _main(self) -> None:
        async with turnstile() as self.actor:
            with rawko.inspect.serve(self.actor, allow_events=True) as self.inspector:
                await self.actor.settle()
                await self.actor.request("COIN", cents=20, note=HOSTILE)
                self._ready.set()
                while not self._stop.is_set():  # noqa: ASYNC110 - set by another thread
                    await asyncio.sleep(0.01)

    def send(self, event: str, **data: Any) -> None:
        loop = self.actor.loop
        assert loop is not None
        loop.call_soon_threadsafe(lambda: self.actor.send(event, **data))

    def end(self) -> None:
        self._stop.set()
        self._thread.join()


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    made = Program()
    yield made
    made.end()


@pytest.fixture
def page(browser: Browser, program: Program) -> Iterator[Page]:  # noqa: F811 - the fixture
    opened = browser.new_page(viewport={"width": 1440, "height": 900})
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    opened.goto(program.inspector.link)
    opened.wait_for_selector(".drawing svg")
    yield opened
    opened.close()
    assert problems == []


def test_the_page_follows_the_actor_and_sends_it_an_event(page: Page, program: Program) -> None:
    assert "#/runs/a1/" in page.url, "one tree is opened at once"
    assert page.locator(".actor-row").all_inner_texts()[0].split() == ["turnstile", "locked"]
    assert page.locator(".actor-row").nth(1).inner_text().split() == ["receipt", "printing", "printer"]
    program.send("COIN", cents=60)
    page.wait_for_selector('[data-state="open"].active')
    page.locator(".step", has_text='COIN {"cents": 60}').click()
    page.wait_for_selector(".candidate.taken")
    assert "is_enough" in page.locator(".candidate.taken").inner_text()
    page.wait_for_function("() => performance.now() > 700")  # keys that decide wait until the page has settled
    page.keyboard.press("e")
    push = page.locator(".event-row", has_text="PUSH")
    push.get_by_text("Send").click()
    page.locator(".notice", has_text="PUSH to root: taken").wait_for()
    page.locator(".actor-row", has_text="locked").click()
    page.keyboard.press(".")  # follow again
    page.wait_for_selector('.step.selected:has-text("start")')
    page.wait_for_selector('[data-state="printing"].active')
    page.keyboard.press("e")
    coin = page.locator(".event-row", has_text="COIN")
    page.fill("dialog textarea", '{"cents": 20}')
    coin.get_by_text("Ask").click()
    page.locator(".event-row", has_text="guard [is_enough] (saw price 50)").wait_for()
    page.keyboard.press("Escape")
    for offered in ("Rewind", "Fork", "Compare", "Cancel", "Charts", "Files", "Talk"):
        assert page.get_by_text(offered, exact=True).count() == 0, offered


def test_names_and_values_stay_texts(page: Page) -> None:
    page.locator(".step", has_text="denied by guard").first.click()
    page.get_by_role("tab", name="Event").click()
    page.wait_for_selector('.detail-body:has-text("onerror")')
    assert page.locator("img").count() == 0
    assert page.title() != "owned"
