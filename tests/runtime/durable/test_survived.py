"""A process is killed and another goes on: timers and invocations come back by their policies, as often as it takes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.warm import program, small_environ
from tests.runtime.durable.surviving import DELAY_S

PROGRAM = "import asyncio, sys; from pathlib import Path; from tests.runtime.durable.surviving import main\n" + (
    "asyncio.run(main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])))"
)


def play(journal: Path, seconds: float, *, is_killed: bool) -> list[str]:
    """What one process says, to its mark (then it is killed) or to its end."""
    alone = (sys.executable, "-c")  # what is killed is the process itself
    words = [*(alone if is_killed else program()), PROGRAM, str(journal), "mark", str(seconds)]
    where, env = Path(__file__).parents[3], small_environ()
    said: list[str] = []
    with subprocess.Popen(words, cwd=where, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line.strip())
            if is_killed and said[-1] == "mark":
                process.kill()
                break
        process.wait(60)
    return said


def times(said: list[str]) -> dict[str, float]:
    """When a state was entered, in seconds from the beginning of its process."""
    pairs = [line.split() for line in said]
    return {pair[0]: float(pair[1]) for pair in pairs if pair[0].endswith(("_over", "lost")) and len(pair) == 2}


@pytest.mark.slow
def test_every_policy_holds_across_a_killed_process(tmp_path: Path) -> None:
    journal = tmp_path / "journal.db"
    began = time.monotonic()
    first = play(journal, 60, is_killed=True)
    assert {"again attempt 1", "reset attempt 1", "held attempt 1", "fragile attempt 1", "counted 1"} <= set(first)
    time.sleep(max(0.0, DELAY_S - (time.monotonic() - began)) + 0.2)  # the original deadline is over

    second = play(journal, DELAY_S + 0.7, is_killed=False)
    assert {"again attempt 2", "reset attempt 2"} <= set(second)
    assert "counted 2" in second, "the child goes on with what it had counted"
    assert "held True" in second
    assert not any(line.startswith(("held attempt", "fragile attempt")) for line in second)
    assert second[-1] == "end lost 3"
    due = times(second)
    assert due["remaining_over"] <= due["restarted_over"], "one had begun to wait already"
    assert due["restarted_over"] >= DELAY_S - 0.05
    assert due.get("original_over", 0.0) < due["remaining_over"], "it was due in the meantime"

    third = play(journal, 0.0, is_killed=False)
    assert third[-1] == "end lost 5"
    assert {"again attempt 3", "counted 3"} <= set(third)


@pytest.mark.slow
@pytest.mark.thorough
def test_it_is_killed_again_before_its_timers_are_due(tmp_path: Path) -> None:
    """What the second process had brought back is what the third one goes on from; and what the third one wrote can be
    read by a fourth."""
    journal = tmp_path / "journal.db"
    for kill in range(3):
        said = play(journal, 60, is_killed=True)
        assert f"again attempt {kill + 1}" in said
        assert f"counted {kill + 1}" in said
    last = play(journal, DELAY_S + 0.7, is_killed=False)
    assert last[-1] == "end lost 5"
    assert times(last)["restarted_over"] >= DELAY_S - 0.05
    again = play(journal, 0.0, is_killed=False)
    assert again[-1] == "end lost 7"
