"""Guards and actions on bounded context fields are called, and their answers known; all others go both ways."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from rawko.chart import parse_chart
from rawko.cli.proving.prove import prove_command
from rawko.interpreter import Bindings, Interpreter
from rawko.interpreter.data.updates import assign
from rawko.proving import Bounds, ControlSystem, Finding, Verdict, check_properties, explore, replay
from rawko.proving.exploring.exploration import Exploration

CHART = """
statechart:
  name: tries
  context: Tries
  root state:
    name: tries
    initial: working
    states:
      - name: working
        invoke:
          id: work
          src: work
          on done: {target: done}
          on error:
            - {guard: has_tries_left, target: working, action: count_try}
            - {guard: is_hopeless, target: hopeless}
            - {target: failed}
        transitions: [{event: NOTE, action: note}]
      - {name: done, type: final}
      - {name: failed, type: final}
      - {name: hopeless, type: final}
"""


class Tries(BaseModel):
    tries: int = 0
    notes: str = ""


def functions(**others: Any) -> Bindings:
    """The chart's own; `others` take the places of some."""
    found = {
        "has_tries_left": lambda context, event: context.tries < 3,
        "is_hopeless": lambda context, event: context.tries > 3,
        "count_try": lambda context, event: assign(tries=context.tries + 1),
        "note": lambda context, event: assign(notes="noted"),
    } | others
    bindings = Bindings()
    bindings.add("context", "Tries", Tries)
    for name, function in found.items():
        bindings.add("action" if name in ("count_try", "note") else "guard", name, function)
    return bindings


def explored(
    bindings: Bindings | None, values: tuple[int, ...] = (0, 1, 2, 3)
) -> tuple[Exploration, dict[str, Finding]]:
    found = explore(ControlSystem(parse_chart(CHART), Bounds(context={"tries": values}), bindings))
    findings = {finding.property: finding for finding in check_properties(found)}
    for finding in findings.values():
        assert replay(found.system, finding.way) == ""
    return found, findings


def test_a_counter_is_counted_and_its_cycle_ends_without_a_budget() -> None:
    found, findings = explored(functions())
    working = [found.state(n) for n in range(len(found)) if "working" in found.names(n)]
    assert [found.system.step.controls[state.control].data for state in working] == [(0,), (1,), (2,), (3,)]
    assert findings["cycles"].verdict is Verdict.PROVED
    assert "'hopeless'" in findings["reachable"].text
    assert findings["reachable"].verdict is Verdict.REFUTED


def test_without_functions_all_goes_both_ways() -> None:
    found, findings = explored(None)
    assert findings["cycles"].verdict is Verdict.UNDETERMINED
    assert findings["reachable"].verdict is Verdict.PROVED
    assert len(found) == 4


def test_a_real_machine_goes_where_the_exploration_does() -> None:
    """Every word of up to five events, on a real interpreter with the real functions."""
    found, _ = explored(functions())
    reached = {(found.names(n), found.system.step.controls[found.state(n).control].data) for n in range(len(found))}
    seen = set()
    for word in itertools.product(("done", "error", "NOTE"), repeat=5):
        machine = Interpreter(parse_chart(CHART), actors_of(functions()))
        machine.start()
        for happens in ("", *word):
            if happens == "NOTE":
                machine.queue("NOTE")
            elif happens and machine.invocations:
                running = machine.invocations["work"]
                if happens == "done":
                    machine.complete_invocation(running.id, running.number)
                else:
                    machine.fail_invocation(running.id, running.number, {"code": "x"})
            machine.execute_once()
            seen.add((tuple(machine.configuration), (machine.context["tries"],)))
    assert seen == reached


def actors_of(bindings: Bindings) -> Bindings:
    async def work(input: Any) -> None: ...

    bindings.add("actor", "work", work)
    return bindings


@pytest.mark.parametrize(
    ("others", "said"),
    [
        (
            {"has_tries_left": lambda context, event: 1 / context.tries > 0},
            "guard 'has_tries_left' raises ZeroDivis",
        ),
        ({"count_try": lambda context, event: context.nothing.more}, ""),
        (
            {"count_try": lambda context, event: assign(tries=context.tries + 5)},
            "context field 'tries' leaves its bounds: 5",
        ),
    ],
)
def test_what_a_function_does_wrong_is_told_and_proves_nothing(others: dict[str, Any], said: str) -> None:
    found, findings = explored(functions(**others))
    assert any(said in text for text in found.unknown) if said else found.is_complete
    assert findings["cycles"].verdict is Verdict.UNDETERMINED


def test_a_function_that_answers_differently_is_told() -> None:
    answers = itertools.cycle([True, False])
    found, findings = explored(functions(has_tries_left=lambda context, event: context.tries < 3 and next(answers)))
    assert "guard 'has_tries_left' answers differently for the same values" in found.unknown
    assert findings["end"].verdict is Verdict.UNDETERMINED


def test_what_reads_other_fields_goes_both_ways() -> None:
    found, findings = explored(functions(is_hopeless=lambda context, event: context.notes == "no"))
    assert findings["reachable"].verdict is Verdict.PROVED
    assert found.is_complete
    (_, event_read) = explored(functions(is_hopeless=lambda context, event: event.error["code"] == "x"))
    assert event_read["reachable"].verdict is Verdict.PROVED


def test_a_field_that_an_unknown_function_may_set_has_any_of_its_values() -> None:
    found, findings = explored(functions(count_try=lambda context, event: assign(tries=len(context.notes))))
    assert findings["cycles"].verdict is Verdict.UNDETERMINED
    assert {found.system.step.controls[found.state(n).control].data for n in range(len(found))} == {
        (n,) for n in range(4)
    }


MODULE = """
from pydantic import BaseModel
from rawko.interpreter import Bindings
from rawko.interpreter.data.updates import assign

bindings = Bindings()


class Tries(BaseModel):
    tries: int = 0


bindings.add("context", "Tries", Tries)


@bindings.guard
def has_tries_left(context, event):
    return context.tries < 3


@bindings.guard
def is_hopeless(context, event):
    return context.tries > 3


@bindings.action
def count_try(context, event):
    return assign(tries=context.tries + 1)


@bindings.action
def note(context, event):
    return None
"""


def test_the_command_calls_functions_only_where_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tries_functions.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "tries.yaml").write_text(CHART, encoding="utf-8")
    bounds = tmp_path / "tries.bounds.yml"
    bounds.write_text("context: {tries: [0, 3]}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    more: dict[str, Any] = {"properties": ["cycles"], "bounds": None, "limit": 100, "as_json": False, "trusted": False}
    assert prove_command(tmp_path / "tries.yaml", **more) == 3
    assert "the context's bounds are not used" in capsys.readouterr().out
    assert prove_command(tmp_path / "tries.yaml", bindings="tries_functions", **more) == 0
    assert "context fields tries have the values of the bounds" in capsys.readouterr().out
    bounds.write_text("context: {tris: [0, 3]}\n", encoding="utf-8")
    assert prove_command(tmp_path / "tries.yaml", bindings="tries_functions", **more) == 2
    assert "context names 'tris', which is none of the chart's context fields; did you mean" in capsys.readouterr().err
    for text in (
        "context: [tries]",
        "context: {tries: 3}",
        "context: {tries: {values: []}}",
        "context: {tries: [3, 0]}",
    ):
        bounds.write_text(f"{text}\n", encoding="utf-8")
        assert prove_command(tmp_path / "tries.yaml", **more) == 2
        assert "is accepted" in capsys.readouterr().err
