"""The public face of the room: what it exports, what importing it costs, and where shipped files are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import rawko.chart
from rawko.chart import ChartFileError, find_chart, load_chart, shipped_charts, shipped_path


def test_every_exported_name_is_there_once() -> None:
    names = rawko.chart.__all__
    assert len(names) == len(set(names))
    assert all(getattr(rawko.chart, name) is not None for name in names)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'rawko\.chart' has no attribute 'nonsense'"):
        rawko.chart.nonsense  # noqa: B018


def test_importing_loads_nothing_heavy() -> None:
    heavy = "('sismic', 'pydantic', 'jsonschema', 'anthropic', 'asyncio', 'jinja2', 'ruamel')"
    code = f"import sys, rawko.chart; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_shipped_folders_are_in_the_checkout_or_the_wheel() -> None:
    for kind in ("statecharts", "prompts"):
        assert shipped_path(kind).name == kind
        assert shipped_path(kind).is_dir()


def test_every_shipped_chart_is_found_by_stem_and_loads() -> None:
    for stem in shipped_charts():
        path = find_chart(stem)
        assert path == shipped_path("statecharts") / f"{stem}.yaml"
        assert not load_chart(path).has_code


@pytest.mark.parametrize("stem", ["nothing", "../x", "", "a/b", "x" * 5000])
def test_an_unknown_stem_is_refused(stem: str) -> None:
    with pytest.raises(ChartFileError, match="is shipped"):
        find_chart(stem)
    assert isinstance(shipped_path("statecharts"), Path)
