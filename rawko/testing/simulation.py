"""A chart stepped by hand: each step is a line of a contract, so that a session is a scenario.

    simulation = Simulation(chart, bindings)
    simulation.when("I send event OPEN")      # the machine takes its steps
    simulation.undo()                         # the lines before it are played again, on a new machine
    simulation.scenario("It opens")           # "  Scenario: It opens\\n    When I send event OPEN\\n ..."

A guard that nothing is bound to has to be answered: `when` raises `GuardNotGiven`, and the machine is as it was before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.values import thaw
from rawko.testing.doubles import GuardNotGiven
from rawko.testing.errors import ContractBroken, ContractMistake
from rawko.testing.scene import Scene
from rawko.testing.steps.book import BOOK


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the session, with what the machine was in after it.

    Attributes:
        leaves: Active states without active children, in document order.
        refused: The receipt of an event that was not taken; "" where it was.
    """

    text: str
    leaves: tuple[str, ...]
    refused: str = ""


class Simulation:
    """One session.

    Raises:
        GuardNotGiven: A guard decides what the machine begins with, and nothing is bound to it; `guards` answers it.
    """

    def __init__(
        self, chart: Chart, bindings: Bindings | None = None, *, guards: Mapping[str, bool] | None = None
    ) -> None:
        self.chart = chart
        self._bindings = bindings
        self._guards = dict(guards or {})
        self._lines: list[Line] = []
        self._scene = self._made(())

    @property
    def lines(self) -> Sequence[Line]:
        return tuple(self._lines)

    def when(self, text: str) -> Line:
        """Play a line of a contract, as it stands behind "When".

        Raises:
            GuardNotGiven: A guard has to be answered first; nothing has happened.
            ContractMistake: The line contains a mistake; nothing has happened.
            ContractBroken: The machine raised; nothing has happened.
        """
        try:
            self._scene.run("when", text)
        except (ContractMistake, ContractBroken):
            self._scene = self._made([line.text for line in self._lines])
            raise
        line = Line(text, self.leaves, self._refused(text))
        self._lines.append(line)
        return line

    def answer(self, guard: str, outcome: bool) -> Line:
        """How a guard comes out from now on."""
        return self.when(f'guard "{guard}" is {str(outcome).lower()}')

    def undo(self) -> Line | None:
        """Take the latest line back, with the answers to guards that were given for it; None where there is none."""
        if not self._lines:
            return None
        line = self._lines.pop()
        while self._lines and self._lines[-1].text.startswith("guard "):
            self._lines.pop()
        self._scene = self._made([one.text for one in self._lines])
        return line

    def back_to(self, number: int) -> None:
        """Keep the first so many lines: what was begun after them has not happened."""
        del self._lines[number:]
        self._scene = self._made([one.text for one in self._lines])

    # ------------------------------------------------------------ what there is

    @property
    def configuration(self) -> tuple[str, ...]:
        return tuple(self._scene.actor.configuration)

    @property
    def leaves(self) -> tuple[str, ...]:
        active = self.configuration
        parents = {self.chart[name].parent for name in active}
        return tuple(name for name in active if name not in parents)

    @property
    def is_final(self) -> bool:
        return self._scene.actor.is_done

    @property
    def context(self) -> dict[str, Any]:
        told: dict[str, Any] = thaw(self._scene.actor.context)
        return told

    @property
    def events(self) -> tuple[str, ...]:
        """Names of the events that the active states or the states around them handle, in order."""
        transitions = (one for state in self.configuration for one in self.chart[state].transitions)
        return tuple(dict.fromkeys(name for one in transitions for name in _names(one)))

    @property
    def actors(self) -> tuple[str, ...]:
        """Ids of the actors that are at work."""
        return tuple(self._scene.actor.interpreter.invocations)

    def why_not(self, event: str) -> list[str]:
        """Why an event would not be taken now; empty where it would be."""
        with self._scene.doubles.unwatched():
            return [str(refusal) for refusal in self._scene.actor.why_not(event)]

    # ------------------------------------------------------------ as a scenario

    def scenario(self, name: str) -> str:
        """The session as a scenario of the chart's feature: every line, and what was active after it."""
        told = [f"  Scenario: {' '.join(name.split())}"]
        told += [f'    Given guard "{guard}" is {str(is_true).lower()}' for guard, is_true in self._guards.items()]
        is_open = False
        for number, line in enumerate(self._lines):
            told.append(f"    {'And' if is_open else 'When'} {line.text}")
            is_open = True
            following = self._lines[number + 1] if number + 1 < len(self._lines) else None
            if line.text.startswith("guard ") and following is not None:
                continue
            first, *more = (f'state "{state}" is active' for state in line.leaves)
            told.append(f"    Then {first}")
            told += [f"    And {one}" for one in more]
            is_open = False
        return "\n".join(told) + "\n"

    def _made(self, lines: Sequence[str]) -> Scene:
        scene = Scene(self.chart, self._bindings, BOOK)
        scene.doubles.given.update(self._guards)
        scene.actor  # noqa: B018 - makes the machine
        if scene.doubles.mistake is not None:
            raise scene.doubles.mistake
        for text in lines:
            scene.run("when", text)
        return scene

    def _refused(self, text: str) -> str:
        receipts = self._scene.done.receipts
        if not text.startswith("I send event") or not receipts:
            return ""
        receipt = str(receipts[-1][1].value)
        return "" if receipt == "taken" else receipt


def _names(transition: Any) -> Sequence[str]:
    return [name for name in transition.events if "*" not in name and "." not in name]


__all__ = ["GuardNotGiven", "Line", "Simulation"]
