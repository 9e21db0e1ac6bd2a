"""A monitor's own steps, without its data: its reactions to the trace of a macrostep of the watched machine.

    trace (state entered, open)     [is_state(name='open')]       computed: the state is known
    trace (step ended)              [not has_grown]               reads the machine's data: true and false

A guard is called with the meta-event only, twice. A guard that reads more may be true or false, unless the bounds file
beside the monitor has an answer (`answers`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from rawko.chart.definition import Chart
from rawko.chart.errors import hint
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.monitoring.meta_event_names import CONSUMED, ENTERED, EXITED, META_EVENTS, PROCESSED, SENT
from rawko.interpreter.monitoring.monitor import DUTY, with_known
from rawko.proving.bounding.known import KnownEvent, Reads
from rawko.proving.bounds import NO_BOUNDS, Bounds, BoundsError
from rawko.proving.contexts import UNKNOWN, BoundedContext
from rawko.proving.control import ControlStep
from rawko.proving.hearing.traces import NOTHING_HEARD, Answers, Heard, MetaEvent, Trace, Word
from rawko.proving.monitoring.answers import Said, answer_of, atoms_of, read_answers
from rawko.proving.script import guard_names
from rawko.proving.skeleton import NotProvable
from rawko.proving.system import ControlSystem


class Reaction(NamedTuple):
    """The result of a monitor after a trace.

    Attributes:
        control: See `ControlStep`.
        asked: Its guards whose answers were chosen freely.
        objection: The final state that it has reached; "" where it has not objected.
    """

    control: int
    asked: tuple[str, ...] = ()
    objection: str = ""


class MonitorStep:
    """The steps of one monitor.

    Args:
        chart: The monitor's chart.
        functions: The functions that it names; `is_state` and `is_event` are always known.
        bounds: Bounds of the monitor, which may have only `answers`.

    Attributes:
        problems: Reasons why some of its reactions are unknown.
        assumed: Guards with answers in the bounds, and these answers.
        bound: Transitions that were taken, and atoms of guards that were true; empty if the monitor checks nothing.

    Raises:
        NotProvable: The monitor has timers or actors of its own, or hears no meta-event.
        BoundsError: The bounds have other keys, or name unknown guards.
    """

    def __init__(self, chart: Chart, functions: Bindings | None = None, bounds: Bounds = NO_BOUNDS) -> None:
        self.name = chart.name
        self.chart = chart
        for state in chart.states.values():
            if state.after or state.invoke:
                what = "timers (`after`)" if state.after else "actors (`invoke`)"
                raise NotProvable(
                    f"{state.position}: the monitor {chart.name!r} has {what}; a monitor that is explored has none"
                )
        if replace(bounds, answers={}) != NO_BOUNDS:
            raise BoundsError(f"the bounds of the monitor {chart.name!r} hold more than `answers`, which is accepted")
        self._data = _Listening(chart, with_known(functions), read_answers(bounds.answers))
        self.step = ControlStep(chart, NO_BOUNDS, data=self._data)
        names = {*(text.partition("(")[0] for text in guard_names(self.step.chart)), *guard_names(self.step.chart)}
        for name in sorted(bounds.answers):
            if name not in names:
                near = hint(name, sorted(names), "guards")
                raise BoundsError(f"answers names {name!r}, which is none of the guards of the monitor{near}")
        heard = frozenset(event for t in chart.transitions for event in t.events)
        self.events = frozenset(META_EVENTS) if "*" in heard else heard & frozenset(META_EVENTS)
        if not self.events:
            raise NotProvable(
                f"{chart.position}: the monitor {chart.name!r} hears none of the events of a machine: "
                f"{', '.join(META_EVENTS)}"
            )
        guards = frozenset().union(*(atoms_of(said) for said in self._data.said.values()))
        self.assumed = {name: str(said).lower() for name, said in bounds.answers.items()}
        self.heard = Heard(self.events, guards)
        self._duties = frozenset(name for name, state in chart.states.items() if DUTY in state.tags)
        self.problems: dict[str, None] = {}
        self._memo: dict[tuple[int, Trace], tuple[Reaction, ...]] = {}
        self._once: dict[tuple[int, Word], tuple[Reaction, ...]] = {}

    @property
    def bound(self) -> set[Any]:
        return {*self.step.taken, *self._data.true_atoms}

    def open_duty(self, control: int) -> str:
        """An active state with the tag `duty`, which must not be active when the machine ends; "" for none."""
        if not self._duties:
            return ""
        names = self.step.controls[control].node.names
        return next((name for name in names if name in self._duties), "")

    def initial(self) -> tuple[Reaction, ...]:
        """The reactions before the first trace."""
        self._data.listen((), ())
        return self._reactions(self.step.every_initial())

    def reactions(self, control: int, trace: Trace) -> tuple[Reaction, ...]:
        """All reactions to a trace, those with the fewest free answers first; none follows an objection."""
        found = self._memo.get((control, trace))
        if found is None:
            found = self._memo[control, trace] = self._hear(control, trace)
        return found

    def _hear(self, control: int, trace: Trace) -> tuple[Reaction, ...]:
        reached: dict[int, dict[int, Reaction]] = {0: {control: Reaction(control)}}
        ended: set[Reaction] = set()
        waiting = [(0, Reaction(control))]
        for node, before in waiting:  # grows during the loop
            for source, words, target in trace.parts:
                if source != node:
                    continue
                for after in self._hear_words(before, words):
                    known = reached.setdefault(target, {}).get(after.control)
                    if known is None or len(after.asked) < len(known.asked):
                        reached[target][after.control] = after
                        if after.objection:
                            ended.add(after)
                        else:
                            waiting.append((target, after))
        return tuple(sorted(_surest({*ended, *reached.get(trace.end, {}).values()}), key=_by_sureness))

    def _hear_words(self, before: Reaction, words: tuple[Word, ...]) -> set[Reaction]:
        current = {before}
        for word in words:
            if word.meta_event[0] not in self.events:
                continue
            following: set[Reaction] = set()
            for one in current:
                if one.objection:
                    following.add(one)
                    continue
                for after in self._hear_one(one.control, word):
                    asked = tuple(dict.fromkeys((*one.asked, *after.asked)))
                    following.add(after._replace(asked=asked))
            current = _surest(following)
        return current

    def _hear_one(self, control: int, word: Word) -> tuple[Reaction, ...]:
        found = self._once.get((control, word))
        if found is None:
            self._data.listen(word.meta_event, word.answers)
            found = self._once[control, word] = self._reactions(self.step.every_outcome(control, word.meta_event[0]))
        return found

    def _reactions(self, outcomes: tuple[Any, ...]) -> tuple[Reaction, ...]:
        found: list[Reaction] = []
        for outcome in outcomes:
            if outcome.problem or outcome.sent or outcome.timers:
                what = outcome.problem or "event that it sends to itself later"
                self.problems[f"the monitor {self.name!r} has an {what}, which is not explored"] = None
                continue
            asked = tuple(dict.fromkeys(name for name, _ in outcome.answers))
            control = self.step.controls[outcome.control]
            objection = ""
            if control.is_done:
                objection = next(name for name in reversed(control.node.names) if name != self.chart.root)
            found.append(Reaction(outcome.control, asked, objection))
        self.problems |= self._data.problems
        return tuple(found)


def heard_by(monitors: Iterable[MonitorStep]) -> Heard:
    """The events that several monitors receive together."""
    found = NOTHING_HEARD
    for one in monitors:
        found = Heard(found.events | one.heard.events, found.guards | one.heard.guards)
    return found


def unknown_guards(system: ControlSystem, monitors: Iterable[MonitorStep]) -> list[str]:
    """One message for each guard in a monitor's answers that the machine does not have."""
    known = guard_names(system.step.chart)
    return [
        f"answers of the monitor {one.name!r} name {name!r}, which is none of the machine's guards"
        f"{hint(name, sorted(known), 'guards')}"
        for one in monitors
        for name in sorted(one.heard.guards - known)
    ]


