"""Checkpoints: the state of a machine in memory, to roll back to; cheaper than a snapshot, and not limited to JSON."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from rawko.interpreter.stepping.machine import Machine

NOT_KEPT = frozenset(("chart", "bindings", "program", "clock", "model", "context", "observer"))
"""Attributes that a checkpoint leaves out: they do not change, or are recorded in another form."""


def take_checkpoint(machine: Machine) -> dict[str, Any]:
    """The data that `roll_back` needs.

    Raises:
        InterpreterError: Called in mid-step.
    """
    machine.require_idle()
    kept = {name: getattr(machine, name) for name in Machine.__slots__ if name not in NOT_KEPT}
    kept["fields"] = dict(machine.fields)
    kept["agenda"] = machine.agenda.copy()
    kept["internal"] = None if machine.internal is None else deque(machine.internal)
    kept["marks"] = None if machine.observer is None else machine.observer.mark()
    return kept


def roll_back(machine: Machine, checkpoint: Mapping[str, Any]) -> None:
    """Restore the machine to a checkpoint, which may be used again.

    Raises:
        InterpreterError: Called in mid-step.
    """
    machine.require_idle()
    kept = dict(checkpoint)
    marks, fields = kept.pop("marks"), kept.pop("fields")
    for name, value in kept.items():
        setattr(machine, name, value)
    machine.agenda = machine.agenda.copy()
    machine.internal = None if machine.internal is None else deque(machine.internal)
    machine.fields.clear()
    machine.fields.update(fields)
    if machine.observer is not None:
        machine.observer.roll_back(marks)
