"""`rawko fmt` as it is typed: files, folders, standard input, links; what cannot be formatted stays as it is."""

from __future__ import annotations

import stat

import pytest

from tests.chart.formatting.test_formatting import MESSY, TIDY
from tests.cli.conftest import Typed
from tests.cli.shell import Shell


def test_charts_are_checked_shown_and_formatted(rawko: Shell, typed: Typed) -> None:
    rawko.write("charts/door.yaml", MESSY)
    rawko.write("charts/lamp.yaml", "statechart: {name: lamp, root state: {name: lamp}}\n")
    rawko.write("charts/notes.yaml", "a:   1\n")
    checked = typed("fmt", "--check", "charts")
    assert (checked.code, checked.out) == (1, "would format charts/door.yaml\n"), checked.text
    shown = typed("fmt", "--diff", "charts")
    assert shown.code == 1 and "+# a door" in shown.out, shown.text
    assert rawko.read("charts/door.yaml") == MESSY
    (rawko.folder / "charts/door.yaml").chmod(0o640)
    done = typed("fmt", "charts")
    assert (done.code, done.out) == (0, "formatted charts/door.yaml\n"), done.text
    assert rawko.read("charts/door.yaml") == TIDY
    assert stat.S_IMODE((rawko.folder / "charts/door.yaml").stat().st_mode) == 0o640
    assert rawko.read("charts/notes.yaml") == "a:   1\n", "it is no chart"
    again = typed("fmt", "charts")
    assert (again.code, again.out, "2 charts: formatted already" in again.err) == (0, "", True)


def test_a_byte_order_mark_stays(rawko: Shell, typed: Typed) -> None:
    for command in (["fmt"], ["check", "--fix"]):
        (rawko.folder / "door.yaml").write_bytes(
            b"\xef\xbb\xbfstatechart:\r\n  name:   t\r\n  root stat: {name: r}\r\n"
        )
        if command == ["fmt"]:
            rawko.write("door.yaml", "\ufeffstatechart:\n  name:   t\n  root state: {name: r}\n")
        assert typed(*command, "door.yaml").code == 0
        assert (rawko.folder / "door.yaml").read_bytes().startswith(b"\xef\xbb\xbfstatechart:")
        assert "root state: {name: r}" in rawko.read("door.yaml")


def test_a_link_stays_a_link(rawko: Shell, typed: Typed) -> None:
    rawko.write("real/door.yaml", MESSY)
    (rawko.folder / "door.yaml").symlink_to("real/door.yaml")
    assert typed("fmt", "door.yaml").code == 0
    assert (rawko.folder / "door.yaml").is_symlink()
    assert rawko.read("real/door.yaml") == TIDY


def test_what_cannot_be_formatted_is_said_and_the_others_are_formatted(rawko: Shell, typed: Typed) -> None:
    rawko.write("bad.yaml", "statechart: {name: x, rot state: {name: x}}\n")
    rawko.write("odd.yaml", f"%YAML 1.2\n---\n{TIDY}")
    rawko.write("door.yaml", MESSY)
    done = typed("fmt", "bad.yaml", "odd.yaml", "missing.yaml", "agent_loop", "door.yaml")
    assert done.code == 2
    for told in (
        "bad.yaml:1:23: unknown-key",
        "odd.yaml: it begins with a directive",
        "missing.yaml: there is no such file",
        "agent_loop: is shipped with rawko",
    ):
        assert told in done.err, done.text
    assert rawko.read("door.yaml") == TIDY
    assert rawko.read("bad.yaml") == "statechart: {name: x, rot state: {name: x}}\n"


@pytest.mark.parametrize(("words", "code", "out"), [((), 0, TIDY), (("--check",), 1, "")])
def test_standard_input_is_formatted_for_editors(rawko: Shell, words: tuple[str, ...], code: int, out: str) -> None:
    done = rawko("fmt", "-", *words, stdin=MESSY)
    assert (done.code, done.out) == (code, out), done.text


def test_standard_input_with_defects_gives_no_text(rawko: Shell) -> None:
    done = rawko("fmt", "-", stdin="statechart: {}\n")
    assert (done.code, done.out) == (2, ""), done.text
    assert "<stdin>:1" in done.err


def test_new_charts_are_formatted(typed: Typed) -> None:
    typed("new", "chart", "door")
    typed("new", "machine", "crew")
    done = typed("fmt", "--diff", ".")
    assert (done.code, done.out) == (0, ""), done.text
