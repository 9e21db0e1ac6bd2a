"""What the inspector's pages cost in a real browser: first paint, size, and the frames of a scroll.

    python -m tests.bench.views.inspector [--steps 1000] [--events 100000] [--live 40]

The run whose first paint is measured is a real one, with its snapshots and checkpoints; the rows of the long one that
is scrolled are those of a short real one, repeated. The server and the browser are processes of their own. First paint
is the time from the navigation to the mark that the page sets when its rows stand; the longest frame is measured while
the list of all events is scrolled from top to bottom, and the way through the chart still comes behind them. A live run
of as many commands as asked tells how long a row takes from its event to the frame that shows it.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from rawko.runtime.session import CHECKPOINT_EVERY
from rawko.web.pages import SCRIPT, STYLE, packed
from tests.cli.shell import Shell, call, judges, picks, says
from tests.web.conftest import Server

ROUNDS = 8
FRAMES = 150
USED = {"input_tokens": 1200, "output_tokens": 80}
SCROLL = """async () => {
  const list = document.querySelector('.steps .scroll');
  const frames = [];
  let last = performance.now();
  const end = list.scrollHeight;
  for (let n = 0; n <= 150; n++) {
    list.scrollTop = end * n / 150;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    frames.push(now - last);
    last = now;
  }
  return frames;
}"""


SCROLL_ONCE = """async (share) => {
  const list = document.querySelector('.steps .scroll');
  list.scrollTop = list.scrollHeight * share;
  for (let wait = 0; wait < 2; wait++) await new Promise(requestAnimationFrame);
}"""


MOVE = """async () => {
  const moved = [];
  for (let n = 0; n < 40; n++) {
    document.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', bubbles: true }));
    for (let wait = 0; wait < 2; wait++) await new Promise(requestAnimationFrame);
    moved.push(location.hash);
  }
  return moved;
}"""


NEWS = """() => {
  window.latencies = [];
  const told = (list) => requestAnimationFrame(() => {
    const now = (performance.timeOrigin + performance.now()) / 1000;
    for (const mark of list.getEntriesByName('rawko-news')) for (const [, at] of mark.detail) latencies.push(now - at);
  });
  new PerformanceObserver(told).observe({ type: 'mark' });
}"""


@dataclass(frozen=True, slots=True)
class Figures:
    """Milliseconds and bytes; `paint_cpu_ms` of browser and server, `frame_ms` of a scroll over all events.

    `frame_cpu_ms` and `move_cpu_ms` are CPU time of the page's own thread, per frame of the scroll and per step moved
    by a key: other load on the machine adds little to them. `worst_frame_cpu_ms` is the longest of a second scroll, in
    which each frame is asked for by itself. `late_ms`: of each row of a live run, sorted.
    """

    paint_ms: float
    least_paint_ms: float
    paint_cpu_ms: float
    pages_bytes: int
    frame_ms: float
    worst_frame_ms: float
    frame_cpu_ms: float
    worst_frame_cpu_ms: float
    move_cpu_ms: float
    hosts: int
    late_ms: Sequence[float]


AGENT = """\
name: developer
when_to_use: Always.
system_prompt: You are a developer.
limits: {turns: 100000, tool_steps: 100000}
"""
ROWS_PER_WRITE = 6


def written(shell: Shell, steps: int) -> str:
    """A real run of about as many steps, which writes files; its id."""
    shell.write(".rawko/agents/developer.yaml", AGENT)
    replies = [picks("developer")]
    for number in range(steps // ROWS_PER_WRITE):
        write = call("write", file_path=f"notes/{number % 20}.txt", content=f"line {number}\n" * 5)
        replies.append(says("developer", write, text=f"Now note {number}.", usage=USED))
    replies += [says("developer", call("complete", summary="Written.")), judges("COMPLETE", summary="All of it.")]
    path = shell.scenario(*replies, name="written.yaml")
    return str(shell("run", "Write", "--scenario", str(path), "--yes", "--trust", "--json", "--quiet").report["run"])


def lengthened(shell: Shell, run: str, rows: int) -> None:
    """Repeat the middle of a run's journal until it has as many rows, with checkpoints as a run of that length has."""
    database = sqlite3.connect(next(shell.state.glob("*/journal.db")))
    with database:
        (last,) = database.execute("SELECT last_seq FROM runs WHERE run = ?", (run,)).fetchone()
        middle = database.execute(
            "SELECT epoch, actor, time, event, receipt, body FROM steps "
            "WHERE run = ? AND seq BETWEEN 5 AND ? ORDER BY seq",
            (run, last - 2),
        ).fetchall()
        start = middle[-1][2]
        made = (
            (run, seq, row[0], row[1], start + (seq - last) * 0.7, row[3], row[4], row[5])
            for seq in range(last + 1, rows + 1)
            for row in (middle[(seq - last - 1) % len(middle)],)
        )
        database.executemany("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?)", made)
        database.execute("UPDATE runs SET last_seq = ? WHERE run = ?", (rows, run))
        kept = "SELECT body FROM checkpoints WHERE run = ? ORDER BY seq DESC"
        (body,) = database.execute(kept, (run,)).fetchone()
        later = ((run, seq, body) for seq in range(last + CHECKPOINT_EVERY, rows, CHECKPOINT_EVERY))
        database.executemany("INSERT INTO checkpoints VALUES (?, ?, ?)", later)
    database.close()


