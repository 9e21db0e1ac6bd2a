"""Draws the pictures of the inspector in the documentation: `python -m tests.web.pictures`, part of `make docs`.

Real runs, a real server, a real browser; times of steps differ from drawing to drawing, so no test compares them.
Without a browser the pictures stay as they are, and a line says so.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from rawko.fleet.fleet import Fleet
from rawko.fleet.task import Repository
from tests.cli.shell import Shell, call, says
from tests.fleet.bed import Bed
from tests.postgres import PostgresServer, Unavailable
from tests.web.conftest import FleetFolder, Server
from tests.web.recorded import TASK, waiting_run

FOLDER = Path(__file__).parents[2] / "docs" / "inspector"
USAGE = {"usage": {"input_tokens": 11_200, "output_tokens": 1_180}}
EVENT = 7
"""The place of the event in a row of steps."""
OLDER = "def fizzbuzz(n: int) -> str:\n    return str(n)\n"
"""What the program was before, so that the approval shows a change."""


def draw(browser: Browser, server: Server, ended: str, waiting: str) -> None:
    """A run in light at a failure, an approval in dark, a run on a phone, a chart with coverage in dark."""
    rows = server.get(f"/api/runs/{ended}/steps")["rows"]
    step = next(row[0] for row in rows if row[EVENT] == "error.invoke.execute_agent")
    shots = (
        ("run", f"/runs/{ended}/{step}", 1440, 900, "light", ""),
        ("approval", f"/runs/{waiting}", 1440, 900, "dark", "Enter"),
        ("phone", f"/runs/{waiting}", 390, 844, "light", ""),
    )
    for name, place, width, height, scheme, key in shots:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(f"{server.link}&{place}")
        page.wait_for_function("() => performance.getEntriesByName('rawko-path').length > 0", timeout=120_000)
        page.wait_for_timeout(1_500)
        if key:
            page.keyboard.press(key)
            page.wait_for_selector(".review")
            page.wait_for_timeout(800)
        page.screenshot(path=FOLDER / f"{name}.png")
        context.close()
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="dark")
    page = context.new_page()
    page.goto(f"{server.link}&/charts/rawko%3Agauntlet")
    page.wait_for_selector(".drawing svg .active")
    page.keyboard.press("c")
    page.wait_for_selector(".coverage .shares", timeout=120_000)
    page.screenshot(path=FOLDER / "chart.png")
    context.close()


def draw_fleet(browser: Browser, base: Path) -> None:
    """The list of a fleet: what needs a person, a dead letter, what is queued and what has ended."""
    base.mkdir()
    try:
        database = PostgresServer()
    except Unavailable as error:
        print(f"no PostgreSQL ({error}): the picture of the fleet stays as it is", file=sys.stderr)
        return
    with database:
        environ = {"RAWKO_FLEET_URL": database.url}
        with Fleet.open(environ) as fleet:
            bed = Bed(base, environ, fleet)
            done = {**says("developer", call("complete", summary="Written.")), **USAGE}
            ask = {**says("developer", call("clarify", question="Keep old cookies for 30 days?")), **USAGE}
            write = {**says("developer", call("write", file_path="fizzbuzz.py", content="x = 1\n")), **USAGE}
            bed.submit(ask, done, words="Migrate the session store to PostgreSQL", tenant="web")
            bed.submit(write, done, words="Write fizzbuzz with a test", tenant="go-team", flags={"assume_yes": False})
            bed.submit(done, words="Upgrade to Django 6", repository=Repository("file:///nowhere", ""), tenant="web")
            for words in ("Add --json to every command", "Review PR 412: retry with jitter", "Write a changelog"):
                bed.submit(done, words=words, tenant="web", queue="night")
            first = bed.worker("--once", "--queues", "default,night")
            first.end()
            bed.submit(done, words="Find a smaller encoding for the journal", queue="weekend")
            bed.worker("--slots", "4", "--queues", "default,night")
            server = Server(FleetFolder(bed), "--fleet")  # type: ignore[arg-type]  # all that it uses
            try:
                context = browser.new_context(viewport={"width": 1440, "height": 900})
                page = context.new_page()
                page.goto(server.link)
                page.wait_for_selector(".queue.workers:has-text('1 worker')")
                page.screenshot(path=FOLDER / "fleet.png")
                context.close()
            finally:
                server.stop()
                bed.close()


def main() -> int:
    """Write the pictures."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no chromium is installed: the pictures in docs/inspector stay as they are", file=sys.stderr)
        return 0
    FOLDER.mkdir(exist_ok=True)
    base = Path(tempfile.gettempdir()) / "rawko-pictures"
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir()
    shell = Shell(base)
    ended = str(shell("run", TASK, "--yes", "--scenario", "fizzbuzz", "--json", "--quiet").report["run"])
    shell.write("fizzbuzz.py", OLDER)
    waiting = waiting_run(shell)
    server = Server(shell)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            draw(browser, server, ended, waiting)
            draw_fleet(browser, base / "fleet")
            browser.close()
    finally:
        server.stop()
        shutil.rmtree(base, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
