"""Real XState under node: installed with npm into `.cache/xstate` the first time, driven over standard streams."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".cache" / "xstate"
XSTATE = "xstate@5.33.0"
BUILT_INS = re.compile(r"^```js\n(// built-ins\.mjs.*?)^```$", re.MULTILINE | re.DOTALL)


class NoXState(Exception):
    """node or XState is not here; says why."""


class XStateNode:
    """One node process that runs machines."""

    def __init__(self, requests: IO[str], answers: IO[str]) -> None:
        self._requests = requests
        self._answers = answers

    def run(self, request: Any) -> Any:
        """The answer to one request; see xstate_driver.mjs."""
        self._requests.write(json.dumps(request) + "\n")
        self._requests.flush()
        return json.loads(self._answers.readline())


@contextmanager
def xstate_node() -> Iterator[XStateNode]:
    """A running driver. Its built-in actions are those that docs/formats.md shows.

    Raises:
        NoXState: No node, no npm, or the registry is not reached.
    """
    node = shutil.which("node")
    if node is None:
        raise NoXState("node is not installed")
    installed = installed_xstate()
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    found = BUILT_INS.search(page)
    assert found is not None
    with TemporaryDirectory(dir=installed) as work:
        (Path(work) / "built-ins.mjs").write_text(found.group(1), encoding="utf-8")
        driver = Path(shutil.copy(HERE / "xstate_driver.mjs", work))
        command = [node, str(driver)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        ) as run:
            assert run.stdin is not None
            assert run.stdout is not None
            yield XStateNode(run.stdin, run.stdout)
            run.stdin.close()


def installed_xstate(*packages: str, cache: Path = CACHE, holds: str = "xstate", timeout_s: float = 60) -> Path:
    """The folder whose `node_modules` hold XState, and other packages that go with it.

    Args:
        packages: The others, as npm names them with their versions; then with a `cache` of their own.
        holds: A package that shows that all are there.

    Raises:
        NoXState: No npm, or the registry is not reached.
    """
    if (cache / "node_modules" / holds / "package.json").is_file():
        return cache
    npm = shutil.which("npm")
    if npm is None:
        raise NoXState("npm is not installed")
    cache.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=cache.parent) as work:
        (Path(work) / "package.json").write_text('{"private": true}', encoding="utf-8")
        command = [
            npm,
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--fetch-retries=1",
            XSTATE,
            *packages,
        ]
        try:
            done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired:
            raise NoXState(f"npm install {XSTATE} took more than {timeout_s:g} s") from None
        if done.returncode:
            raise NoXState(f"npm install {XSTATE} failed: {done.stderr.strip()[-200:]}")
        shutil.copytree(work, cache, dirs_exist_ok=True)
    return cache
