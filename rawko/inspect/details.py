"""Details of a row: candidate transitions, values that guards read, context before and after, effects.

The machines are restored from the latest stored snapshot before the row, replayed up to the row, and take its step
again. Guards and actions are pure by contract, and effects of the step are not carried out. Where functions are not
pure, or no snapshot is stored, only the row itself is shown, with the reason.
"""

from __future__ import annotations

import threading
from typing import Any

from rawko.app.time_travel.explain import choosing, take_again, told_by_row
from rawko.inspect.json_values import showable
from rawko.inspect.recording import Recording
from rawko.inspect.rows import name_of
from rawko.interpreter.data.values import thaw
from rawko.interpreter.errors import InterpreterError
from rawko.runtime.replay.replay import ReplayError, ReplayTree


class Details:
    """Explains the rows of one recording.

    The replayed machines stay at the row explained last: the next row then costs one step, not a replay from a
    snapshot.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._tree: ReplayTree | None = None
        self._at = 0
        self._lock = threading.Lock()

    def of(self, number: int) -> dict[str, Any] | None:
        """A row as shown in the page's detail; None where the row is not stored."""
        event = self._recording.row(number)
        if event is None:
            return None
        if event["type"] != "step":
            return self._end(number, event)
        record = self._recording.record(number, event)
        fields: Any = None
        with self._lock:
            try:
                tree = self._tree_before(number)
                told = take_again(tree, record)
                self._at = number
                fields = _fields(tree, record.actor)
            except (ReplayError, InterpreterError, _NotKept) as error:
                self._tree = None
                told = told_by_row(record, str(error))
            except Exception as error:  # noqa: BLE001 - functions of the program, called once more
                self._tree = None
                told = told_by_row(record, f"{type(error).__name__}: {error}")
        found: dict[str, Any] = showable({**told.to_json(), "fields": fields})
        return found

    def _tree_before(self, number: int) -> ReplayTree:
        """The machines right before a row.

        Raises:
            ReplayError, InterpreterError: Replaying a row gives another result than the recording.
            _NotKept: No snapshot before the row, or not all rows up to it, are stored.
        """
        recording = self._recording
        checkpoint = recording.checkpoint_at(number - 1)
        tree = self._tree
        if tree is None or self._at >= number or (checkpoint is not None and checkpoint[0] > self._at):
            if checkpoint is None:
                raise _NotKept("no state of the machines before this step is kept")
            origin = recording.origin
            tree = ReplayTree(recording.id, origin.chart, origin.bindings, origin.input, make=choosing)
            self._at, snapshot = checkpoint
            if snapshot is not None:
                tree.fill(snapshot)
            self._tree = tree
        while self._at + 1 < number:
            event = recording.row(self._at + 1)
            if event is None:
                raise _NotKept("a step before this one is not kept any more")
            if event["type"] == "step":
                tree.step(recording.record(self._at + 1, event))
            self._at += 1
        return tree

    def _end(self, number: int, event: dict[str, Any]) -> dict[str, Any]:
        """The details of a row that is not a step."""
        about = {key: value for key, value in event.items() if key not in ("type", "actor", "time", "seq")}
        told = {
            "step": number,
            "actor": event["actor"],
            "cause": name_of(event),
            "event": {"name": name_of(event), "data": about},
            "receipt": None,
            "choices": [],
            "context": [],
            "effects": [],
            "ended": None,
            "usage": {},
            "problem": "",
        }
        found: dict[str, Any] = showable(told)
        return found


def _fields(tree: ReplayTree, actor: str) -> dict[str, Any] | None:
    """The whole context of an actor now; None where the actor has ended."""
    machine = dict(tree.root.walk()).get(actor)
    return None if machine is None else thaw(dict(machine.interpreter.context))


class _NotKept(Exception):
    """A row or snapshot needed for a replay is not stored."""
