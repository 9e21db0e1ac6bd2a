"""Selects transitions: calls guards of candidates in the order that the program prepared.

If states a > b > c are active, each with candidates, those of c are tried first. If one is taken, b and a are skipped;
a parallel region beside them is not. With SCXML's selection each active leaf is followed upwards; no guard is called
twice.
"""

from __future__ import annotations

from typing import Any

from rawko.interpreter.compiled.tables import Candidate, CodeGuardCall, Rows
from rawko.interpreter.data.events import Event
from rawko.interpreter.stepping.error_events import flush_raised, guard_failed, raise_error
from rawko.interpreter.stepping.machine import Machine


def choose(machine: Machine, rows: Rows, event: Event | None) -> tuple[int, ...]:
    """The transitions selected for an event (None: eventless ones), before conflicts are resolved.

    Raises:
        Failed: A guard raised.
    """
    if rows.paths is not None:
        chosen = _choose_per_leaf(machine, rows, rows.paths, event)
    else:
        found: list[int] = []
        passed: frozenset[int] = frozenset()
        for state, ancestors, candidates in rows.rows:
            if state in passed:
                continue
            transition = _first_true(machine, candidates, event)
            if transition >= 0:
                found.append(transition)
                passed = passed | ancestors if passed else ancestors
        chosen = tuple(found)
    if machine.observer is not None:
        machine.observer.chosen(rows, event, chosen)
    return chosen


def _choose_per_leaf(
    machine: Machine, rows: Rows, paths: tuple[tuple[int, ...], ...], event: Event | None
) -> tuple[int, ...]:
    """SCXML's selectTransitions: from each active leaf up to the first true candidate; no guard is called twice."""
    chosen: dict[int, None] = {}
    answers: dict[int, int] = {}
    for path in paths:
        for place in path:
            if place not in answers:
                answers[place] = _first_true(machine, rows.rows[place][2], event)
            if answers[place] >= 0:
                chosen.setdefault(answers[place])
                break
    return tuple(chosen)


def _first_true(machine: Machine, candidates: tuple[Candidate, ...], event: Event | None) -> int:
    """The first transition of a state whose guard is true, or -1."""
    for guard, transition in candidates:
        if guard is None:
            return transition
        try:
            if guard.__class__ is CodeGuardCall:
                assert machine.observer is not None
                is_true: Any = machine.observer.guard(transition, event)
            else:
                is_true = guard(machine.context, machine.event)
        except Exception as error:  # noqa: BLE001 - a bound function raises what it likes
            _note_failed_guard(machine, transition, error, event)
            continue
        if is_true:
            return transition
    return -1


def _note_failed_guard(machine: Machine, transition: int, error: Exception, event: Event | None) -> None:
    """Treat a guard that fails as false, if failures are events; for an eventless transition the event is raised once
    per macrostep, since the transition is tried again after each microstep.

    Raises:
        Failed: Failures are not events in this chart.
    """
    failed = guard_failed(machine, transition, error)
    if not machine.program.bound.errors_are_events:
        raise failed from error
    work = machine.work or machine.begin()
    if event is None:
        if transition in work.failed:
            return
        work.failed |= {transition}
    raise_error(machine, failed)
    flush_raised(machine, work)
