"""Runs the code of a chart in SCXML's Python data model, for one interpreter whose chart is trusted."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from rawko.chart.definition import Chart, CodeGuard
from rawko.interpreter.compiled.functions import CompiledAction
from rawko.interpreter.compiled.tables import Where
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.failures import Failed
from rawko.interpreter.data.updates import Update
from rawko.interpreter.data.values import Record
from rawko.interpreter.foreign.scxml_data_model import DataModel
from rawko.interpreter.foreign.scxml_values import revived
from rawko.interpreter.running.instrumentation import Observation
from rawko.interpreter.stepping.error_events import flush_raised, raise_error
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.updates import apply_update


class DataObservation(Observation):
    """Code, listeners and contracts of an interpreter whose chart has the data model `python`.

    Args:
        given: First values for variables that the chart declares.
        session_id: Value of `_sessionid`.
        http_location: The address at which the machine receives HTTP events, or None.

    Attributes:
        is_reachable: Set by the runtime: whether a target of `send` is a machine that can receive events. None:
            unknown, all targets count as reachable.
    """

    has_evaluator = True
    has_data_model = True

    def __init__(
        self,
        chart: Chart,
        given: Mapping[str, Any] | None = None,
        session_id: str = "",
        http_location: str | None = None,
    ) -> None:
        super().__init__()
        self._chart = chart
        self._given = given or {}
        self._session_id = session_id or chart.name
        self._http_location = http_location

    def attach_to(self, machine: Machine, face: Any) -> None:
        super().attach_to(machine, face)
        self._codes = [t.guard.code if isinstance(t.guard, CodeGuard) else "" for t in self._chart.transitions]
        self.model = DataModel(
            name=self._chart.name,
            session_id=self._session_id,
            given=self._given,
            is_active=self.is_active,
            apply=self._apply,
            tell=self._tell_error,
            number=self._next_number,
            is_reachable=lambda to: self.is_reachable is None or self.is_reachable(to),
            http_location=self._http_location,
        )
        self.model.start(self._chart.preamble)

    def _apply(self, update: Update) -> None:
        apply_update(self.machine, self.machine.work or self.machine.begin(), update)

    def _next_number(self) -> int:
        self.machine.seq += 1
        return self.machine.seq

    def _tell_error(self, where: str, error: Exception) -> None:
        """Report an error of code that does not end its block."""
        machine = self.machine
        raise_error(machine, Failed("action", where, "code", self._chart.position, error))
        if not machine.is_busy and machine.work is not None:  # at start, no step would queue the error event
            flush_raised(machine, machine.work)
            machine.work = None

    def is_active(self, name: str) -> bool:
        node = self.machine.node
        if self.live is None and node is None:
            return False
        return super().is_active(name)

    def context(self, fields: Record) -> Mapping[str, Any]:
        return {name: value for name, value in self.model.names.variables().items() if not callable(value)}

    # ------------------------------------------------------------ code

    def guard(self, transition: int, event: Event | None) -> bool:
        return bool(self.model.evaluate(self._codes[transition], event or self.machine.event))

    def execute(self, action: CompiledAction, where: Where, event: Event) -> None:
        assert action.code is not None
        self.model.execute(action.code, event)

    def value(self, code: str, event: Event) -> Any:
        return self.model.evaluate(code, event)

    def check(self, element: Any, kind: str, event: Event | None) -> None:
        for guard, condition in self.conditions.get((element, kind), ()):
            if condition is None and isinstance(guard, CodeGuard):
                try:
                    is_true = self.model.evaluate(guard.code, event or self.machine.event)
                except Exception as error:
                    raise self.failed(element, kind, guard, error) from error
                if not is_true:
                    raise self.failed(element, kind, guard, "the condition does not hold")
        super().check(element, kind, event)

    # ------------------------------------------------------------ rollback and snapshots

    def mark(self) -> Any:
        return {name: _copied(value) for name, value in self.model.names.variables().items()}

    def roll_back(self, marks: Any) -> None:
        super().roll_back(marks)
        self._fill({name: _copied(value) for name, value in marks.items()})

    def restored(self, context: Mapping[str, Any], entry: Mapping[str, float], idle: Mapping[str, float]) -> None:
        """Restore variables; functions and classes are those that the preamble has just defined."""
        self.machine.internal = None  # drop errors of the preamble: they were reported before the snapshot
        kept = {name: value for name, value in self.model.names.variables().items() if callable(value)}
        self._fill(kept | {name: revived(value) for name, value in context.items()})

    def _fill(self, variables: Mapping[str, Any]) -> None:
        names = self.model.names
        for name in names.variables():
            if name not in variables:
                del names[name]
        for name, value in variables.items():
            names[name] = value


def _copied(value: Any) -> Any:
    """A deep copy if the value allows it; values that cannot be copied (modules, locks, open files) are shared."""
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - foreign classes raise what they like
        return value
