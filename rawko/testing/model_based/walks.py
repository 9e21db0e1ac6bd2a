"""Ways through a chart, for tests of the program that the chart is a model of.

    @pytest.mark.parametrize("walk", walks("door.yaml", strategy="transitions"), ids=str)
    def test_the_door(walk, page):
        walk.take(events={"OPEN": lambda step: page.click("open")}, states={"opened": lambda step: page.has("open")})

The ways are those of `rawko paths`: invocations that are done or fail and timers are steps, too. Nothing of a project
is run while they are found.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from pathlib import Path
from typing import Any, Literal, TypeAlias

from rawko.chart.definition import Chart
from rawko.chart.errors import hint
from rawko.chart.parse import load_chart
from rawko.interpreter import Bindings
from rawko.proving import NO_BOUNDS, ControlSystem, explore, read_bounds
from rawko.proving.bounds import bounds_beside, without_endings
from rawko.proving.paths import STRATEGIES, ChartPath, shortest_paths
from rawko.testing.errors import ContractMistake

Kind: TypeAlias = Literal["start", "event", "failure", "done", "error", "each", "timer", "sent"]
Does: TypeAlias = "Callable[[WalkStep], Any]"


@dataclass(frozen=True, slots=True)
class WalkStep:
    """One step of a walk.

    Attributes:
        kind: What happens: "event" from outside, an actor that is "done" or fails ("error") or ends one of several
            ("each"), a "timer", an event that the machine has "sent" to itself, a "failure" inside of it.
        event: Name of the event: OPEN, done.invoke.fetch, error.invoke.fetch; "" of the start.
        subject: Id of the invocation or timer, else "".
        guards: Guards that are asked, in order, with the answers that lead on.
        configuration: Active states afterwards.
        ending: The outcome or failure with which an actor ends, where the bounds file names some; else "".
    """

    kind: Kind
    event: str
    subject: str
    guards: tuple[tuple[str, bool], ...]
    configuration: tuple[str, ...]
    ending: str = ""

    def __str__(self) -> str:
        return self.event or "the machine starts"


@dataclass(frozen=True, slots=True)
class Walk:
    """A way from the start of the machine.

    Attributes:
        goal: The state or transition that it leads to.
        steps: The first one is the start.
    """

    chart: str
    goal: str
    steps: tuple[WalkStep, ...]

    def take(self, *, events: Mapping[str, Does], states: Mapping[str, Does] | None = None) -> None:
        """Take the way: what happens is done to the program; after each step the active states are looked for in it.

        Args:
            events: By name of an event, what makes it happen in the program. Each event of the way needs one, but for
                those that the machine sends to itself.
            states: By state, what looks whether the program is in it; raises where it is not. States that are left out
                are not looked for.

        Raises:
            ContractMistake: An event of the way has nothing that makes it happen, or there is no such state or event.
        """
        for do, step in self._doing(events, states or {}):
            found = do(step)
            if isawaitable(found):
                raise ContractMistake(f"{step}: its function is asynchronous; use: await walk.take_async(...)")

    async def take_async(self, *, events: Mapping[str, Does], states: Mapping[str, Does] | None = None) -> None:
        """`take` with functions that may be asynchronous."""
        for do, step in self._doing(events, states or {}):
            found = do(step)
            if isawaitable(found):
                await _awaited(found)

    def _doing(self, events: Mapping[str, Does], states: Mapping[str, Does]) -> Iterator[tuple[Does, WalkStep]]:
        for step in self.steps:
            if step.event not in events and step.kind not in ("start", "sent"):
                have = hint(step.event, list(events), "events")
                raise ContractMistake(f"{self}: nothing makes {step.event!r} happen{have}")
        for step in self.steps:
            if step.event in events:
                yield events[step.event], step
            for state in step.configuration:
                if state in states:
                    yield states[state], step

    def __str__(self) -> str:
        return f"{self.chart}, {self.goal}: {' > '.join(map(str, self.steps[1:])) or 'the start'}"


async def _awaited(found: Awaitable[object]) -> None:
    await found


def walks(
    chart: Chart | str | Path,
    *,
    strategy: str = "shortest",
    to: Sequence[str] = (),
    bounds: Path | None = None,
    functions: Bindings | None = None,
    limit: int = 100_000,
) -> list[Walk]:
    """Ways through a chart, for `pytest.mark.parametrize`.

    Args:
        chart: A chart or its file.
        strategy: As for `rawko paths`: "shortest" to each state, "transitions" that take them all, "pairs" of
            transitions one after another, "simple" ways through no configuration twice.
        to: Only shortest ways to these states.
        bounds: The bounds file; by default the one beside the chart's file, if there is one.
        functions: The chart's own, called on context fields and outcomes that the bounds file names; without them,
            these are not used.
        limit: Configurations to find at most.

    Raises:
        ContractMistake: There is no such strategy or state.
        ChartError, BoundsError, NotProvable: The chart or its bounds cannot be used.
    """
    definition = chart if isinstance(chart, Chart) else load_chart(chart)
    if strategy not in STRATEGIES:
        raise ContractMistake(f"there is no strategy {strategy!r}{hint(strategy, list(STRATEGIES), 'strategies')}")
    for name in to:
        if name not in definition.states:
            raise ContractMistake(
                f"{definition.name} has no state {name!r}{hint(name, list(definition.states), 'states')}"
            )
    file = bounds or (None if isinstance(chart, Chart) else bounds_beside(Path(chart)))
    said = NO_BOUNDS if file is None else read_bounds(file)
    system = ControlSystem(definition, said if functions is not None else without_endings(said), functions)
    found = explore(system, limit=limit)
    paths = shortest_paths(found, to) if to else STRATEGIES[strategy](found)
    names = found.system.step.names
    return [_walk(definition.name, path, names) for path in paths.paths]


def _walk(chart: str, path: ChartPath, names: Callable[[int], tuple[str, ...]]) -> Walk:
    steps: list[WalkStep] = []
    for move, outcome in path.way:
        kind: Any = move.kind
        active = names(outcome.control)
        steps.append(WalkStep(kind, move.event, move.subject, tuple(outcome.answers), active, move.ending))
    return Walk(chart, path.goal, tuple(steps))
