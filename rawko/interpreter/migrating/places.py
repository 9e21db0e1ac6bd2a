"""The configuration and history of a machine of an earlier version, mapped to the present version of its chart.

Each innermost active state maps to the state that a rule names, else to the state of the same name, else to the target
of the nearest ancestor that a rule names. States that must be active together with these are entered by default:

    order/review/legal   `review` was removed, with the rule  review: done      ->  order/done
    order/work/a         `work` has two regions now, `a` in the first one       ->  order/work/first/a and the second
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rawko.chart.errors import nearest
from rawko.interpreter.compiled.structure import Structure
from rawko.interpreter.migrating.rules import Followed


class Clash(Exception):
    """States that cannot be active together, or a state without a default child; the message says which."""


class Places:
    """The states of one machine in the two charts.

    Attributes:
        active: The new configuration, by index in the new chart; empty if there are problems.
        entered: Those of them that no active state of the old chart maps to.
        problems: Why some states have no place in the new chart.
        notes: Differences that lose something.
    """

    def __init__(self, old: Structure, new: Structure, followed: Followed) -> None:
        self._old = old
        self._new = new
        self._followed = followed
        self.active: frozenset[int] = frozenset()
        self.entered: frozenset[int] = frozenset()
        self.problems: list[str] = []
        self.notes: list[str] = []
        self._images: dict[str, str] = {}

    # ------------------------------------------------------------ one state

    def image(self, state: str) -> str | None:
        """The active state that an active state of the old chart maps to; None if there is none."""
        return self._images.get(state)

    def same(self, state: str) -> str | None:
        """The state that a rule names, else the state of the same name; None if there is neither."""
        name = self._followed.names.get(state, state)
        return name if name in self._new.index and state not in self._followed.undecided else None

    def _place(self, state: str) -> int | None:
        """The state that an innermost state maps to; records a problem if there is none."""
        old, followed = self._old, self._followed
        ruled: str | None = state
        has_rule = state in followed.ruled or state in followed.undecided
        if not has_rule and followed.names[state] not in self._new.index:
            ancestors = (old.names[number] for number in old.ancestors[old.index[state]][:-1])
            ruled = next((each for each in ancestors if each in followed.ruled or each in followed.undecided), None)
            if ruled is None:
                self.problems.append(self._missing(state))
                return None
        assert ruled is not None
        if ruled in followed.undecided:
            self.problems.append(followed.undecided[ruled])
            return None
        name = followed.names[ruled]
        index = self._new.index.get(name)
        if index is None:
            self.problems.append(f"state {state!r} leads to {name!r}, which the chart does not have")
        return index

    def _missing(self, state: str) -> str:
        near = nearest(state, self._new.names)
        guess = "" if near is None else f" (is it {near!r} now?)"
        version = self._old.chart.version
        rule = f"from: {version!r}, states: {{{state}: ...}}" if version else f"states: {{{state}: ...}}"
        return f"state {state!r} is not in the chart any more{guess}; say what stands in its place: migrate: {{{rule}}}"

    # ------------------------------------------------------------ the configuration

    def find_configuration(self, names: Sequence[str]) -> None:
        """Find the new configuration. `names`: the old one."""
        old, new = self._old, self._new
        active = [old.index[name] for name in names]
        inner = [state for state in active if not any(old.is_inside(other, state) for other in active)]
        targets: set[int] = set()
        for state in inner:
            place = self._place(old.names[state])
            if place is None:
                continue
            if new.is_history[place]:
                self.problems.append(f"{new.names[place]!r} is a history state, which is never active")
            elif new.is_final[place] and not old.is_final[state]:
                name = old.names[state]
                self.problems.append(f"state {name!r} leads to {new.names[place]!r}, a final state: nothing ends here")
            else:
                targets.add(place)
        if self.problems:
            return
        try:
            self.active = _completed(new, targets, 0)
        except Clash as error:
            self.problems.append(f"{error} (from {', '.join(repr(old.names[state]) for state in inner)})")
            return
        for name in names:
            image = new.names[0] if old.index[name] == 0 else self.same(name)
            if image is not None and new.index[image] in self.active:
                self._images[name] = image
        self.entered = self.active - {new.index[image] for image in self._images.values()}

    # ------------------------------------------------------------ history

    def history(self, records: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """The history records under their new names; drops and notes those whose history state is gone."""
        found: dict[str, list[str]] = {}
        new = self._new
        for name, record in records.items():
            image = self.same(name)
            if image is None or not new.is_history[new.index[image]]:
                self.notes.append(f"the history {name!r} is not in the chart any more: its record is dropped")
                continue
            places = [place for state in record if (place := self._place(state)) is not None]
            if len(places) < len(record):
                continue
            try:
                found[image] = [new.names[state] for state in self._record(new.index[image], places)]
            except Clash as error:
                self.notes.append(f"the history {image!r} is forgotten: {error}")
        return dict(sorted(found.items(), key=lambda item: new.index[item[0]]))

    def _record(self, history: int, places: Iterable[int]) -> Iterator[int]:
        """The record of a history state: innermost states if it is deep, else children of its parent.

        Raises:
            Clash: The places could not be active together in its parent.
        """
        new = self._new
        parent = new.parent[history]
        for place in places:
            if not new.is_inside(place, parent):
                raise Clash(f"{new.names[place]!r} is not inside {new.names[parent]!r}")
        active = _completed(new, set(places), parent)
        if new.states[history].kind == "deep history":
            return (state for state in sorted(active) if not new.children[state])
        return (child for child in new.children[parent] if child in active)


def _completed(structure: Structure, targets: set[int], top: int) -> frozenset[int]:
    """The targets with all states that must be active with them inside `top`: ancestors, regions, and default children.

    Raises:
        Clash: Two children of one state would be active, or no child is the default one.
    """
    active = {top, *targets}
    for target in targets:
        active.update(state for state in structure.ancestors[target] if structure.is_inside(state, top))
    pending = sorted(active, reverse=True)
    while pending:
        state = pending.pop()
        children = structure.children[state]
        inside = [child for child in children if child in active]
        if structure.is_parallel[state]:
            added = [child for child in children if child not in active]
        elif len(inside) > 1:
            names = " and ".join(repr(structure.names[child]) for child in inside)
            raise Clash(f"{names} would be active together in {structure.names[state]!r}, which has one active child")
        elif structure.is_compound[state] and not inside:
            added = _by_default(structure, state)
        else:
            continue
        active.update(added)
        pending += sorted(added, reverse=True)
    return frozenset(active)


def _by_default(structure: Structure, state: int) -> list[int]:
    """The states that the default entry of a compound state enters."""
    added: set[int] = set()
    for initial in structure.initial[state]:
        if structure.is_history[initial]:
            raise Clash(f"{structure.names[state]!r} is entered by its history, which holds nothing yet")
        added.add(initial)
        added.update(each for each in structure.ancestors[initial] if structure.is_inside(each, state))
    if not added:
        raise Clash(f"{structure.names[state]!r} does not say which child is entered; lead to one of them")
    return sorted(added)
