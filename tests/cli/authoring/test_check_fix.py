"""`rawko check --fix` as it is typed."""

from __future__ import annotations

from rawko.chart.correcting import correct_chart
from tests.chart.test_correcting import DOOR
from tests.cli.conftest import Typed
from tests.cli.shell import Shell


def test_as_it_is_typed(rawko: Shell, typed: Typed) -> None:
    rawko.write("door.yaml", DOOR)
    shown = typed("check", "--fix", "--diff", "door.yaml")
    assert shown.code == 1 and "+    initial: closed" in shown.out, shown.text
    assert rawko.read("door.yaml") == DOOR
    done = typed("check", "--fix", "door.yaml")
    assert "door.yaml:5:5: unknown-key: corrected 'inital' to 'initial'" in done.out, done.text
    assert "unknown" not in done.out.replace("unknown-key: corrected", "").replace(
        "unknown-target: corrected", ""
    ).replace("unknown-state: corrected", "")
    assert rawko.read("door.yaml") == correct_chart(DOOR).text
    assert typed("check", "--fix", "agent_loop").code == 2
    assert typed("check", "--diff", "door.yaml").code == 2
    assert typed("check", "--fix", "--watch", "door.yaml").code == 2


def test_a_file_that_cannot_be_written_is_told(rawko: Shell, typed: Typed) -> None:
    (rawko.folder / "door.yaml").symlink_to("nowhere.yaml")
    done = typed("check", "--fix", "door.yaml")
    assert done.code == 2 and "door.yaml" in done.err, done.text
