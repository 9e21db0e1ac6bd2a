"""`rawko serve --fleet`: real workers and a real PostgreSQL behind it, real pages before it."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest
from sqlalchemy import create_engine, make_url, text

from rawko.fleet.fleet import Fleet
from rawko.fleet.task import Repository
from tests.cli.shell import call, says
from tests.fleet.bed import Bed, repository
from tests.fleet.databases import execute, fresh_database
from tests.web.conftest import FleetFolder, Server, Tab, wait_until
from tests.web.recorded import HOSTILE

DONE: Final = says("developer", call("complete", summary="Written."))
ASKS: Final = says("developer", call("clarify", question="Tabs or spaces?"))
USED: Final = {"usage": {"input_tokens": 900, "output_tokens": 200}}
Open = Callable[..., Tab]

pytestmark = pytest.mark.slow


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    """A fleet in a folder of its own, beside the one that a tab is opened with."""
    base = tmp_path / "fleet-bed"
    base.mkdir()
    with fresh_database() as url:
        environ = {"RAWKO_FLEET_URL": url.render_as_string(hide_password=False)}
        with Fleet.open(environ) as fleet:
            made = Bed(base, environ, fleet)
            try:
                yield made
            finally:
                made.close()


@pytest.fixture
def served(bed: Bed) -> Iterator[Server]:
    server = Server(FleetFolder(bed), "--fleet", is_warm=True)  # type: ignore[arg-type]  # all that it uses
    yield server
    server.stop()


def _bash(command: str) -> dict[str, Any]:
    return says("developer", call("bash", command=command))


def _statement(bed: Bed, statement: str) -> None:
    engine = create_engine(make_url(bed.environ["RAWKO_FLEET_URL"]))
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


# ---------------------------------------------------------------- pages


def test_a_question_stands_first_is_answered_on_the_page_and_its_end_is_shown(
    bed: Bed,
    served: Server,
    tab: Open,
) -> None:
    ended, asking = bed.submit(DONE), bed.submit(ASKS, DONE, words="Format it.", tenant="web")
    worker = bed.worker("--slots", "2")
    bed.wait_ended(ended)
    bed.wait_ended(asking)
    page = tab(served).open()
    page.wait_for_selector(f"[data-run='{ended}']")
    assert [row.get_attribute("data-run") for row in page.locator("[data-run]").all()] == [asking, ended]
    page.locator(f"[data-run='{asking}']", has_text="Tabs or spaces?").wait_for()
    page.wait_for_function("() => document.title === '(1) rawko'")
    page.locator("select[aria-label=Tenant]").select_option("web")
    page.wait_for_function("() => document.querySelectorAll('[data-run]').length === 1")
    page.locator(f"[data-run='{asking}'] .name").click()
    page.wait_for_selector(".banner .button.primary")
    assert "tenant web" in page.locator(".run-title").inner_text()
    page.wait_for_selector(".drawing svg")
    page.locator(".banner .button.primary").click()
    page.locator("dialog textarea").fill("Spaces.")
    page.locator("dialog button[value=yes]").click()
    page.wait_for_selector(".run-title .state.success")
    page.wait_for_selector(".step .words:has-text('success')")
    assert page.locator(".banner").is_hidden()
    assert bed.task(asking).outcome == "success"
    assert worker.end(signal.SIGTERM) == 0, worker.said


def test_what_happens_in_the_fleet_comes_to_the_list_by_itself(bed: Bed, served: Server, tab: Open) -> None:
    page = tab(served).open()
    page.wait_for_selector(".gone code:text-is('rawko worker --slots 4')")
    run = bed.submit(_bash("true"), DONE, words=HOSTILE)
    page.wait_for_selector(f"[data-run='{run}'] .state.queued")
    assert "No worker lives" in page.locator(".queues").inner_text()
    worker = bed.worker()
    page.wait_for_selector(f"[data-run='{run}'] .state.success")
    page.wait_for_selector(".queue.workers:has-text('1 worker')")
    page.wait_for_selector(".count.success b:text-is('1')")
    assert page.evaluate("document.title") == "rawko"
    assert "\\u202egnp.exe" in page.locator(f"[data-run='{run}']").inner_text()
    page.locator("[data-queue=default] .button", has_text="Pause").click()
    page.wait_for_selector("[data-queue=default] .badge:text-is('paused')")
    assert bed.fleet.queues()[0].is_paused
    page.locator("[data-queue=default] .button", has_text="Open").click()
    page.wait_for_selector("[data-queue=default] .button:has-text('Drain')")
    assert not bed.fleet.queues()[0].is_paused
    assert worker.end(signal.SIGTERM) == 0, worker.said


def test_a_dead_letter_is_told_with_its_reason_and_requeued_on_the_page(bed: Bed, served: Server, tab: Open) -> None:
    origin = bed.base / "origin"
    run = bed.submit(DONE, repository=Repository(f"file://{origin}", ""))
    worker = bed.worker()
    bed.wait(run, lambda task: task.state == "dead")
    page = tab(served).open()
    row = page.locator(f"[data-run='{run}']")
    page.wait_for_selector(f"[data-run='{run}'] .bad")
    assert "cannot be cloned" in row.inner_text()
    shutil.copytree(repository(bed.base / "made", {"a": "a\n"}).address, origin)
    row.hover()
    row.locator(".button", has_text="Requeue").click()
    page.wait_for_selector(f"[data-run='{run}'] .state.success")
    assert worker.end(signal.SIGTERM) == 0, worker.said


@pytest.mark.thorough
def test_a_database_that_is_away_is_told_on_the_page_which_goes_on_when_it_is_back(
    bed: Bed,
    served: Server,
    tab: Open,
) -> None:
    run = bed.submit(DONE)
    page = tab(served).open()
    page.wait_for_selector(f"[data-run='{run}'] .state.queued")
    url = make_url(bed.environ["RAWKO_FLEET_URL"])
    server, name = url.set(database="postgres"), url.database
    execute(server, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    execute(server, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    try:
        page.wait_for_selector(".warning:has-text('does not answer')")
        told = page.locator(".warning").inner_text()
        status, _, body = served.ask("/api/fleet")
        assert status == 503
        for said in (told, body.decode(), served.errors.read_text()):
            assert (url.password or "?") not in said
        page.reload()
        page.wait_for_selector(".warning:has-text('does not answer')")
    finally:
        execute(server, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    page.wait_for_selector(f"[data-run='{run}'] .state.queued")
    page.wait_for_function("() => document.querySelector('.warning').hidden")
    worker = bed.worker("--once")
    page.wait_for_selector(f"[data-run='{run}'] .state.success")
    assert worker.end() == 0, worker.said


@pytest.mark.thorough
def test_a_budget_is_enlarged_and_a_run_is_cancelled_on_a_phone(bed: Bed, served: Server, tab: Open) -> None:
    run = bed.submit({**_bash("true"), **USED}, DONE, flags={"budget.tokens": 1000})
    asking = bed.submit(ASKS, DONE)
    worker = bed.worker()
    bed.wait_ended(run)
    bed.wait_ended(asking)
    page = tab(served, viewport={"width": 390, "height": 844}, has_touch=True).open()
    page.wait_for_selector(f"[data-run='{run}'] .button")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator(f"[data-run='{run}'] .button", has_text="Larger budget").click()
    page.locator("dialog input[aria-label^=Tokens]").fill("many")
    page.locator("dialog button[value=yes]").click()
    page.wait_for_selector(".notice.bad:has-text('--max-tokens')")
    page.locator(f"[data-run='{run}'] .button", has_text="Larger budget").click()
    page.locator("dialog input[aria-label^=Tokens]").fill("9000")
    page.locator("dialog button[value=yes]").click()
    page.wait_for_selector(f"[data-run='{run}'] .state.success")
    assert bed.task(run).outcome == "success"
    status, told = served.post(f"/api/runs/{asking}/cancel")
    assert (status, told["words"]) == (200, "sent; a worker continues the run")
    page.wait_for_selector(f"[data-run='{asking}'] .state.cancelled")
    assert worker.end(signal.SIGTERM) == 0, worker.said


# ---------------------------------------------------------------- addresses


def test_without_a_fleet_or_with_newer_tables_it_says_so_and_ends(bed: Bed) -> None:
    own = dict(bed.environ)
    bed.environ.pop("RAWKO_FLEET_URL")
    done = bed.command("serve", "--fleet")
    assert done.returncode == 2
    assert "no fleet is named: set RAWKO_FLEET_URL" in done.stderr
    bed.environ.update(own)
    _statement(bed, "UPDATE rawko_fleet.meta SET value = '99'")
    done = bed.command("serve", "--fleet")
    assert done.returncode == 2
    assert "has tables of format 99" in done.stderr


def test_a_server_that_is_started_while_the_database_is_away_shows_its_runs_later(bed: Bed) -> None:
    run = bed.submit(DONE)
    url = make_url(bed.environ["RAWKO_FLEET_URL"])
    postgres, name = url.set(database="postgres"), url.database
    execute(postgres, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    execute(postgres, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    try:
        server = Server(FleetFolder(bed), "--fleet", is_warm=True)  # type: ignore[arg-type]
        assert server.ask("/api/fleet")[0] == 503
    finally:
        execute(postgres, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    found = wait_until(lambda: server.ask("/api/fleet")[0] == 200 and server.get("/api/fleet"), "it answers")
    assert [row["run"] for row in found["rows"]["queued"]] == [run]
    assert "the pages say so until it answers" in server.errors.read_text()
    server.stop()


def test_an_outside_page_may_neither_look_nor_act(bed: Bed, served: Server) -> None:
    run = bed.submit(DONE)
    for path, method in (
        ("/api/fleet", "GET"),
        (f"/api/fleet/tasks/{run}/requeue", "POST"),
        ("/api/fleet/queues/default/pause", "POST"),
        (f"/api/runs/{run}/cancel", "POST"),
    ):
        body: dict[str, str] | None = {} if method == "POST" else None
        assert served.ask(path, method, body, Origin="http://evil.example")[0] == 403
        assert served.ask(path, method, body, Host="evil.example")[0] == 421
        assert served.ask(path, method, body, secret="wrong")[0] == 401
    assert bed.task(run).state == "queued"
    assert not bed.fleet.queues()[0].is_paused
    password = make_url(bed.environ["RAWKO_FLEET_URL"]).password or "?"
    for path in ("/", "/api/about", "/api/fleet", f"/api/runs/{run}"):
        assert password.encode() not in served.ask(path)[2]


def test_tasks_come_a_page_at_a_time_each_once_and_by_what_is_asked_for(bed: Bed, served: Server) -> None:
    _statement(
        bed,
        """INSERT INTO rawko_fleet.tasks (run, tenant, queue, priority, task, state, outcome)
        SELECT '20260101-000000-' || lpad(n::text, 7, '0'), CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END, 'q', 0,
        jsonb_build_object('text', 'Task 100%_' || n), CASE WHEN n <= 450 THEN 'queued' ELSE 'ended' END,
        CASE WHEN n > 450 THEN 'success' END FROM generate_series(1, 500) n""",
    )
    first = served.get("/api/fleet")
    assert first["counts"] == {"queued": 450, "ended": 50}
    assert sum(one["count"] for one in first["tallies"]) == 500
    seen: list[str] = []
    after, pages = "", 0
    while True:
        found = served.get(f"/api/fleet/tasks?state=queued&after={quote(after)}")
        seen += [row["run"] for row in found["rows"]]
        pages += 1
        if found["is_all"]:
            break
        after = found["rows"][-1]["place"]
    assert (len(seen), len(set(seen)), pages) == (450, 450, 3)
    assert served.get("/api/fleet?tenant=odd&text=" + quote("100%_44"))["counts"] == {"queued": 5}
    assert served.ask("/api/fleet/tasks?state=lost")[0] == 422
    assert served.ask("/api/fleet/tasks?state=queued&after=x")[0] == 422


@pytest.mark.thorough
def test_what_is_not_seen_any_more_decides_nothing(bed: Bed, served: Server) -> None:
    run, other = bed.submit(_bash("echo hi"), DONE, flags={"assume_yes": False}), bed.submit(ASKS, ASKS, DONE)
    worker = bed.worker()
    for one in (run, other):
        bed.wait_ended(one)
    rows = {row["run"]: row for row in served.get("/api/fleet")["rows"]["waiting"]}
    assert rows[run]["question"]["is_whole"], rows[run]
    status, told = served.post(f"/api/fleet/tasks/{run}/approve", text="once", seen="earlier")
    assert (status, told["message"]) == (409, "the task has changed since then: reload the list")
    status, told = served.post(f"/api/fleet/tasks/{run}/answer", text="Yes.", seen=rows[run]["seen"])
    assert status == 422
    assert "waits for something else" in told["message"]
    asked = served.get(f"/api/runs/{other}")["view"]["needs"]["number"]
    assert served.post(f"/api/runs/{other}/answer", text="Spaces.", asked=asked)[0] == 200
    bed.wait(other, lambda task: task.state == "waiting" and (task.steps > rows[other]["steps"]))
    status, told = served.post(f"/api/runs/{other}/answer", text="Tabs.", asked=asked)
    assert (status, told["error"]) == (409, "outdated")
    assert served.post(f"/api/runs/{run}/rewind", step=1)[0] == 422
    assert served.post(f"/api/fleet/tasks/{run}/requeue")[0] == 422
    status, told = served.post(f"/api/fleet/tasks/{run}/approve", text="once", seen=rows[run]["seen"])
    assert (status, told["is_taken"]) == (200, True)
    assert bed.wait_ended(run).outcome == "success"
    assert worker.end(signal.SIGTERM) == 0, worker.said


def test_a_run_whose_files_are_elsewhere_is_fetched_and_one_without_a_journal_says_so(
    bed: Bed,
    served: Server,
) -> None:
    run, broken = bed.submit(_bash("echo one > log.txt"), DONE), bed.submit(DONE)
    worker = bed.worker("--once")
    assert worker.end() == 0, worker.said
    shutil.rmtree(bed.base / "fleet" / "workspaces")
    shutil.rmtree(bed.base / "state")
    (bed.base / "state").mkdir(mode=0o700)
    rows = served.get(f"/api/runs/{run}/steps")["rows"]
    assert len(rows) == bed.task(run).steps
    assert "log.txt" in json.dumps(served.get(f"/api/runs/{run}/diff?a=first&b=last"))
    assert (bed.base / "fleet" / "copies" / run).is_dir()
    assert not (bed.base / "fleet" / "copies" / broken).exists(), "only what is asked for is fetched"
    _statement(bed, f"UPDATE steps SET body = 'x' WHERE run = '{broken}'")
    view = served.get(f"/api/runs/{broken}")["view"]
    assert view["outcome"] == "success"
    assert "step 1 cannot be read" in json.dumps(served.get(f"/api/runs/{broken}/steps"))
    assert (make_url(bed.environ["RAWKO_FLEET_URL"]).password or "?") not in json.dumps(view)
    assert served.get("/api/fleet")["counts"] == {"ended": 2}
    assert served.ask("/api/runs/20990101-000000-0000000")[0] == 404
