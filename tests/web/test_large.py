"""A long run in a real browser: twenty thousand events, and a hundred thousand among the tests that take longer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rawko.runtime.session import CHECKPOINT_EVERY
from tests.bench.views.inspector import lengthened, written
from tests.cli.shell import Shell
from tests.thorough import further
from tests.web.conftest import Tab

SHOWN = "() => [...document.querySelectorAll('.step[data-step]')].map((one) => Number(one.dataset.step))"
SCROLL = """async (share) => {
  const list = document.querySelector('.steps .scroll');
  list.scrollTop = list.scrollHeight * share;
  for (let wait = 0; wait < 3; wait++) await new Promise(requestAnimationFrame);
}"""
LOADED = "count => document.querySelector('.steps header .muted').textContent === `${count} of ${count}`"

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("events", [1_000, *further(5_000, 20_000, 100_000)])
def test_a_long_run_is_scrolled_and_moved_through(tab: Callable[..., Tab], rawko: Shell, events: int) -> None:
    run = written(rawko, CHECKPOINT_EVERY + 20)
    lengthened(rawko, run, events)
    opened = tab(viewport={"width": 1440, "height": 900})
    page = opened.open(f"/runs/{run}/{events // 2}")
    page.wait_for_selector(".step[data-step]")
    middle = min(page.evaluate(SHOWN), key=lambda step: abs(step - events // 2))
    page = opened.open(f"/runs/{run}/{middle}")
    page.wait_for_selector(f".step.selected[data-step='{middle}']")
    page.get_by_role("button", name="all", exact=True).click()
    page.wait_for_function(LOADED, arg=f"{events:,}", timeout=240_000)
    assert middle in page.evaluate(SHOWN), "what was in sight stays there as the others arrive"
    for share in (0, 0.25, 0.75, 1):
        page.evaluate(SCROLL, share)
        steps = page.evaluate(SHOWN)
        assert min(steps) <= max(share * events, 1) <= max(steps)
        assert len(steps) < 100, "only the rows in sight are elements"
    page.keyboard.press("g")
    page.wait_for_selector(".step.selected[data-step='1']")
    page.keyboard.press("j")
    page.wait_for_selector(".step.selected[data-step='2']")
