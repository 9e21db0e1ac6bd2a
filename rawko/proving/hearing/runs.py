"""Traces of the runs of a macrostep: the words of its microsteps, cut at the places where guards were asked.

If no run repeats a place, each has its own trace. If one does, all runs with the same outcome share one trace: after a
place that is reached again, everything can follow that follows it in any run.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from rawko.interpreter.compiled.structure import Structure
from rawko.interpreter.monitoring.meta_event_names import (
    CONSUMED,
    ENTERED,
    EXITED,
    PROCESSED,
    SENT,
    STEP_ENDED,
    STEP_STARTED,
)
from rawko.proving.hearing.places import Place
from rawko.proving.hearing.traces import NO_END, Answers, Heard, MetaEvent, Trace, Word
from rawko.proving.outcomes import ROUND, Outcome, bare

Part: TypeAlias = tuple[Hashable, tuple[Word, ...], Hashable]
"""The words between two places."""


class Steps(list[Any]):
    """The microsteps of one run, each with the number of answers given before its end.

    Attributes:
        fields: The bounded context fields after each microstep.
        repeating: The number of latest microsteps that the run repeats for ever; 0 where it does not.
    """

    def __init__(self, answers: list[tuple[str, bool]], context: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._answers = answers
        self._context = {} if context is None else context
        self.asked: list[int] = []
        self.fields: list[Mapping[str, Any]] = []
        self.repeating = 0

    def append(self, step: Any) -> None:
        super().append(step)
        self.asked.append(len(self._answers))
        self.fields.append(dict(self._context) if self._context else {})

    def words(self, structure: Structure, heard: Heard, places: Sequence[Place]) -> list[tuple[Word, ...]]:
        """The words of each microstep.

        Args:
            places: If one is inside a microstep, the answers before and after it may come from different runs; the
                words of that microstep then have no answers.
        """
        found: list[tuple[Word, ...]] = []
        before = 0
        for number, (step, asked) in enumerate(zip(self, self.asked, strict=True)):
            is_cut = any(place.steps == number and place.answers > before for place in places)
            answers = () if is_cut else _clear(self._answers[before:asked], heard)
            before = asked
            events = _meta_events(step, structure)
            found.append(tuple(Word(one, answers) for one in events if one[0] in heard.events))
        return found


def _cut(
    words: Sequence[tuple[Word, ...]], places: Sequence[Place], end: Hashable, last: tuple[Word, ...]
) -> list[Part]:
    """Cut the words of a run at its places.

    Args:
        places: In order.
        end: The place at the end of the run.
        last: The words after its last microstep.
    """
    stops = [*((place.key, place.steps) for place in places), (end, len(words))]
    found: list[Part] = []
    here: Hashable = None
    begin = 0
    for place, stop in stops:
        found.append((here, tuple(word for step in words[begin:stop] for word in step), place))
        here, begin = place, stop
    found[-1] = (found[-1][0], (*found[-1][1], *last), end)
    return found


def _plain_trace(parts: Sequence[Part]) -> Trace:
    """The trace of a single run."""
    return Trace(((0, tuple(word for _, words, _ in parts for word in words), 1),), 1)


def _open_trace(parts: Sequence[Part]) -> Trace:
    """The trace of runs that are not completed: every path through their parts."""
    numbers: dict[Hashable, int] = {None: 0}
    for source, _, target in parts:
        numbers.setdefault(source, len(numbers))
        numbers.setdefault(target, len(numbers))
    every = dict.fromkeys((numbers[source], words, numbers[target]) for source, words, target in parts)
    return Trace(tuple(every), NO_END)


def _joined_trace(parts: Sequence[Part], end: Hashable) -> Trace:
    """The shared trace of all runs with the same end, from the parts of all runs of the macrostep."""
    leading = {end}
    while more := {source for source, _, target in parts if target in leading} - leading:
        leading |= more
    kept = [part for part in dict.fromkeys(parts) if part[2] in leading]
    numbers: dict[Hashable, int] = {None: 0}
    for source, _, target in kept:
        numbers.setdefault(source, len(numbers))
        numbers.setdefault(target, len(numbers))
    return Trace(tuple((numbers[source], words, numbers[target]) for source, words, target in kept), numbers[end])


def parts_of(one: Outcome, steps: Steps, places: Sequence[Place], structure: Structure, heard: Heard) -> list[Part]:
    """The parts of a run, up to its end, to the place that it repeats, or to the microstep at which it is stopped."""
    words = steps.words(structure, heard, places)
    if STEP_STARTED in heard.events and words:
        words[0] = (Word((STEP_STARTED,)), *words[0])
    if one.problem == ROUND:
        return _cut(words, places[:-1], places[-1].key, ())
    if one.problem:
        stop = len(words) - steps.repeating
        found = _cut(words[:stop], [place for place in places if place.steps <= stop], bare(one), ())
        return [*found, (bare(one), tuple(word for step in words[stop:] for word in step), bare(one))]
    last = (Word((STEP_ENDED,)),) if STEP_ENDED in heard.events and not one.is_still else ()
    return _cut(words, places, bare(one), last)


def traced(every: Sequence[Outcome], parts: Sequence[Sequence[Part]], heard: Heard) -> list[Outcome]:
    """The outcomes with their traces: their own, or the shared ones where a run repeats a place.

    Outcomes with a problem have traces without an end.
    """
    if not any(one.problem == ROUND for one in every):
        own = zip(every, parts, strict=True)
        return [replace(one, trace=_open_trace(its) if one.problem else _plain_trace(its)) for one, its in own]
    together = [part for its in parts for part in its]
    if STEP_ENDED in heard.events:  # a run that exits no state may have exited some in earlier rounds
        stills = [its[-1] for one, its in zip(every, parts, strict=True) if one.is_still and not one.problem]
        together += [(source, (*words, Word((STEP_ENDED,))), end) for source, words, end in stills]
    traces = {end: _joined_trace(together, end) for end in {bare(one) for one in every if not one.problem}}
    unended = _open_trace(together)
    return [replace(one, trace=unended if one.problem else traces[bare(one)]) for one in every]


def _clear(answers: Sequence[tuple[str, bool]], heard: Heard) -> Answers:
    """The answers of guards that are heard; a guard with both answers is left out."""
    given: dict[str, set[bool]] = {}
    for name, answer in answers:
        if name in heard.guards:
            given.setdefault(name, set()).add(answer)
    return tuple(sorted((name, True in both) for name, both in given.items() if len(both) == 1))


def _meta_events(step: Any, structure: Structure) -> Iterator[MetaEvent]:
    names = structure.names
    event = None if step.event is None else step.event.name
    if event is not None:
        yield (CONSUMED, event)
    if step.plan is not None:
        outline = step.plan.outline
        for state in outline.exits:
            yield (EXITED, names[state])
        for index in outline.transitions:
            transition = structure.transitions[index]
            yield (PROCESSED, transition.source, tuple(transition.targets), event)
        for entry in outline.entries:
            yield (ENTERED, names[entry.state])
    for sent in step.sent_events:
        yield (SENT, sent.name)
