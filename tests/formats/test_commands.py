"""`rawko import` and `rawko export --to` on files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rawko.chart import find_chart, load_chart
from rawko.cli.authoring.charts import export_command
from rawko.cli.authoring.formats import import_command
from tests.formats.machines import FETCH


def test_a_machine_becomes_a_chart_and_a_machine_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine, chart, again = tmp_path / "m.json", tmp_path / "c.yaml", tmp_path / "again.json"
    machine.write_text(json.dumps({**FETCH, "route": {}}))
    assert import_command(machine, None, chart) == 0
    assert "m.json:1:" in (told := capsys.readouterr().err)
    assert "lost: warning: key 'route'" in told
    assert export_command(chart, "xstate", again, trusted=False) == 0
    states = json.loads(again.read_text())["states"]
    assert list(states) == list(FETCH["states"])
    assert states["failure"]["on"]["RESET"] == {"target": "#idle"}


def test_scxml_is_told_by_its_ending(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document, chart = tmp_path / "d.scxml", tmp_path / "c.yaml"
    assert export_command(find_chart("orchestrator"), "scxml", document, trusted=False) == 0
    assert import_command(document, None, chart) == 0
    original = load_chart(find_chart("orchestrator"))
    # The root takes events, which the root of an SCXML document cannot: it is a state of its own there.
    assert set(load_chart(chart).states) == {*original.states, f"{original.root}_2"}
    assert "must be provided" in capsys.readouterr().err


def test_defects_are_told_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine, chart = tmp_path / "m.json", tmp_path / "c.yaml"
    machine.write_text('{"states": {"a": {}}}')
    assert import_command(machine, None, chart) == 1
    assert "m.json:1:1: missing-initial:" in capsys.readouterr().err
    assert not chart.exists()
    assert import_command(tmp_path / "none.json", None, chart) == 2
    assert "unreadable" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "kind", "accepted"),
    [("m.txt", None, ".json, .scxml, .xml; or --from xstate, scxml"), ("m.json", "uml", "xstate, scxml")],
)
def test_unknown_formats_are_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, kind: str | None, accepted: str
) -> None:
    assert import_command(tmp_path / name, kind, None) == 2
    assert f"accepted: {accepted}" in capsys.readouterr().err


def test_scxml_with_code_needs_trust(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document, chart, again = tmp_path / "d.scxml", tmp_path / "c.yaml", tmp_path / "again.scxml"
    document.write_text(
        '<scxml xmlns="http://www.w3.org/2005/07/scxml" datamodel="ecmascript"><datamodel><data id="n" src="n.txt"/>'
        '</datamodel><state id="a"><transition cond="n" target="none"/></state></scxml>'
    )
    (tmp_path / "n.txt").write_text("5")
    assert import_command(document, None, chart) == 1
    assert "--data-model python --trust-code" in capsys.readouterr().err
    assert import_command(document, None, chart, trusted=True, data_model="lua") == 2
    assert "accepted: null, python" in capsys.readouterr().err
    assert import_command(document, None, chart, trusted=True, data_model="python") == 1
    assert "unknown-target" in capsys.readouterr().err
    assert import_command(document, None, chart, trusted=True, data_model="python", lenient=True) == 0
    assert "there is no state 'none'" in capsys.readouterr().err
    assert load_chart(chart, trusted=True).preamble == "n = 5"
    assert export_command(chart, "scxml", again, trusted=True) == 0
    assert '<data id="n" expr="5"/>' in again.read_text()
    assert export_command(chart, "scxml", again, trusted=False) == 2
