"""Types for those who embed the interpreter: a program of theirs under `mypy --strict`, and the marker in the wheel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile

import pytest

from tests.packaging.wheel import built_wheel

PROGRAM = '''
"""A program that embeds a statechart; checked without stubs for sismic, as its author would."""

from __future__ import annotations

from typing import assert_type

from rawko import ActionError, Actor, Bindings, Chart, Event, Interpreter, Receipt, Step
from rawko import append, assign, parse_chart, send
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


async def act(chart: Chart) -> int:
    async with Actor(chart, bindings, input={"visitors": 0, "coins": []}) as actor:
        actor.send("COIN", cents=50)
        await actor.wait_for("open", timeout_s=1)
        assert_type(actor.context, Record)
        return int(actor.context.visitors)


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


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[int]]:
    """The lines of both programs, by file, in which one call of mypy finds an error.

    They are checked in a folder of their own: no configuration, no stubs, no cache of this checkout.
    """
    folder = tmp_path_factory.mktemp("typed")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    (folder / "wrong.py").write_text(WRONG, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "MYPYPATH"}
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "program.py", "wrong.py"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert (done.returncode, done.stderr) == (1, "")
    lines: dict[str, set[int]] = {}
    for line in done.stdout.splitlines():
        told = re.match(r"(.+?):(\d+): (error|note)", line)
        assert told is not None, done.stdout
        lines.setdefault(told[1], set()).add(int(told[2]))
    return lines


@pytest.mark.thorough
@pytest.mark.slow
def test_a_program_is_typed_strictly(found: dict[str, set[int]]) -> None:
    assert set(found) == {"wrong.py"}, found


@pytest.mark.slow
@pytest.mark.thorough
def test_mistakes_are_found(found: dict[str, set[int]]) -> None:
    assert found["wrong.py"] == set(range(5, 11))


@pytest.mark.slow
def test_the_wheel_says_that_it_is_typed(tmp_path_factory: pytest.TempPathFactory) -> None:
    wheel = built_wheel(tmp_path_factory)
    assert wheel.name.startswith("rawko-")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"rawko/py.typed", "rawko/interpreter/running/interpreter.py", "rawko/statecharts/agent_loop.yaml"} <= names
    assert not any(name.startswith(("tests/", "stubs/")) for name in names)
