"""What monitors hear of one macrostep: the meta-events of sismic that it comes to, in their order, as hashable data.

    E: a -> b, b raises F     (step started) (event consumed, E) (state exited, a) (state entered, b) (event sent, F)
                              (event consumed, F) (step ended)

A macrostep with a round of eventless transitions that data ends has no longest trace. Its trace is a graph: the places
at which guards were asked, and what is heard between them.

    always b -> c [g], c -> b     (0) -entered b-> (1) -entered c, entered b-> (1) -entered d-> (2), the end
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from rawko.interpreter.monitoring.heard import CONSUMED, ENTERED, EXITED, PROCESSED, SENT, STEP_STARTED

Told: TypeAlias = tuple[Any, ...]
"""Name of a meta-event, followed by what it says: a state, an event's name; or source, targets and event."""
Answers: TypeAlias = tuple[tuple[str, bool], ...]


class Word(NamedTuple):
    """A meta-event, and how those guards of the machine answered in its microstep that monitors refer to."""

    told: Told
    answers: Answers = ()


class Trace(NamedTuple):
    """What is heard of a macrostep: the words along any way from place 0 to the end."""

    parts: tuple[tuple[int, tuple[Word, ...], int], ...] = ((0, (), 1),)
    end: int = 1

    @property
    def goes_round(self) -> bool:
        """Whether it is more than one row of words."""
        return len(self.parts) > 1

    def accepts(self, told: Sequence[Told]) -> bool:
        """Whether this may be heard."""
        reached = {(0, 0)}
        waiting = [(0, 0)]
        for node, count in waiting:  # grows while it is gone through
            for source, words, target in self.parts:
                after = (target, count + len(words))
                if source != node or after in reached:
                    continue
                if [word.told for word in words] == list(told[count : count + len(words)]):
                    reached.add(after)
                    waiting.append(after)
        return (self.end, len(told)) in reached


NO_TRACE: Final = Trace()


@dataclass(frozen=True, slots=True)
class Heard:
    """What monitors listen to: names of meta-events, and guards of the machine whose answers they use."""

    events: frozenset[str] = frozenset()
    guards: frozenset[str] = frozenset()

    @property
    def hears_all_events(self) -> bool:
        """Whether an event is heard that changes nothing."""
        return STEP_STARTED in self.events or CONSUMED in self.events


NOTHING_HEARD: Final = Heard()


def told_of(event: Any) -> Told:
    """A meta-event of the interpreter, as traces have it."""
    name = event.name
    if name in (CONSUMED, SENT):
        return (name, event.event.name)
    if name in (ENTERED, EXITED):
        return (name, event.state)
    if name == PROCESSED:
        return (name, event.source, tuple(event.targets), None if event.event is None else event.event.name)
    return (name,)