def assumed_of(monitors: Iterable[MonitorStep]) -> list[str]:
    """Additional assumptions of verdicts on monitors."""
    return [f"the monitor's {name} answers: {said}" for one in monitors for name, said in one.assumed.items()]


def _by_sureness(reaction: Reaction) -> tuple[int, Reaction]:
    return len(reaction.asked), reaction


def _surest(reactions: set[Reaction]) -> set[Reaction]:
    """For each control the reaction with the fewest free answers."""
    found: dict[int, Reaction] = {}
    for one in sorted(reactions, key=_by_sureness):
        found.setdefault(one.control, one)
    return set(found.values())


class _Listening(BoundedContext):
    """Answers of a monitor's guards: from the bounds, or from its functions called with the meta-event."""

    def __init__(self, chart: Chart, functions: Bindings, said: Mapping[str, Said]) -> None:
        super().__init__(chart, {}, functions)
        self.said = said
        self.true_atoms: set[str] = set()
        self._event = KnownEvent({}, self.reads)
        self._answers: Mapping[str, bool] = {}

    @property
    def answers_guards(self) -> bool:
        return True

    def listen(self, meta_event: MetaEvent, answers: Answers) -> None:
        """Set the meta-event of the next step, and the answers of the machine's guards."""
        self._event = KnownEvent(_fields(meta_event, self.reads) if meta_event else {}, self.reads)
        self._answers = dict(answers)

    def answer(self, guard: str, fields: Mapping[str, Any], event: Event) -> bool | None:
        found = self._known_answer(guard)
        if found is not False:
            self.true_atoms.add(guard)
        return found

    def _known_answer(self, guard: str) -> bool | None:
        call = self._guards.get(guard)
        if call is None:
            return None
        answer = self._result("guard", call.name, call.arguments, {}, self._event, bool)
        if answer is not UNKNOWN:
            return bool(answer)
        said = self.said.get(guard, self.said.get(call.name))
        return None if said is None else answer_of(said, self._answers)


def _fields(meta_event: MetaEvent, reads: Reads) -> dict[str, Any]:
    """A meta-event as guards read it; fields that are missing here are unknown to them."""
    name = meta_event[0]
    found: dict[str, Any] = {"name": name}
    if name in (ENTERED, EXITED):
        found["state"] = meta_event[1]
    elif name in (CONSUMED, SENT):
        found["event"] = KnownEvent({"name": meta_event[1]}, reads)
    elif name == PROCESSED:
        _, source, targets, event = meta_event
        found |= {"source": source, "targets": list(targets), "target": targets[0] if targets else None}
        found["event"] = None if event is None else KnownEvent({"name": event}, reads)
    return found
