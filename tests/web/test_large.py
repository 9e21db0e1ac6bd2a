"""A run of a hundred thousand events in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rawko.runtime.session import CHECKPOINT_EVERY
from tests.bench.inspector import lengthened, written
from tests.cli.shell import Shell
from tests.web.conftest import Tab

EVENTS = 100_000
SHOWN = "() => [...document.querySelectorAll('.step[data-step]')].map((one) => Number(one.dataset.step))"
SCROLL = """async (share) => {
  const list = document.querySelector('.steps .scroll');
  list.scrollTop = list.scrollHeight * share;
  for (let wait = 0; wait < 3; wait++) await new Promise(requestAnimationFrame);
}"""
LOADED = "count => document.querySelector('.steps header .muted').textContent === `${count} of ${count}`"

pytestmark = pytest.mark.slow


def test_a_run_of_100000_events_is_scrolled_and_moved_through(tab: Callable[..., Tab], rawko: Shell) -> None:
    run = written(rawko, CHECKPOINT_EVERY + 20)
    lengthened(rawko, run, EVENTS)
    page = tab(viewport={"width": 1440, "height": 900}).open(f"/runs/{run}/50000")
    page.wait_for_selector(".step.selected[data-step='50000']")
    page.get_by_role("button", name="all", exact=True).click()
    page.wait_for_function(LOADED, arg=f"{EVENTS:,}", timeout=240_000)
    assert 50_000 in page.evaluate(SHOWN), "what was in sight stays there as the others arrive"
    for share in (0, 0.25, 0.75, 1):
        page.evaluate(SCROLL, share)
        steps = page.evaluate(SHOWN)
        assert min(steps) <= max(share * EVENTS, 1) <= max(steps)
        assert len(steps) < 100, "only the rows in sight are elements"
    page.keyboard.press("g")
    page.wait_for_selector(".step.selected[data-step='1']")
    page.keyboard.press("j")
    page.wait_for_selector(".step.selected[data-step='2']")
