"""Checks the contracts of one interpreter in microsteps that run with an observer.

`before` of a state is checked at its entry, `after` at its exit, all conditions of a transition around its actions, and
`always` of each active state after every microstep. A condition may compare the context with `old`: the context when
the state was entered, or before the transition was taken.

GO leads from a to b, and its action `count` changes n from 1 to 2. The conditions are checked in this order:

    a             after              n 1, old.n 1
    transition    before, always     n 1, old.n 1
    (count)
    transition    after, always      n 2, old.n 1
    b             before, always     n 2, old.n 2
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from rawko.interpreter.compiled.contracts import contract_failure, require
from rawko.interpreter.compiled.tables import Plan
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.failures import Failed
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.values import Record
from rawko.interpreter.stepping.machine import Machine


class ContractChecks:
    """The contracts of one machine. An element is the name of a state, or the index of a transition.

    Attributes:
        conditions: By element and kind ("before", "after", "always").
        bound: Elements with conditions; the others are skipped.
        invariants: Elements with `always`. If there are any, they are checked for each active state after each
            microstep.
    """

    machine: Machine

    def attach_to(self, machine: Machine, face: Any) -> None:
        """Begin to observe a machine. `face`: its interpreter, for sismic's evaluators."""
        self.machine = machine
        self.program = machine.program
        self.conditions: Mapping[Any, Any] = {} if machine.ignores_contracts else self.program.bound.conditions
        self.bound: Container[Any] = {element for element, _ in self.conditions}
        self.invariants = frozenset(element for element, kind in self.conditions if kind == "always")
        self.has_invariants = bool(self.invariants)

    def is_active(self, name: str) -> bool:
        """Whether a state is active, for conditions."""
        return self.machine.matches(name)

    def binds(self, plan: Plan) -> bool:
        """Whether a contract has a condition on a state or transition of the plan."""
        return plan.is_bound and bool(self.conditions)

    def check(self, element: Any, kind: str, event: Event | None) -> None:
        """Check the conditions of one kind of an element.

        Raises:
            Failed: A condition is false, or raises.
        """
        if (element, kind) not in self.conditions:
            return
        machine = self.machine
        context, event, old = machine.context, event or machine.event, machine.olds.get(element)
        require(self.program.structure, self.conditions, element, kind, context, event, old, self.is_active)

    def check_invariants(self, event: Event | None) -> None:
        """Check the `always` conditions of all active states, outer ones first. `event` is None if only time has
        passed.
        """
        if self.has_invariants:
            for name in self.machine.names:
                if name in self.invariants:
                    self.check(name, "always", event)

    def failed(self, element: Any, kind: str, guard: Any, cause: Exception | str) -> Failed:
        """The failure of a condition."""
        return contract_failure(self.program.structure, element, kind, guard, cause)

    # ------------------------------------------------------------ the context as it was

    def remember(self, element: Any) -> None:
        """Record the context for `old`, if a condition of the element reads it."""
        if element in self.program.bound.reads_old and self.conditions:
            machine = self.machine
            machine.olds = {**machine.olds, element: Record(dict(machine.fields))}

    def forget(self, element: Any) -> None:
        """Drop the recorded context of an element."""
        olds = self.machine.olds
        if element in olds:
            self.machine.olds = {key: value for key, value in olds.items() if key != element}

    def olds(self) -> Mapping[str, Any]:
        """The values of `old` in contracts of active states, by state, for snapshots."""
        return self.machine.olds

    def restore_olds(self, olds: Mapping[str, Any]) -> None:
        """Set the values of `old` from a snapshot."""
        self.machine.olds = {name: freeze(old, was_kept=True) for name, old in olds.items()}
