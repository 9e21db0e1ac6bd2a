"""Fixtures of the command line's tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from rawko.cli.commands.application import application
from tests.cli.shell import Ended, Shell

Typed = Callable[..., Ended]


@pytest.fixture
def rawko(tmp_path: Path) -> Shell:
    """`rawko("run", "...")` in a folder of its own, as a process."""
    return Shell(tmp_path)


@pytest.fixture
def typed(rawko: Shell, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """The same command line in this process, where starting another hundred would take long."""

    def run(*words: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Ended:
        capfd.readouterr()
        environ = rawko.environ(env)
        with monkeypatch.context() as inside:
            inside.chdir(cwd or rawko.folder)
            for name in set(os.environ) - set(environ):
                inside.delenv(name)
            for name, value in environ.items():
                inside.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                application(words)(list(words), prog_name="rawko")  # as `main` does
        out, err = capfd.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        assert "Traceback" not in out + err
        return Ended(code, out, err)

    return run
