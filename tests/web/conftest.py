"""Fixtures of the inspector's tests: a folder with runs, a server of its own process, a page in a real browser."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.cli.shell import RAWKO, Shell

CHROMIUM = shutil.which("chromium")


class Server:
    """`rawko serve` of a folder, as a process."""

    def __init__(self, shell: Shell, *words: str) -> None:
        self.shell = shell
        self.errors = shell.folder.parent / "serve.err"
        with self.errors.open("wb") as err:
            self.process = subprocess.Popen(
                [*RAWKO, "serve", *words], cwd=shell.folder, env=shell.environ(), stdout=subprocess.PIPE, stderr=err
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


@pytest.fixture
def rawko(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def serve(rawko: Shell) -> Iterator[Callable[..., Server]]:
    """Starts servers of the folder, and ends them after the test."""
    started: list[Server] = []

    def start(*words: str, shell: Shell = rawko) -> Server:
        started.append(Server(shell, *words))
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's chromium, driven over its DevTools protocol.

    Not for the whole session: playwright keeps an event loop running in this thread, where other tests could run none.
    """
    if CHROMIUM is None:
        pytest.skip("no chromium is installed: apt-get install chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
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

    def go(self, place: str) -> None:
        self.page.evaluate("place => { location.hash = '#' + place }", place)

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text(timeout=60_000)


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
    found = [problem for one in tabs for problem in one.problems]
    hosts = {host for one in tabs for host in one.hosts} - {one.server.host for one in tabs}
    for context in contexts:
        context.close()
    assert not found
    assert not hosts
