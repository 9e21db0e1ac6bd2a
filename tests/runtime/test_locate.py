"""Where bindings are found, and what is said where they are not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rawko.chart import find_chart, lint_bindings, load_chart, shipped_charts
from rawko.runtime import BindingsNotFound, bound_names, find_bindings

CHART = "statechart: {name: lamp, root state: {name: lamp, initial: off, states: [{name: off}]}}\n"
MODULE = """
from rawko import Bindings
bindings = Bindings()
@bindings.guard
def {guard}(context, event): return True
"""


@pytest.fixture(autouse=True)
def forget_modules() -> Iterator[None]:
    before, path = set(sys.modules), list(sys.path)
    yield
    assert sys.path == path, "the import path is left as it was"
    for name in set(sys.modules) - before:
        del sys.modules[name]


def project(folder: Path, table: str = "", **modules: str) -> Path:
    """A project with a chart in a folder of its own; the chart's path."""
    (folder / "pyproject.toml").write_text(table)
    (folder / "charts").mkdir()
    chart = folder / "charts" / "lamp.yaml"
    chart.write_text(CHART)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    return chart


@pytest.mark.parametrize("key", ["lamp", '"charts/lamp.yaml"', '"./charts/lamp.yaml"', '"charts/*.yaml"', '"*"'])
def test_the_project_names_the_module_by_chart_path_or_glob(tmp_path: Path, key: str) -> None:
    chart = project(tmp_path, f'[tool.rawko.bindings]\n{key} = "located_a"\n', located_a=MODULE.format(guard="here"))
    found = find_bindings(load_chart(chart))
    assert found is not None
    assert found.names("guard") == {"here"}
    assert bound_names(found).guards == {"here"}
    assert lint_bindings(load_chart(chart), bound_names(found)) == ()


def test_a_name_goes_before_a_glob_and_the_caller_s_module_before_both(tmp_path: Path) -> None:
    table = '[tool.rawko.bindings]\n"*" = "located_b"\nlamp = "located_c"\n'
    modules = {f"located_{n}": MODULE.format(guard=f"from_{n}") for n in "bcd"}
    chart = load_chart(project(tmp_path, table, **modules))
    named, given = find_bindings(chart), find_bindings(chart, module="located_d")
    assert named is not None and given is not None
    assert named.names("guard") == {"from_c"}
    assert given.names("guard") == {"from_d"}


def test_where_nobody_names_any_there_are_none(tmp_path: Path) -> None:
    assert find_bindings(load_chart(project(tmp_path))) is None
    other = '[tool.rawko.bindings]\n"elsewhere/*.yaml" = "nowhere"\nfurnace = "nowhere"\n'
    (tmp_path / "pyproject.toml").write_text(other)
    assert find_bindings(load_chart(tmp_path / "charts" / "lamp.yaml")) is None


def test_the_nearest_project_counts(tmp_path: Path) -> None:
    chart = project(tmp_path, '[tool.rawko.bindings]\nlamp = "outer"\n')
    (chart.parent / "pyproject.toml").write_text('[tool.rawko.bindings]\nlamp = "located_e"\n')
    (chart.parent / "located_e.py").write_text(MODULE.format(guard="inner"))
    found = find_bindings(load_chart(chart))
    assert found is not None
    assert found.names("guard") == {"inner"}


def test_a_sibling_s_entry_is_no_misspelling_of_this_chart_s(tmp_path: Path) -> None:
    chart = project(tmp_path, '[tool.rawko.bindings]\nlamps = "nowhere"\n')
    (chart.parent / "lamps.yaml").write_text(CHART)
    assert find_bindings(load_chart(chart)) is None


def test_a_namesake_of_another_project_is_refused(tmp_path: Path) -> None:
    charts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        table = '[tool.rawko.bindings]\nlamp = "located_g"\n'
        charts.append(load_chart(project(tmp_path / name, table, located_g=MODULE.format(guard=name))))
    assert find_bindings(charts[0]) is not None
    with pytest.raises(BindingsNotFound, match="was imported under that name"):
        find_bindings(charts[1])


def test_a_shipped_chart_is_known_through_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "shipped"
    folder.symlink_to(find_chart("orchestrator").parent)
    assert find_bindings(load_chart(folder / "orchestrator.yaml")) is not None


@pytest.mark.parametrize(
    ("table", "module", "said"),
    [
        ('[tool.rawko.bindings]\nlamp = "gone"\n', "", "module 'gone', named by [tool.rawko.bindings] of"),
        ('[tool.rawko.bindings]\nlamp = "located_f.inside"\n', "", "is not found in"),
        ('[tool.rawko.bindings]\nlamp = "located_f"\n', "bindings = {}", "has no 'bindings' of class Bindings"),
        ('[tool.rawko.bindings]\nlamp = "located_f"\n', "", "has no 'bindings' of class Bindings"),
        ('[tool.rawko.bindings]\nlamp = "located_f"\n', "import not_there", "fails as it is imported: ModuleNotFound"),
        ('[tool.rawko.bindings]\nlamp = "located_f"\n', "1 / 0", "fails as it is imported: ZeroDivisionError"),
        (
            '[tool.rawko.bindings]\nlamp = "located_f"\n',
            "\n\ndef half():\n    1 / 0\n\nhalf()",
            "ZeroDivisionError: division by zero (located_f.py, line 4)",
        ),
        (
            '[tool.rawko.bindings]\nlamp = "located_f"\n',
            "from rawko import Bindings\nbindings = Bindings()\n\n@bindings.guard\ndef is_lit(context): ...\n",
            "imported: function 'is_lit' must take (context, event) first (located_f.py, line 4)",
        ),
        (
            '[tool.rawko.bindings]\nlamp = "located_f.py"\n',
            "1 / 0",
            "did you mean 'located_f'? accepted: a dotted name",
        ),
        ('[tool.rawko.bindings]\nlamp = "./located_f.py"\n', "1 / 0", "did you mean 'located_f'? accepted"),
        ('[tool.rawko.bindings]\nlamp = "located_f:bindings"\n', "1 / 0", "did you mean 'located_f'? accepted"),
        ('[tool.rawko.bindings]\nlamp = "a/b"\n', "1 / 0", "is not the name of a module; accepted: a dotted name"),
        ('[tool.rawko.bindings]\nlamp = ["located_f"]\n', "", "accepted: the dotted name of a module"),
        ('[tool.rawko.bindings]\nlmap = "located_f"\n', "", "does not name chart 'lamp'; did you mean 'lmap'?"),
        ('[tool.rawko]\nbindings = "located_f"\n', "", "accepted: a table of chart names or paths"),
        ("[tool", "", "cannot be read"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, table: str, module: str, said: str) -> None:
    chart = load_chart(project(tmp_path, table, located_f=module))
    with pytest.raises(BindingsNotFound) as caught:
        find_bindings(chart)
    assert said in str(caught.value)


def test_shipped_charts_find_their_machines_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for stem in shipped_charts():
        found = find_bindings(load_chart(find_chart(stem)))
        assert found is not None, stem
        assert found.names("guard"), stem
