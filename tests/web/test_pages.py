"""The inspector's pages in a real browser: clicked, typed, watched. No page reports a problem or asks another host."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.cli.shell import Shell, call, judges, picks, says
from tests.web.conftest import Server, Shown, Tab
from tests.web.recorded import HOSTILE, LOOKING_RULE, LOOKS, TASK, ended_run, looking_run, planned_run, waiting_run

Open = Callable[..., Tab]
Serve = Callable[..., Server]

SAYS = "text => document.querySelector('.detail-body').textContent.includes(text)"
STREAMS = "performance.getEntriesByType('resource').filter(e => e.name.includes('/api/stream')).length"
EVERYTHING = """async () => {
  for (const step of document.querySelectorAll('.step[data-step]')) {
    step.click();
    for (const key of '1234567') {
      document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
      await new Promise((passed) => setTimeout(passed, 40));
    }
  }
  await new Promise((passed) => setTimeout(passed, 300));
}"""
WIDEST = """() => Math.max(
  ...[...document.querySelectorAll('.screen, .panel')].map((one) => one.getBoundingClientRect().right))"""
HOLD = """(path) => {
  const own = window.fetch;
  window.fetch = async (...given) => {
    const answer = await own(...given);
    if (given[0] === path) {
      window.fetch = own;
      await new Promise((passed) => { window.letGo = passed; });
    }
    return answer;
  };
}"""
GROUNDS = """() => {
  const probe = document.querySelector('.drawing svg').appendChild(document.createElement('div'));
  probe.style.backgroundColor = 'var(--rawko-paper)';
  return getComputedStyle(probe).backgroundColor;
}"""
IN_SIGHT = """() => {
  const list = document.querySelector('.steps .scroll').getBoundingClientRect();
  const row = document.querySelector('.step.selected').getBoundingClientRect();
  return list.height < 300 && row.top >= list.top && row.bottom <= list.bottom;
}"""
WROTE = ".step:has(.words:text-is('write fizzbuzz.py'))"

pytestmark = pytest.mark.slow


def test_runs_are_listed_with_those_that_need_a_person_first(tab: Open, rawko: Shell) -> None:
    ended, waiting = ended_run(rawko), waiting_run(rawko)
    page = tab().open()
    page.wait_for_selector(f"[data-run='{ended}'] .spark i")
    assert [row.get_attribute("data-run") for row in page.locator("[data-run]").all()] == [waiting, ended]
    assert "write fizzbuzz.py" in page.locator(f"[data-run='{waiting}']").inner_text()
    assert page.title() == "(1) rawko"
    page.locator(".search input").fill("state:success")
    assert page.locator("[data-run]").count() == 1


def test_an_empty_folder_says_what_to_type(tab: Open) -> None:
    page = tab().open()
    page.wait_for_selector(".gone code")
    assert "rawko run" in page.locator(".gone").inner_text()


def test_moving_one_view_moves_all(looking: Tab, shown: Shown) -> None:
    run = shown.ended
    page = looking.go(f"/runs/{run}")
    page.wait_for_selector(".drawing svg")
    step = page.locator(WROTE).get_attribute("data-step")
    page.locator(WROTE).click()
    page.wait_for_function("step => location.hash.includes('/' + step + '/')", arg=step)
    assert f"{step} · write fizzbuzz.py" in page.locator(".detail-head h2").inner_text()
    page.wait_for_selector(".candidate.taken")
    assert page.locator(".rawko-chart .active").count() >= 1
    assert page.locator(".rawko-chart .now").count() >= 1
    page.keyboard.press("5")
    page.wait_for_selector(".diff .line.added")
    assert "def fizzbuzz" in page.locator(".diff").inner_text()
    page.keyboard.press("j")
    page.wait_for_function("step => document.querySelector('.step.selected')?.dataset.step > step", arg=step)
    box = page.locator(".strip canvas").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 5, box["y"] + 20)
    page.wait_for_function("() => Number(document.querySelector('.step.selected')?.dataset.step) <= 3")


def test_the_step_of_the_cursor_stays_in_sight_and_a_hidden_one_is_marked(looking: Tab, shown: Shown) -> None:
    page = looking.go(f"/runs/{shown.ended}")
    page.wait_for_selector(WROTE)
    page.get_by_role("button", name="all", exact=True).click()
    page.wait_for_selector(".step[data-step='2']")
    every = [int(row.get_attribute("data-step") or 0) for row in page.locator(".step[data-step]").all()]
    page.get_by_role("button", name="logical", exact=True).click()
    page.wait_for_function("count => document.querySelectorAll('.step[data-step]').length < count", arg=len(every))
    logical = [int(row.get_attribute("data-step") or 0) for row in page.locator(".step[data-step]").all()]
    hidden = next(step for step in every if step not in logical and step > logical[1])
    before = max(step for step in logical if step < hidden)
    page = looking.go(f"/runs/{shown.ended}/{hidden}")
    page.wait_for_selector(f".step.near[data-step='{before}']")
    page.keyboard.press("k")
    page.wait_for_selector(f".step.selected[data-step='{before}']")
    page.locator(f".step[data-step='{logical[-1]}']").click()
    page.wait_for_selector(f".step.selected[data-step='{logical[-1]}']")
    size = page.viewport_size or {"width": 1280, "height": 800}
    page.set_viewport_size({"width": size["width"], "height": 420})
    page.wait_for_function(IN_SIGHT)
    page.set_viewport_size(size)


def test_every_tab_of_a_step_is_filled(looking: Tab, shown: Shown) -> None:
    run = shown.ended
    page = looking.go(f"/runs/{run}")
    page.locator(".step", has_text="bash python3").first.click()
    for name, expected in (("Call", "SystemExit"), ("Talk", "Now I run it."), ("Usage", "this step"), ("If", "CANCEL")):
        page.get_by_role("tab", name=name).click()
        page.wait_for_function(SAYS, arg=expected)
    page.locator(".step", has_text="Now I run it.").first.click()
    page.get_by_role("tab", name="Prompt").click()
    page.wait_for_function(SAYS, arg=TASK)


@pytest.fixture(scope="module")
def planned(shown: Shown) -> str:
    return planned_run(shown.shell)


def test_the_plan_is_that_of_the_step_and_leads_to_the_steps_that_changed_it(looking: Tab, planned: str) -> None:
    page = looking.go(f"/runs/{planned}")
    page.wait_for_selector(".plan .plan-row.complete")
    assert page.locator(".plan summary").inner_text().split("\n")[0].startswith("Plan 1 of 2")
    done, pending = page.locator(".plan-row").all()
    assert done.inner_text().split("\n")[:3] == ["✓", "Write it", "developer"]
    assert pending.inner_text().split("\n")[1] == "Test <b>it</b>"
    assert page.locator(".plan b").count() == 1, "the heading; words of a plan stay text"
    since = done.locator(".number").inner_text()
    done.click()
    page.wait_for_function("step => location.hash.includes('/' + step + '/')", arg=since)
    page.locator(".step:has(.words:text-is('write plan1.py'))").click()
    page.wait_for_function("() => document.querySelector('.plan summary').textContent.includes('0 of 2')")
    page.locator(".step", has_text="Plan it").first.click()
    page.wait_for_selector(".plan", state="hidden")


def test_files_are_compared_with_any_step_by_a_slider_or_its_number(looking: Tab, planned: str) -> None:
    page = looking.go(f"/runs/{planned}")
    page.locator(".step:has(.words:text-is('write plan3.py'))").click()
    page.keyboard.press("5")
    page.wait_for_selector(".file:has-text('plan3.py')")
    assert page.locator(".detail-body .file").count() == 1
    slider = page.locator(".versus input[type=range]")
    snapshots = int(slider.get_attribute("max") or 0) + 1
    assert snapshots >= 4
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_selector(".file:has-text('plan1.py')")
    page.wait_for_selector(".file:has-text('plan2.py')")
    assert page.evaluate("document.activeElement.type") == "range", "the next key moves it on"
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".file:has-text('plan1.py')", state="detached")
    assert page.locator(".detail-body .file").count() == 2
    page.locator(".versus input[type=number]").fill("9999")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=No file differs.")
    page.get_by_role("button", name="this step").click()
    page.wait_for_selector(".file:has-text('plan3.py')")


BARS = """async (rows) => {
  const [{ Strip }, { laneOf }] = await Promise.all([import('/pages/strip.js'), import('/pages/model.js')]);
  const bars = Strip.prototype.barsOf.call({ model: { rows, showsLeft: false } });
  return bars.map(([begun, ended, row]) => [laneOf(row), begun, ended]);
}"""


def test_hostile_texts_stay_texts(looking: Tab, shown: Shown) -> None:
    run = ended_run(shown.shell, text=HOSTILE, name="<b>x.py", content=f"{HOSTILE}\n")
    page = looking.go(f"/runs/{run}")
    page.wait_for_selector(".drawing svg")
    assert page.locator(".mark, .words").count() > 1
    page.evaluate(EVERYTHING)
    assert page.title().removeprefix("(1) ") == "rawko"
    assert page.locator("#app img, #app script, #app b:text-is('x.py')").count() == 0
    page.locator(".step:has(.words.code)").first.click()
    page.keyboard.press("5")
    page.wait_for_selector(".diff .mark")
    assert "U+202E" in page.locator(".diff").inner_text()
    assert "\u202e" not in page.locator("body").inner_text()


@pytest.mark.thorough
def test_the_bars_of_a_lane_do_not_cover_each_other(looking: Tab, shown: Shown) -> None:
    words = ("run", "Write fizzbuzz", "--scenario", "fizzbuzz", "--yes", "--json", "--quiet")
    run = shown.shell(*words).report["run"]
    rows = shown.server.get(f"/api/runs/{run}/steps")["rows"]
    lanes: dict[str, list[tuple[float, float]]] = {}
    for lane, begun, ended in looking.go(f"/runs/{run}").evaluate(BARS, rows):
        lanes.setdefault(lane, []).append((begun, ended))
    assert lanes.keys() == {"arbiter", "planner", "developer", "tester", "reviewer", "you"}
    for lane, bars in lanes.items():
        assert all(one[1] <= other[0] + 0.002 for one, other in pairwise(bars)), (lane, bars)


def test_an_approval_is_reviewed_and_given_by_a_key(looking: Tab, shown: Shown) -> None:
    written = shown.shell.folder / "reviewed.py"
    written.write_text("# mine\n", encoding="utf-8")
    run = waiting_run(shown.shell, name="reviewed.py")
    page = looking.go(f"/runs/{run}")
    page.wait_for_selector(".banner .button.primary")
    page.wait_for_timeout(700)
    page.keyboard.press("Enter")
    page.wait_for_selector(".review .diff .line.added")
    assert page.locator(".review .diff .line.removed").inner_text().endswith("# mine")
    assert "exactly what will be written" in page.locator(".review").inner_text()
    assert "May developer write reviewed.py?" in page.locator(".review h1").inner_text()
    keys = page.locator(".foot-keys").inner_text()
    assert "approve this tool" in keys and "keep the rule" in keys and "next step" not in keys, keys
    assert written.read_text(encoding="utf-8") == "# mine\n"
    page.keyboard.press("w")
    page.wait_for_selector("dialog[open]")
    page.locator("dialog button[value=yes]").click()
    page.wait_for_function("() => document.querySelector('.run-title .state')?.textContent.includes('success')")
    assert page.locator(".banner").is_hidden()
    assert "def fizzbuzz" in written.read_text(encoding="utf-8")


@pytest.mark.thorough
def test_an_answer_that_comes_late_does_not_undo_what_the_stream_has_told(looking: Tab, shown: Shown) -> None:
    run = waiting_run(shown.shell, name="late.py")
    page = looking.go(f"/runs/{run}")
    page.wait_for_selector(".banner .button.primary")
    page.evaluate(HOLD, f"/api/runs/{run}")
    page.locator(".banner .button", has_text="Review").click()
    page.locator(".review .button", has_text="Approve everything").click()
    page.locator("dialog button[value=yes]").click()
    page.wait_for_function("() => window.letGo && document.querySelector('.run-title .state.success')")
    page.evaluate("async () => { letGo(); await new Promise((passed) => setTimeout(passed, 300)); }")
    assert "success" in page.locator(".run-title .state").inner_text()
    assert page.locator(".banner").is_hidden()


def test_a_rule_is_kept_with_a_key_and_the_next_call_is_not_asked(tab: Open, rawko: Shell) -> None:
    run = looking_run(rawko)
    opened = tab()
    page = opened.open(f"/runs/{run}")
    page.wait_for_selector(".banner .button.primary")
    page.wait_for_timeout(700)
    page.keyboard.press("Enter")
    page.wait_for_selector(".kept-rule code")
    assert page.locator(".kept-rule code").inner_text() == LOOKING_RULE
    page.keyboard.press("r")
    page.wait_for_selector("dialog[open]")
    assert LOOKING_RULE in page.locator("dialog").inner_text(), "shown before it is kept"
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="detached")
    assert json.loads(rawko("rules", "--json").out) == []
    page.locator(".kept-rule .button").click()
    page.locator("dialog button[value=yes]").click()
    page.wait_for_function("() => document.querySelector('.run-title .state')?.textContent.includes('success')")
    assert page.locator(".review").count() == 0, "what was asked is answered"
    assert LOOKING_RULE in page.locator(".notice").inner_text()
    rows = opened.server.get(f"/api/runs/{run}/steps")["rows"]
    assert [row[4] for row in rows].count("approval") == 1
    assert f"bash {LOOKS[1]}" in [row[5] for row in rows if row[4] == "command"]
    assert [one["rule"] for one in json.loads(rawko("rules", "--json").out)] == [LOOKING_RULE]


def test_a_key_decides_nothing_while_a_text_is_typed_or_the_page_has_just_come_to_front(
    tab: Open, shown: Shown
) -> None:
    run = shown.waiting
    opened = tab(shown.server)
    page = opened.open(f"/runs/{run}")
    page.wait_for_selector(".banner .button.primary")
    page.locator(".steps input").fill("")
    page.locator(".steps input").press_sequentially("aaa")
    page.evaluate("dispatchEvent(new Event('blur'))")
    page.locator(".steps header b").click()
    page.keyboard.press("a")
    page.wait_for_timeout(600)
    assert opened.server.get(f"/api/runs/{run}")["view"]["needs"] is not None


def test_an_answer_from_elsewhere_takes_the_buttons_away(looking: Tab, shown: Shown) -> None:
    rawko, run = shown.shell, waiting_run(shown.shell, name="elsewhere.py")
    page = looking.go(f"/runs/{run}")
    page.wait_for_selector(".banner .button.primary")
    rawko("approve", run, "--scope", "always", "--json")
    page.wait_for_selector(".banner[hidden]", state="attached")
    page.wait_for_selector(".notice")
    assert "Answered elsewhere" in page.locator(".notice").inner_text()


def test_a_rewind_says_what_is_lost_and_strikes_it_through(tab: Open, rawko: Shell) -> None:
    run = ended_run(rawko)
    page = tab().open(f"/runs/{run}")
    page.locator(".step", has_text="I start with").first.click()
    page.locator(".detail-head .button", has_text="Rewind").click()
    page.wait_for_selector("dialog[open]")
    told = page.locator("dialog").inner_text()
    assert "later steps stay in the journal" in told
    assert "fizzbuzz.py" in told
    page.locator("dialog button[value=yes]").click()
    page.wait_for_selector("text=show what a rewind left")
    page.locator("text=show what a rewind left").click()
    page.wait_for_selector(".step.left")
    assert not (rawko.folder / "fizzbuzz.py").exists()


def test_a_live_run_is_followed_to_its_end(tab: Open, rawko: Shell) -> None:
    replies = [picks("developer")]
    replies += [says("developer", call("bash", command=f"sleep 0.3; echo step {n}")) for n in range(6)]
    replies += [says("developer", call("complete", summary="Done.")), judges("COMPLETE", summary="Followed.")]
    scenario = rawko.scenario(*replies)
    page = tab().open()
    started = rawko.start("run", "Count", "--scenario", str(scenario), "--yes", "--quiet")
    page.wait_for_selector("[data-run]")
    page.locator("[data-run] a").first.click()
    page.wait_for_selector(".step[data-step]")
    page.wait_for_function("() => document.querySelector('.run-title .state')?.textContent.includes('success')")
    page.wait_for_selector(".step.selected >> text=success: Followed.")
    started.end()


@pytest.mark.thorough
def test_reading_an_earlier_step_is_not_disturbed_by_new_ones(tab: Open, rawko: Shell) -> None:
    flag = rawko.folder.parent / "go"
    wait = f"while [ ! -e {flag} ]; do sleep 0.1; done"
    replies = [picks("developer"), says("developer", call("bash", command=wait), text="First words.")]
    replies += [says("developer", call("complete", summary="Done.")), judges("COMPLETE", summary="Over.")]
    scenario = rawko.scenario(*replies)
    page = tab().open()
    started = rawko.start("run", "Wait", "--scenario", str(scenario), "--yes", "--quiet")
    page.wait_for_selector("[data-run]")
    page.locator("[data-run] a").first.click()
    page.locator(".step", has_text="First words.").first.click()
    chosen = page.locator(".step.selected").get_attribute("data-step")
    flag.touch()
    page.wait_for_selector(".newer:not([hidden])")
    assert page.locator(".step.selected").get_attribute("data-step") == chosen
    started.end()
    page.locator(".newer").click()
    page.wait_for_selector(".step.selected >> text=success: Over.")


@pytest.mark.thorough
def test_ten_tabs_share_one_stream_and_another_takes_over(tab: Open, shown: Shown) -> None:
    rawko, run = shown.shell, ended_run(shown.shell, name="ten.py")
    first = tab(shown.server)
    first.open()
    tabs = [first, *(tab(first.server, is_new=False) for _ in range(9))]
    for one in tabs[1:]:
        one.open()
        one.page.wait_for_selector(f"[data-run='{run}']")
    streams = [one.page.evaluate(STREAMS) for one in tabs]
    assert sum(streams) <= 1
    first.page.close()
    shutil.rmtree(next(rawko.state.glob(f"*/runs/{run}")))
    for one in tabs[1:]:
        one.page.wait_for_selector(f"[data-run='{run}']", state="detached")


@pytest.mark.thorough
def test_a_run_that_is_removed_while_it_is_watched_is_said(looking: Tab, shown: Shown) -> None:
    rawko, run = shown.shell, ended_run(shown.shell, name="gone.py")
    page = looking.go(f"/runs/{run}")
    page.wait_for_selector(".drawing svg")
    page.wait_for_timeout(1500)
    shutil.rmtree(next(rawko.state.glob(f"*/runs/{run}")))
    page.wait_for_selector("text=This run was removed while you looked at it")


@pytest.mark.thorough
def test_a_restarted_server_is_rejoined_and_a_stale_secret_is_said(tab: Open, rawko: Shell, serve: Serve) -> None:
    run = ended_run(rawko)
    opened = tab(serve("--port", "17891", is_warm=False))
    page = opened.open(f"/runs/{run}")
    page.wait_for_selector(".drawing svg")
    opened.server.stop()
    page.wait_for_selector(".foot.lost")
    assert "no answer from the server since number" in page.locator(".foot-state").inner_text()
    assert page.locator(".step[data-step]").count() > 3
    again = serve("--port", "17891")
    page.evaluate("dispatchEvent(new Event('rawko-retry'))")
    page.wait_for_selector("text=This link is of an earlier start")
    opened.server = again
    opened.open(f"/runs/{run}")
    page.wait_for_selector(".step[data-step]")


def test_two_runs_are_compared_by_what_they_did(looking: Tab, shown: Shown) -> None:
    one, two = shown.ended, ended_run(shown.shell, name="other.py")
    page = looking.go(f"/compare/{one}/{two}")
    page.wait_for_selector(".pair")
    assert "First difference" in page.locator(".aligned").inner_text()
    assert page.locator(".pair.differs").count() >= 1
    assert "tokens" in page.locator(".measures").inner_text()


def test_a_chart_is_shown_as_it_is_saved_and_stepped(looking: Tab, shown: Shown) -> None:
    rawko = shown.shell
    text = "statechart:\n  name: door\n  root state:\n    name: root\n    initial: closed\n    states:\n"
    text += "      - {name: closed, transitions: [{event: OPEN, target: opened}]}\n      - {name: opened}\n"
    rawko.write("door.yaml", text.replace("target: opened", "target: open"))
    page = looking.go("/charts/door.yaml")
    page.wait_for_selector(".drawing .empty:has-text('No picture yet')")
    page.wait_for_selector(".simulate .empty")
    assert "1 error, 0 warnings" in page.locator(".chart-head").inner_text()
    rawko.write("door.yaml", text)
    page.wait_for_selector(".drawing [data-state='opened']")
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(GROUNDS) == page.evaluate(
            "getComputedStyle(document.querySelector('.panel')).backgroundColor"
        )
    page.locator(".drawing [data-state='opened'] text").first.click()
    assert page.locator(".source .here").get_attribute("data-line") == "8"
    page.locator(".sim-row", has_text="OPEN").click()
    page.wait_for_selector(".drawing [data-state='opened'].active")
    rawko.write("door.yaml", text.replace("target: opened", "target: open"))
    page.wait_for_selector(".problem.error")
    assert page.locator(".drawing [data-state='opened']").count() == 1
    rawko.write("door.yaml", text + "      - {name: locked}\n")
    page.wait_for_selector(".drawing [data-state='locked']")


def test_a_phone_shows_one_view_at_a_time_with_answers_in_reach(tab: Open, shown: Shown) -> None:
    run = shown.waiting
    page = tab(shown.server, viewport={"width": 390, "height": 844}, has_touch=True).open(f"/runs/{run}")
    page.wait_for_selector(".phone-tabs button")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".steps").is_visible()
    assert not page.locator(".chart").is_visible()
    box = page.locator(".banner .button.primary").bounding_box()
    assert box is not None
    assert box["height"] >= 44
    assert box["y"] > 500
    page.locator(".phone-tabs button", has_text="Chart").click()
    page.wait_for_selector(".chart .drawing svg")
    for made in page.locator(".phone-tabs button").all():
        made.click()
        page.wait_for_timeout(100)
        assert page.evaluate(WIDEST) <= 390, made.inner_text()
