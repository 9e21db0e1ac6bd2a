"""A pytest plugin: a mutated file must still load, so that what fails is a test and not an import.

`RAWKO_MUTATED` names the mutated files, relative to the working folder and parted by colons.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

BROKEN = 90
"""Exit code where a mutated file does not load."""


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    for name in filter(None, os.environ.get("RAWKO_MUTATED", "").split(":")):
        try:
            load(Path(name))
        except Exception as error:
            print(f"{name} does not load: {type(error).__name__}: {error}", flush=True)
            raise SystemExit(BROKEN) from error


def load(path: Path) -> None:
    """Import a module, or load a chart with its bindings and check its names, or parse a template."""
    if path.suffix == ".py":
        importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
    elif path.suffix == ".yaml" and path.parent == Path("statecharts"):
        from rawko import Interpreter, load_chart
        from rawko.runtime.bindings_lookup import find_bindings

        chart = load_chart(path)
        Interpreter(chart, find_bindings(chart))
    elif path.suffix == ".j2":
        import jinja2

        jinja2.Environment(autoescape=False).parse(path.read_text(encoding="utf-8"))
