"""Explores a chart together with one of its monitors: does the monitor ever object, and does it check anything?

The states of the product are pairs of an explored configuration and a configuration of the monitor; each edge of the
exploration has a trace, which the monitor hears.

    objects, whatever its data is              refuted, with the shortest path; so is an end while a duty is open
    objects, if guards that read data say so   undetermined, with a path and the guards
    takes no transition and no guard is true   undetermined: it is vacuous
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rawko.chart.definition import Chart, SendAction, flat
from rawko.interpreter.monitoring.meta_event_names import SENT
from rawko.proving.control import TooManyChoices
from rawko.proving.exploring.exploration import START, Exploration
from rawko.proving.findings import Finding, Verdict, listed, plural
from rawko.proving.monitoring.monitor import MonitorStep, Reaction
from rawko.proving.outcomes import Outcome
from rawko.proving.system import Move

PREFIX: Final = "monitor "
MAX_PAIRS: Final = 4_000_000


def finding_name(monitor: MonitorStep) -> str:
    """The name of a monitor among the properties."""
    return PREFIX + monitor.name


def check_monitor(found: Exploration, monitor: MonitorStep) -> Finding:
    """The verdict on one monitor, from an exploration whose system hears what the monitor hears."""
    name = finding_name(monitor)
    try:
        sure = _Product(found, monitor, is_sure=True)
        if (objection := sure.explore()) is not None:
            text = _objection(monitor, objection)
            return Finding(name, Verdict.REFUTED, text, *sure.shown())
        whole = _Product(found, monitor, is_sure=False)
        if (objection := whole.explore()) is not None:
            text = f"{_objection(monitor, objection)}, if its guards answer so: {listed(whole.asked())}"
            return Finding(name, Verdict.UNDETERMINED, text, *whole.shown())
    except TooManyChoices as error:
        return Finding(name, Verdict.UNDETERMINED, f"of the monitor: {error}")
    unknown = list(_unknown(found, monitor, whole))
    if unknown:
        return Finding(name, Verdict.UNDETERMINED, unknown[0])
    if not monitor.bound:
        text = "vacuous: none of its transitions is ever taken and none of its guards is true, so nothing was checked"
        return Finding(name, Verdict.UNDETERMINED, text)
    taken, every = len(monitor.step.taken), len(monitor.step.structure.transitions)
    pairs = len(whole)
    told = f"it never objects, in {pairs} pair{plural(pairs)} of configurations"
    text = f"{told}; {taken} of its {every} transitions are taken"
    return Finding(name, Verdict.PROVED, text)


def _objection(monitor: MonitorStep, state: str) -> str:
    description = monitor.chart[state].description
    return f"it objects by {state!r}{f': {description}' if description else ''}"


def _unknown(found: Exploration, monitor: MonitorStep, product: _Product) -> Iterator[str]:
    if not found.is_complete:
        yield "not all states were explored"
    if product.is_cut:
        yield f"more than {MAX_PAIRS} pairs of configurations"
    if SENT in monitor.events and _sends_to_others(found.system.source):
        yield "the chart sends events to other machines, which the exploration leaves out"
    yield from monitor.problems


def _sends_to_others(chart: Chart) -> bool:
    every = [t.actions for t in chart.transitions]
    for state in chart.states.values():
        every += [state.on_entry, state.on_exit, state.initial_actions, state.memory_actions]
    return any(isinstance(one, SendAction) and one.to is not None for actions in every for one in flat(actions))


class _Product:
    """The reachable pairs, breadth first.

    Args:
        is_sure: Follow only reactions that do not depend on the monitor's data.
    """

    def __init__(self, found: Exploration, monitor: MonitorStep, *, is_sure: bool) -> None:
        self._found = found
        self._monitor = monitor
        self._is_sure = is_sure
        self._seen: dict[tuple[int, int], tuple[int, Move, Outcome | int, tuple[str, ...]]] = {}
        self._pairs: list[tuple[int, int]] = []
        self._last: tuple[int, tuple[int, Move, Outcome | int, tuple[str, ...]]] | None = None
        self._uncompleted: dict[int, list[tuple[Move, Outcome]]] = {}
        for source, move, outcome in (*found.problems, *found.rounds):
            self._uncompleted.setdefault(source, []).append((move, outcome))
        self.is_cut = False

    def __len__(self) -> int:
        return len(self._pairs)

    def explore(self) -> str | None:
        """The final state of the monitor's first objection; None: it never objects."""
        found = self._found
        first = {found.codes[n]: n for n in range(len(found)) if found.before[n] < 0}
        for start in self._possible(self._monitor.initial()):
            for edge in found.system.initial():
                if edge.target is None:
                    continue
                number = first[found.compiled.packing.code(edge.target)]
                for reaction in self._possible(self._monitor.reactions(start.control, edge.outcome.trace)):
                    asked = (*start.asked, *reaction.asked)
                    if objection := self._add(number, reaction, (-1, START, edge.outcome, asked)):
                        return objection
            if objection := self._stopped(-1, -1, start.control, start.asked):
                return objection
        return self._follow()

    def _follow(self) -> str | None:
        found, monitor = self._found, self._monitor
        offsets, targets, labels, kinds = found.offsets, found.targets, found.labels, found.kinds
        memo: dict[tuple[int, int], tuple[Reaction, ...]] = {}
        for place, (number, control) in enumerate(self._pairs):  # grows during the loop
            if number >= found.expanded:
                continue
            for edge in range(offsets[number], offsets[number + 1]):
                label = labels[edge]
                reactions = memo.get((control, label))
                if reactions is None:
                    heard = monitor.reactions(control, kinds[label].outcome.trace)
                    reactions = memo[control, label] = self._possible(heard)
                for reaction in reactions:
                    by = (place, kinds[label].move, label, reaction.asked)
                    if objection := self._add(targets[edge], reaction, by):
                        return objection
            if objection := self._stopped(number, place, control):
                return objection
            if len(self._pairs) > MAX_PAIRS:
                self.is_cut = True
                return None
        return None

    def _stopped(self, number: int, place: int, control: int, asked: tuple[str, ...] = ()) -> str:
        """The objection to a macrostep that begins in a configuration and is not completed; "" for none.

        Such a macrostep leads nowhere: the machine is rolled back, and so is the monitor, unless it has objected first.
        """
        for move, outcome in self._uncompleted.get(number, ()):
            for reaction in self._possible(self._monitor.reactions(control, outcome.trace)):
                if reaction.objection:
                    self._last = (number, (place, move, outcome, (*asked, *reaction.asked)))
                    return reaction.objection
        return ""

    def _possible(self, reactions: tuple[Reaction, ...]) -> tuple[Reaction, ...]:
        return tuple(one for one in reactions if not (self._is_sure and one.asked))

    def _add(self, number: int, reaction: Reaction, by: tuple[int, Move, Outcome | int, tuple[str, ...]]) -> str:
        """Add a pair; returns the state of the monitor's objection, "" where it does not object."""
        objection = reaction.objection
        if not objection and self._found.is_done(number):
            objection = self._monitor.open_duty(reaction.control)
        if objection:
            self._last = (number, by)
            return objection
        pair = (number, reaction.control)
        if pair not in self._seen:
            self._seen[pair] = by
            self._pairs.append(pair)
        return ""

    def _back(self) -> Iterator[tuple[int, tuple[int, Move, Outcome | int, tuple[str, ...]]]]:
        """Numbers of configurations with the step to each, from the objection back to the start."""
        assert self._last is not None
        number, by = self._last
        yield number, by
        while by[0] >= 0:
            pair = self._pairs[by[0]]
            number, by = pair[0], self._seen[pair]
            yield number, by

    def asked(self) -> list[str]:
        """Guards of the monitor with freely chosen answers along the path."""
        return list(dict.fromkeys(name for _, by in reversed(list(self._back())) for name in by[3]))

    def shown(self) -> tuple[tuple[tuple[Move, Outcome], ...], tuple[str, ...]]:
        """The path to the objection, and the active states there."""
        found = self._found
        steps = list(reversed(list(self._back())))
        way: list[tuple[Move, Outcome]] = []
        for place, (number, (_, move, by, _)) in enumerate(steps):
            if isinstance(by, int):
                before = found.state(steps[place - 1][0])
                way.append((move, found.outcome_of(before, found.state(number), found.kinds[by])))
            else:
                way.append((move, by))
        last = steps[-1][0]
        return tuple(way), found.names(last) if last >= 0 else ()
