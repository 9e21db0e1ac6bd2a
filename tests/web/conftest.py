"""Fixtures of the inspector's tests: a folder with runs, a server of its own process, a page in a real browser."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.cli.shell import RAWKO, Shell
from tests.cli.warm import calling
from tests.fleet.bed import Bed
from tests.web.recorded import ended_run, waiting_run

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-features=Translate,OptimizationHints,MediaRouter,SpareRendererForSitePerProcess",
    "--in-process-gpu",
    "--force-color-profile=srgb",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
    "--remote-debugging-port=0",
)


class Server:
    """`rawko serve` of a folder, as a process.

    Args:
        is_warm: A process that has loaded its modules carries it out (tests/cli/warm.py), and it is killed at the end:
            not for tests of how a server begins or ends.
    """

    def __init__(self, shell: Shell, *words: str, is_warm: bool = False) -> None:
        self.shell = shell
        self.errors = shell.folder.parent / f"serve-{token_hex(4)}.err"
        environ = shell.environ()
        with self.errors.open("wb") as err:
            self.process = subprocess.Popen(
                [*(calling(environ) if is_warm else RAWKO), "serve", *words],
                cwd=shell.folder,
                env=environ,
                stdout=subprocess.PIPE,
                stderr=err,
            )
        assert self.process.stdout is not None
        self.link = self.process.stdout.readline().decode().strip()
        assert self.link, self.errors.read_text()
        self.host = urlsplit(self.link).netloc
        self.secret = self.link.partition("secret=")[2]

    def ask(
        self, path: str, method: str = "GET", body: Any = None, secret: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer."""
        connection = HTTPConnection(self.host, timeout=120)
        given = {"X-Rawko-Secret": self.secret if secret is None else secret}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {name: value for name, value in given.items() if value})
        answer = connection.getresponse()
        found = (answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        connection.close()
        return found

    def get(self, path: str) -> Any:
        """The JSON of an answer that is no refusal."""
        status, _, body = self.ask(path)
        assert status == 200, body
        return json.loads(body)

    def post(self, path: str, /, **given: Any) -> tuple[int, Any]:
        status, _, body = self.ask(path, "POST", given)
        return status, json.loads(body)

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        assert "Traceback" not in self.errors.read_text(), self.errors.read_text()
        return code


class FleetFolder:
    """What a server of a fleet needs of a folder, where `Server` takes a shell."""

    def __init__(self, bed: Bed) -> None:
        self.folder, self._environ = bed.elsewhere, bed.environ

    def environ(self) -> dict[str, str]:
        return dict(self._environ)


@pytest.fixture
def rawko(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@dataclass(frozen=True, slots=True)
class Shown:
    """A folder with a server and two runs, for tests that only look at them, or make runs of their own beside them."""

    shell: Shell
    server: Server
    ended: str
    waiting: str


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    shell = Shell(tmp_path_factory.mktemp("shown"))
    server = Server(shell, is_warm=True)
    yield Shown(shell, server, ended_run(shell), waiting_run(shell, name="waiting.py"))
    server.stop()


@pytest.fixture
def serve(rawko: Shell) -> Iterator[Callable[..., Server]]:
    """Starts servers of the folder, and ends them after the test."""
    started: list[Server] = []

    def start(*words: str, shell: Shell = rawko, is_warm: bool = True) -> Server:
        started.append(Server(shell, *words, is_warm=is_warm))
        return started[-1]

    yield start
    for server in started:
        server.stop()


def wait_until(holds: Callable[[], Any], what: str, timeout_s: float = 120) -> Any:
    """What `holds` returns, once it is true."""
    until = time.monotonic() + timeout_s
    while not (found := holds()):
        assert time.monotonic() < until, f"not within {timeout_s} s: {what}"
        time.sleep(0.05)
    return found


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the DevTools protocol of Debian's chromium, one process for all modules."""
    if CHROMIUM is None:
        pytest.skip("no chromium is installed: apt-get install chromium")
    profile = tmp_path_factory.mktemp("chromium")
    with (
        (profile / "said").open("wb") as said,
        subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={profile}"], stdin=subprocess.DEVNULL, stdout=said, stderr=said
        ) as process,
    ):
        port = profile / "DevToolsActivePort"
        wait_until(lambda: port.exists() and "\n" in port.read_text(), "chromium listens")
        number, path = port.read_text().split()[:2]
        yield f"ws://127.0.0.1:{number}{path}"
        process.terminate()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Debian's chromium, driven over its DevTools protocol.

    Not for the whole session: playwright keeps an event loop running in this thread, where other tests could run none.
    """
    with sync_playwright() as playwright:
        opened = playwright.chromium.connect_over_cdp(chromium)
        yield opened
        opened.close()


class Tab:
    """A page of the inspector, with all that went wrong in it."""

    def __init__(self, context: BrowserContext, server: Server) -> None:
        self.page = context.new_page()
        self.server = server
        self.problems: list[str] = []
        self.hosts: set[str] = set()
        self.bytes = 0
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._said)
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))

    def _said(self, message: Any) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.problems.append(message.text)

    def open(self, place: str = "/runs") -> Page:
        self.page.goto(self.server.link)
        self.page.wait_for_selector(".link-state.live", timeout=60_000)
        self.go(place)
        return self.page

    def go(self, place: str) -> Page:
        self.page.evaluate("place => { location.hash = '#' + place }", place)
        return self.page

    def check(self) -> None:
        """The page has reported no problem, and asked no other host."""
        assert not self.problems
        assert not self.hosts - {self.server.host}


@pytest.fixture(scope="module")
def _lasting(browser: Browser, shown: Shown) -> Iterator[Tab]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    made = Tab(context, shown.server)
    made.page.set_default_timeout(60_000)
    made.open()
    yield made
    context.close()


@pytest.fixture
def looking(_lasting: Tab) -> Iterator[Tab]:
    """A tab of the shown folder that a module's tests use one after the other, so that only the first loads it."""
    _lasting.page.keyboard.press("Escape")
    _lasting.go("/runs").wait_for_selector(".run-row")
    yield _lasting
    _lasting.check()


@pytest.fixture
def tab(browser: Browser, serve: Callable[..., Server]) -> Iterator[Callable[..., Tab]]:
    """Opens tabs of one browser; at the end no page may have reported a problem, or asked another host."""
    contexts: list[BrowserContext] = []
    tabs: list[Tab] = []

    def make(server: Server | None = None, *, is_new: bool = True, **options: Any) -> Tab:
        if is_new or not contexts:
            contexts.append(browser.new_context(**options))
        made = Tab(contexts[-1], server or serve())
        made.page.set_default_timeout(60_000)
        tabs.append(made)
        return made

    yield make
    for context in contexts:
        context.close()
    for one in tabs:
        one.check()
