"""Answers of guards in one run of a macrostep, and the functions that use them in place of the chart's own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from rawko.chart.definition import Action, CallAction, Chart, flat
from rawko.interpreter import Bindings
from rawko.interpreter.data.updates import Assign, Raise, Send
from rawko.proving.bounds import Bounds
from rawko.proving.contexts import UNKNOWN, BoundedContext, chosen
from rawko.proving.hearing.places import Place
from rawko.proving.hearing.runs import Steps
from rawko.proving.skeleton import DATA, atoms


class Repeated(BaseException):
    """The macrostep is again at an earlier place with unknown data, from which its continuations were explored.

    Not an `Exception`: it passes through the interpreter as an interruption does.
    """

    def __init__(self, answers: slice, actions: slice) -> None:
        self.answers = answers
        self.actions = actions


class Script:
    """The answers of guards in one run of a macrostep: first the given ones, then true.

    Args:
        place: Returns the current place of the macrostep, as a key.
        originals: See `skeleton`.

    Attributes:
        steps: Microsteps of the run so far.
        computed: Guards that were called, each with its answer.
        places: Places of the first questions after each change of data, in order; if the run repeats an earlier
            place, that is the last one.
    """

    def __init__(self, place: Callable[[], Hashable], originals: Sequence[Action] = ()) -> None:
        self.place = place
        self.originals = originals
        self.steps = Steps([])
        self.places: list[Place] = []
        self.seen: dict[Hashable, tuple[int, int]] = {}
        self.asked_version = -1
        self.given: list[bool] = []
        self.answers: list[tuple[str, bool]] = []
        self.computed: list[tuple[str, bool]] = []
        self.actions: list[str] = []
        self.known: dict[Hashable, bool] = {}
        self.version = 0
        self.event: Any = None

    def restart(self) -> None:
        self.answers = []
        self.computed = []
        self.actions = []
        self.known = {}
        self.seen = {}
        self.places = []
        self.asked_version = -1
        self.version = 0
        self.event = None

    def ask(self, name: str, event: Any) -> bool:
        """The answer of a guard; the same one as before, as long as data and event are the same."""
        if event is not self.event:
            self.event = event
            self.version += 1
        if self.version != self.asked_version:  # the first question about this version of the data
            self.asked_version = self.version
            here = (name, self.place())
            now = (len(self.answers), len(self.actions))
            before = self.seen.setdefault(here, now)
            self.places.append(Place(here, len(self.steps), len(self.answers)))
            if before[0] != now[0]:
                raise Repeated(slice(before[0], now[0]), slice(before[1], now[1]))
        key = (name, self.version)
        found = self.known.get(key)
        if found is None:
            place = len(self.answers)
            found = self.given[place] if place < len(self.given) else True
            self.known[key] = found
            self.answers.append((name, found))
        return found

    def change(self, name: str) -> None:
        """Note that an action has changed data: guards may answer differently from now on."""
        self.version += 1
        self.actions.append(name)

    def advance(self) -> bool:
        """Set up the next combination of answers; returns whether there is one."""
        given = [answer for _, answer in self.answers]
        while given and not given[-1]:
            given.pop()
        if not given:
            return False
        given[-1] = False
        self.given = given
        return True


def scripted_bindings(chart: Chart, bounds: Bounds, script: Script, data: BoundedContext) -> Bindings:
    """Functions for a skeleton: guards answer or ask the script; actions change data, and raise or send the events of
    the bounds if the script says so."""
    bindings = Bindings()
    for name in sorted(guard_names(chart)):
        bindings.add("guard", name, _guard(name, script, data))
    for name in sorted(_calls(chart) | {DATA}):
        own, _, place = name.partition("#")
        updates = [(f"{own} raises {event}", Raise(event, {})) for event in bounds.raises.get(own, ())]
        sends = [(f"{own} sends {event}", Send(event, {}, None, 0, None)) for event in bounds.sends.get(own, ())]
        original = script.originals[int(place)] if place else None
        bindings.add("action", name, _action(own, [*updates, *sends], script, data, original))

    async def actor(input: Any) -> None: ...

    bindings.add("actor", "actor", actor)
    return bindings


def _guard(name: str, script: Script, data: BoundedContext) -> Callable[[Any, Any], bool]:
    def guard(context: Any, event: Any) -> bool:
        answer = data.answer(name, context, event)
        if answer is None:
            return script.ask(name, event)
        script.computed.append((name, answer))
        return answer

    return guard if data.answers_guards else lambda context, event: script.ask(name, event)


def _action(
    name: str, updates: list[tuple[str, Any]], script: Script, data: BoundedContext, original: Action | None
) -> Callable[[Any, Any], Any]:
    def change(context: Any, event: Any) -> Any:
        script.change(name)
        found = [update for question, update in updates if script.ask(question, event)]
        if original is not None and data.values:
            changes = data.changes(original, context, event)
            found.append(Assign(settled(changes, data, script, event)))
        return tuple(found)

    return change


def settled(changes: Mapping[str, Any], data: BoundedContext, script: Script, event: Any) -> dict[str, Any]:
    """The changes, with one value chosen by the script for each unknown one."""
    return {
        name: chosen(name, data.values[name], lambda text: script.ask(text, event)) if value is UNKNOWN else value
        for name, value in changes.items()
    }


def guard_names(chart: Chart) -> set[str]:
    """The guards of a skeleton, each with its arguments."""
    return {name for t in chart.transitions if t.guard is not None for name in atoms(t.guard)}


def _calls(chart: Chart) -> set[str]:
    found = [t.actions for t in chart.transitions]
    for state in chart.states.values():
        found += [state.initial_actions, state.memory_actions, state.on_entry, state.on_exit]
    return {action.name for actions in found for action in flat(actions) if isinstance(action, CallAction)}
