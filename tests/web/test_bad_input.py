"""What a page may come across: a chart of 5,000 states, a result of 20 MB, files that are no text, a rewind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.shell import Shell, call, judges, picks, says
from tests.web.conftest import Shown, Tab
from tests.web.recorded import ended_run

pytestmark = pytest.mark.slow
STATES = 5_000
LARGE = 20_000_000
FILES = (
    r"""printf 'caf\351\n' > latin.txt; printf '\000\001' > data.bin; printf 'a\n' > "$(printf 'n\377.txt')" """,
    r"""printf 'caf\350\n' > latin.txt; printf '\000\003' > data.bin; printf '\033[31mred\n' > escape.txt""",
)


def run_of(shell: Shell, *commands: str) -> str:
    """A run of some commands; its id."""
    replies = [picks("developer"), *(says("developer", call("bash", command=command)) for command in commands)]
    replies += [says("developer", call("complete", summary="Done.")), judges("COMPLETE", summary="Done.")]
    path = shell.scenario(*replies, name="commands.yaml")
    return str(shell("run", "Do it", "--scenario", str(path), "--json", "--quiet", "--yes").report["run"])


@pytest.mark.thorough
def test_a_chart_of_5000_states_is_shown_stepped_and_led_to_its_lines(looking: Tab, shown: Shown) -> None:
    lines = [f"      - {{name: s{n}, transitions: [{{event: GO, target: s{n + 1}}}]}}" for n in range(STATES - 1)]
    head = "statechart:\n  name: big\n  root state:\n    name: root\n    initial: s0\n    states:\n"
    shown.shell.write("big.yaml", head + "\n".join(lines) + f"\n      - {{name: s{STATES - 1}}}\n")
    page = looking.go("/charts/big.yaml")
    page.wait_for_selector(".source .line >> text=s4999", state="attached", timeout=240_000)
    page.wait_for_selector(".sim-row", timeout=240_000)
    assert page.locator(".drawing [data-state]").count() >= STATES
    page.locator(".sim-row", has_text="GO").click()
    page.wait_for_selector(".drawing [data-state='s1'].active")
    assert page.locator(".drawing .now").count() >= 1
    page.evaluate("""() => document.querySelector("[data-state='s4000'] text").dispatchEvent(
        new MouseEvent('click', { bubbles: true }))""")
    assert page.locator(".source .here").get_attribute("data-line") == "4007"


@pytest.mark.thorough
def test_a_result_of_20_mb_is_shown_by_its_beginning_and_saved_whole(
    looking: Tab, shown: Shown, tmp_path: Path
) -> None:
    run = run_of(shown.shell, f"head -c {LARGE} /dev/zero | tr '\\0' x", "echo after")
    page = looking.go(f"/runs/{run}")
    page.locator(".step:has(.words.code)").first.click()
    page.get_by_role("tab", name="Call").click()
    page.wait_for_function("() => /x{1000}/.test(document.querySelector('.detail-body').textContent)")
    told = page.evaluate("document.querySelector('.detail-body').textContent")
    assert len(told) < 200_000
    assert "xxxx" in told
    with page.expect_download(timeout=240_000) as saved:
        page.get_by_role("button", name="Save the whole text").click()
    text = saved.value.path().read_text(encoding="utf-8")
    named = re.search(r"20\.0 MB left out; the whole output is in (\S+),", text)
    assert named is not None, "what the model was given, which says where the rest is"
    assert Path(named[1]).stat().st_size >= LARGE
    for tab in ("Talk", "Why", "Context", "Prompt"):
        page.get_by_role("tab", name=tab).click()
        page.wait_for_function("() => document.querySelector('.detail-body').textContent.length > 0")
    sizes = [len(shown.server.ask(f"/api/runs/{run}/{what}")[2]) for what in ("steps", "moments/20", "steps/8")]
    assert max(sizes) < 1_000_000, "no answer holds the whole of it"


def test_files_that_are_no_text_are_told_and_compared(looking: Tab, shown: Shown) -> None:
    run = run_of(shown.shell, *FILES)
    page = looking.go(f"/runs/{run}")
    page.locator(".step:has(.words.code)").nth(1).click()
    page.get_by_role("tab", name="Files").click()
    page.wait_for_selector(".tree-row:has-text('data.bin') em:text-is('binary')")
    told = page.locator(".detail-body").inner_text()
    assert "latin.txt" in told
    assert "U+001B" in told, "a control character is a mark, never obeyed"
    assert "\x1b" not in told
    page.get_by_role("button", name="since start").click()
    page.get_by_role("button", name="split").click()
    page.wait_for_selector(".diff.split .line.head >> nth=0")
    assert "nU+DCFF.txt" in page.locator(".tree").inner_text(), "a name that is not UTF-8"
    assert "caf" in page.locator(".file:has-text('latin.txt')").inner_text()
    diff = json.loads(shown.server.ask(f"/api/runs/{run}/diff")[2])
    assert sorted(file["path"] for file in diff["files"])[:1] == ["data.bin"]
    assert all(file["is_binary"] for file in diff["files"] if file["path"] == "data.bin")


def test_a_page_left_open_over_a_rewind_from_elsewhere_shows_it(looking: Tab, shown: Shown) -> None:
    run = ended_run(shown.shell, name="over.py")
    page = looking.go(f"/runs/{run}")
    page.locator(".step:has(.words:text-is('write over.py'))").click()
    page.keyboard.press("5")
    page.wait_for_selector(".diff .line.added")
    count = shown.server.get(f"/api/runs/{run}/steps")["count"]
    assert shown.shell("rewind", f"{run}@5").code == 0
    page.wait_for_selector("text=show what a rewind left")
    page.locator("text=show what a rewind left").click()
    page.wait_for_selector(".step.left:has(.words:text-is('write over.py'))")
    assert page.locator(".step:not(.left)[data-step]").last.get_attribute("data-step") == str(count + 1)
    page.locator(".step.left:has(.words:text-is('write over.py'))").click()
    page.wait_for_selector(".diff .line.added")
    assert not (shown.shell.folder / "over.py").exists()


def test_a_run_that_goes_while_its_step_is_asked_for_is_said(tab: Callable[..., Tab], shown: Shown) -> None:
    page = tab(shown.server).open("/runs/20200101-000000-0000000")
    page.wait_for_selector("text=There is no such run in this folder any more.")
    page.get_by_role("link", name="All runs").click()
    page.wait_for_selector(".run-row")