def late(browser: Browser, server: Server, commands: int) -> Sequence[float]:
    """Milliseconds from each event of a live run to the frame that shows its row."""
    shell = server.shell
    replies = [picks("developer")]
    replies += [says("developer", call("bash", command=f"sleep 0.15; echo {n}")) for n in range(commands)]
    replies += [says("developer", call("complete", summary="Done.")), judges("COMPLETE", summary="Counted.")]
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.goto(server.link)
    page.wait_for_selector(".link-state.live")
    known = {one["run"] for one in server.get("/api/runs")["runs"]}
    live = shell.start("run", "Count", "--scenario", str(shell.scenario(*replies)), "--yes", "--quiet")
    while not (new := {one["run"] for one in server.get("/api/runs")["runs"]} - known):
        time.sleep(0.1)
    page.evaluate("place => { location.hash = '#' + place }", f"/runs/{new.pop()}")
    page.wait_for_function("() => document.querySelectorAll('.step[data-step]').length > 8")
    page.evaluate(NEWS)
    page.wait_for_function("() => document.querySelector('.run-title .state').textContent.includes('success')")
    live.end()
    found = page.evaluate("latencies")
    page.close()
    return sorted(one * 1000 for one in found)


def measure(browser: Browser, steps: int, events: int, commands: int) -> Figures:
    """Both runs in a folder of their own."""
    base = Path(tempfile.mkdtemp())
    try:
        shell = Shell(base)
        short, long = written(shell, steps), written(shell, 2 * CHECKPOINT_EVERY)
        lengthened(shell, long, events)
        server = Server(shell)
        try:
            return _measured(browser, server, short, long, commands)
        finally:
            server.stop()
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _measured(browser: Browser, server: Server, short: str, long: str, commands: int) -> Figures:
    paints, costs = [], []
    hosts: set[str] = set()
    for _ in range(ROUNDS + 1):
        context = browser.new_context(viewport={"width": 1440, "height": 1000})
        page = context.new_page()
        page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
        before = _cpu_s()
        page.goto(f"{server.link}&/runs/{short}")
        page.wait_for_function("() => performance.getEntriesByName('rawko-rows').length > 0")
        paints.append(page.evaluate("performance.getEntriesByName('rawko-rows')[0].startTime"))
        costs.append(_cpu_s() - before)
        context.close()
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.goto(f"{server.link}&/runs/{long}")
    page.wait_for_selector(".steps .choice", timeout=240_000)
    page.get_by_role("button", name="all", exact=True).click()
    count = f"{server.get(f'/api/runs/{long}/steps?last=1')['count']:,}"
    whole = "count => document.querySelector('.steps header .muted').textContent === `${count} of ${count}`"
    page.wait_for_function(whole, arg=count, timeout=480_000)
    page.wait_for_timeout(1_000)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    begun = _thread_ms(session)
    frames = page.evaluate(SCROLL)[2:]
    frame_cpu = (_thread_ms(session) - begun) / len(frames)
    worst_frame_cpu = max(_cpu_of_frame(page, session, number / FRAMES) for number in range(FRAMES + 1))
    begun = _thread_ms(session)
    moves = len(page.evaluate(MOVE))
    move_cpu = (_thread_ms(session) - begun) / moves
    page.close()
    size = sum(len(packed(name) or b"") for name in ("index.html", SCRIPT, STYLE, "icon.svg"))
    return Figures(
        median(paints[1:]),
        min(paints[1:]),
        median(costs[1:]) * 1000,
        size,
        median(frames),
        max(frames),
        frame_cpu,
        worst_frame_cpu,
        move_cpu,
        len(hosts - {server.host}),
        late(browser, server, commands),
    )


def _cpu_of_frame(page: Page, session: CDPSession, share: float) -> float:
    """CPU milliseconds of the page's main thread for a scroll to a share of the list, until its frame is drawn."""
    begun = _thread_ms(session)
    page.evaluate(SCROLL_ONCE, share)
    return _thread_ms(session) - begun


def _thread_ms(session: CDPSession) -> float:
    """CPU milliseconds of the page's main thread so far."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration")) * 1000


def _cpu_s() -> float:
    """CPU seconds of all processes below this one so far: the browser's and the server's."""
    found = 0.0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            found += times.user + times.system
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.views.inspector", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--live", type=int, default=40, help="commands of the live run")
    given = parser.parse_args(arguments)
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no chromium is installed", file=sys.stderr)
        return 2
    started = time.monotonic()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        found = measure(browser, given.steps, given.events, given.live)
        browser.close()
    print(
        f"first paint of {given.steps:,} steps   {found.paint_ms:.0f} ms, the shortest {found.least_paint_ms:.0f} ms; "
        f"CPU of all processes {found.paint_cpu_ms:.0f} ms"
    )
    print(f"all pages, compressed      {found.pages_bytes / 1000:.0f} kB")
    print(f"frames over {given.events:,} events  {found.frame_ms:.1f} ms, the longest {found.worst_frame_ms:.1f} ms")
    print(
        f"CPU of the page's thread   {found.frame_cpu_ms:.1f} ms per frame, "
        f"the longest {found.worst_frame_cpu_ms:.1f} ms; {found.move_cpu_ms:.1f} ms per step moved"
    )
    many = len(found.late_ms)
    print(
        f"from event to line         median {median(found.late_ms):.0f} ms, the longest {found.late_ms[-1]:.0f} ms; "
        f"{sum(one <= 100 for one in found.late_ms)} of {many} within 100 ms"
    )
    print(f"other hosts asked          {found.hosts}")
    print(f"({time.monotonic() - started:.0f} s)", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
