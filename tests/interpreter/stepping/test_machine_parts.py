"""Every part of a machine is undone with a failed step and is in its snapshot, or is named here with the reason.

For whoever gives a machine another attribute: without these tests a part that `recovery.undo` or `snapshots` forgets
would be noticed only after a crash.
"""

from __future__ import annotations

import inspect

from rawko.interpreter.running import checked_snapshot, restoring, snapshots
from rawko.interpreter.stepping import recovery
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.transaction import Transaction

FIXED = {"bindings", "chart", "clock", "first_look", "ignores_contracts", "max_microsteps", "model", "program"}
"""Parts that never change after the machine was made, and that its caller gives again."""
OF_A_STEP = {
    "is_busy": "false between steps",
    "work": "None between steps",
    "internal": "empty between macrosteps: `take_snapshot` refuses otherwise",
    "event": "the event that was last consumed: guards see it only while a step is processed",
    "idle_choice": "only keeps eventless transitions that changed nothing from being taken again",
}
"""Parts that have a fixed value when a snapshot is taken, or that nothing reads after it."""
ELSEWHERE = {
    "observer": "its parts are undone by `roll_back`, and are in the snapshot as entry, idle and old",
    "context": "a view of `fields`",
}
NOT_UNDONE = {
    "agenda": "changes of the queue are staged, and applied at the commit",
    "time": "set at the commit",
    "input": "never changes",
    "fields": "by `undo`, field by field",
}
IN_SNAPSHOT = {
    "agenda": ("external", "timers"),
    "fields": ("context",),
    "history": ("history",),
    "input": ("input",),
    "invocations": ("invocations",),
    "is_done": ("done",),
    "node": ("configuration",),
    "number": ("number",),
    "olds": ("old",),
    "output": ("output",),
    "seq": ("seq",),
    "time": ("now",),
}
"""The keys of a snapshot that hold each part."""


def test_a_failed_step_restores_every_part() -> None:
    source = inspect.getsource(recovery.undo)
    changing = set(Machine.__slots__) - FIXED - ELSEWHERE.keys() - NOT_UNDONE.keys() - {"is_busy", "idle_choice"}
    assert {part for part in changing if f"machine.{part}" not in source} == set()


def test_a_transaction_keeps_what_is_restored() -> None:
    begun = inspect.getsource(Machine.begin)
    kept = {part for part in Transaction.__slots__ if f"work.{part} = self." in begun}
    restored = inspect.getsource(recovery.undo)
    assert {part for part in kept if f"work.{part}" not in restored} == set()


def test_a_snapshot_has_every_part() -> None:
    assert set(Machine.__slots__) - FIXED - OF_A_STEP.keys() - ELSEWHERE.keys() == IN_SNAPSHOT.keys()
    taken, restored = inspect.getsource(snapshots), inspect.getsource(restoring) + inspect.getsource(checked_snapshot)
    for keys in IN_SNAPSHOT.values():
        for key in keys:
            assert f'"{key}"' in taken, key
            assert f'"{key}"' in restored, key
