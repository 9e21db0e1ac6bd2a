"""Types for those who embed the interpreter: a program of theirs under `mypy --strict`, and the marker in the wheel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = '''
"""A program that embeds a statechart; checked without stubs for sismic, as its author would."""

from __future__ import annotations

from typing import assert_type

from rawko import ActionError, Bindings, Chart, Event, Interpreter, Receipt, Step, append, assign, parse_chart, send
from rawko.interpreter import Record, Refusal, StartInvocation, Updates

bindings = Bindings()


@bindings.guard
def is_enough(context: Record, event: Event, price: int = 50) -> bool:
    return bool(event.cents >= price)


@bindings.action
def count(context: Record, event: Event) -> Updates:
    return assign(visitors=context.visitors + 1), append("coins", event.cents), send("REMIND", delay_ms=500)


def run(chart: Chart) -> int:
    machine = Interpreter(chart, bindings, input={"visitors": 0, "coins": []})
    step = machine.send("COIN", cents=50)
    assert_type(step, Step)
    assert_type(step.receipt, Receipt | None)
    assert_type(step.configuration, tuple[str, ...])
    assert_type(step.event, Event | None)
    assert_type(step.entered_states, list[str])
    assert_type(step.time, float)
    assert_type(machine.context, Record)
    assert_type(machine.configuration, list[str])
    assert_type(machine.can("COIN", cents=1), bool)
    assert_type(machine.why_not("COIN"), tuple[Refusal, ...])
    assert_type(machine.next_due(), float | None)
    assert_type(machine.advance(1.5), tuple[Step, ...])
    assert_type(machine.execute_once(), Step | None)
    assert_type(machine.queue("COIN", cents=5).execute(), list[Step])
    started = [effect.src for effect in step.effects if isinstance(effect, StartInvocation)]
    assert_type(started, list[str])
    twin = Interpreter(machine.chart, machine.bindings)
    assert_type(twin.restore(machine.snapshot()), Step)
    try:
        machine.send("COIN")
    except ActionError as error:
        print(error.where, error.function)
    return len(started)


run(parse_chart("..."))
'''

WRONG = """
from rawko import Bindings, Interpreter, parse_chart

machine = Interpreter(parse_chart("..."), Bindings())
machine.send(3)
machine.context = {}
machine.can("A") + "x"
machine.advance("1")
machine.send("A").receipt.taken
Interpreter("chart.yaml", Bindings())
"""


def mypy(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Check a program in a folder of its own: no configuration, no stubs, no cache of this checkout."""
    (folder / "program.py").write_text(text, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "MYPYPATH"}
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "program.py"]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.slow
def test_a_program_is_typed_strictly(tmp_path: Path) -> None:
    done = mypy(tmp_path, PROGRAM)
    assert (done.stdout, done.returncode) == ("", 0)


@pytest.mark.slow
def test_mistakes_are_found(tmp_path: Path) -> None:
    done = mypy(tmp_path, WRONG)
    lines = {int(line) for line in re.findall(r"^program\.py:(\d+): error", done.stdout, re.MULTILINE)}
    assert lines == set(range(5, 11)), done.stdout


@pytest.mark.slow
def test_the_wheel_says_that_it_is_typed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--wheel-dir", str(tmp_path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode and "hatchling" in done.stderr:
        pytest.skip(f"the build backend could not be fetched: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("rawko-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"rawko/py.typed", "rawko/interpreter/running/interpreter.py", "rawko/statecharts/agent_loop.yaml"} <= names
    assert not any(name.startswith(("tests/", "stubs/")) for name in names)
