"""The interpreter's speed beside stock sismic, in the same run: `make bench`.

Each group is one chart and one story; both interpreters consume the same events. What is measured for us is queueing
an event and running its macrostep, with the step as its result; for stock sismic the same two calls. The expected
ratio (15 and more) and flatness are asserted on the fastest of a few rounds, which is steady on a busy machine.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from time import process_time
from typing import Any

import pytest
from sismic.interpreter import Interpreter as StockInterpreter

from rawko.chart import parse_chart, to_statechart
from rawko.interpreter import Bindings, Interpreter, assign

EXPECTED_RATIO = 15


@dataclass(frozen=True)
class Story:
    """A chart and the events of one round, after which it stands where it began."""

    name: str
    text: str
    events: tuple[str, ...]
    bindings: Callable[[], Bindings] = Bindings
    ratio: float = EXPECTED_RATIO

    def ours(self) -> Any:
        return Interpreter(parse_chart(self.text), self.bindings(), input={"n": 0})

    def stock(self) -> Any:
        return StockInterpreter(to_statechart(parse_chart(self.text)), initial_context={"n": 0})


def up(context: Any, event: Any) -> Any:
    return assign(n=context.n + 1)


def is_counting(context: Any, event: Any) -> bool:
    return bool(context.n >= 0)


def counting() -> Bindings:
    bindings = Bindings()
    bindings.action(up)
    bindings.guard(is_counting)
    return bindings


def _chart(states: str) -> str:
    return f"statechart:\n  name: bench\n  root state:\n    name: r\n{states}\n"


TOGGLE = _chart(
    """
    initial: a
    states:
    - {name: a, transitions: [{event: E, target: b}]}
    - {name: b, transitions: [{event: E, target: a}]}
"""
)
SPEC_0003 = _chart(
    """
    initial: idle
    states:
    - {name: idle, transitions: [{event: START_TASK, target: selecting}]}
    - {name: selecting, transitions: [{event: AGENT_SELECTED, target: executing}, {event: CANCEL, target: idle}]}
    - {name: executing, transitions: [{event: AGENT_COMPLETE, target: evaluating}, {event: CANCEL, target: idle},
       {event: AGENT_ERROR, target: error_handling}]}
    - {name: evaluating, transitions: [{event: TASK_COMPLETE, target: complete}, {event: CONTINUE, target: selecting},
       {event: CANCEL, target: idle}]}
    - {name: error_handling, transitions: [{event: RETRY, target: executing}, {event: ABORT, target: idle}]}
    - {name: complete, transitions: [{event: RESET, target: idle}]}
"""
)
LOOP = ("START_TASK", "AGENT_SELECTED", "AGENT_COMPLETE", "CONTINUE", "AGENT_SELECTED", "AGENT_ERROR", "RETRY",
        "AGENT_COMPLETE", "TASK_COMPLETE", "RESET")  # fmt: skip


def deep(levels: int) -> str:
    """Two chains of that many states; the innermost ones lead to each other."""

    def chain(name: str, other: str, level: int) -> str:
        if level == levels:
            return f"{{name: {name}{level}, transitions: [{{event: E, target: {other}{level}}}]}}"
        inner = chain(name, other, level + 1)
        return f"{{name: {name}{level}, initial: {name}{level + 1}, states: [{inner}]}}"

    return _chart(f"    initial: a1\n    states: [{chain('a', 'b', 1)}, {chain('b', 'a', 1)}]")


def parallel(regions: int, *, is_one_moving: bool) -> str:
    """Regions that toggle, on one event or each on its own."""

    def region(n: int) -> str:
        event = f"E{n}" if is_one_moving else "E"
        return (
            f"{{name: p{n}, initial: a{n}, states: [{{name: a{n}, transitions: [{{event: {event}, target: b{n}}}]}}, "
            f"{{name: b{n}, transitions: [{{event: {event}, target: a{n}}}]}}]}}"
        )

    return _chart("    parallel states:\n" + "".join(f"    - {region(n)}\n" for n in range(regions)))


def grid(regions: int, size: int) -> str:
    """Rings side by side, each on its own event: configurations that hardly ever come again."""

    def region(n: int) -> str:
        states = ", ".join(
            f"{{name: s{n}_{k}, transitions: [{{event: E{n}, target: s{n}_{(k + 1) % size}}}]}}" for k in range(size)
        )
        return f"{{name: p{n}, initial: s{n}_0, states: [{states}]}}"

    return _chart("    parallel states:\n" + "".join(f"    - {region(n)}\n" for n in range(regions)))


def ring(size: int) -> str:
    """States in a circle."""
    states = (f"    - {{name: s{n}, transitions: [{{event: E, target: s{(n + 1) % size}}}]}}\n" for n in range(size))
    return _chart("    initial: s0\n    states:\n" + "".join(states))


RANDOM = Random(1)
STORIES = [
    Story("toggle", TOGGLE, ("E", "E")),
    Story("SPEC-0003 loop", SPEC_0003, LOOP),
    Story("10 deep", deep(10), ("E", "E")),
    Story("8 parallel, all move", parallel(8, is_one_moving=False), ("E", "E")),
    Story("8 parallel, one moves", parallel(8, is_one_moving=True), tuple(f"E{n}" for n in range(8)) * 2),
    Story("8 x 50 states, one at random", grid(8, 50), tuple(f"E{RANDOM.randrange(8)}" for _ in range(1000)), ratio=8),
    *(Story(f"ring of {size}", ring(size), ("E",) * 10) for size in (10, 100, 1000, 5000)),
]
RATIOS = [story for story in STORIES if story.name not in ("ring of 1000", "ring of 5000")]


def player(interpreter: Any, events: Sequence[str]) -> Callable[[], None]:
    """Queue and run each event."""
    interpreter.execute()
    queue, execute_once = interpreter.queue, interpreter.execute_once

    def play() -> None:
        for event in events:
            queue(event)
            execute_once()

    play()
    play()
    return play


@pytest.mark.parametrize("kind", ["ours", "stock"])
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_events(benchmark: Any, story: Story, kind: str) -> None:
    benchmark.group = f"{story.name} ({len(story.events)} events)"
    benchmark.extra_info["events"] = len(story.events)
    benchmark(player(getattr(story, kind)(), story.events))


def test_guard_and_assign(benchmark: Any) -> None:
    text = TOGGLE.replace("target: b}", "target: b, guard: is_counting, action: up}")
    story = Story("toggle with guard and assign", text, ("E", "E"), counting)
    benchmark.group = f"{story.name} (2 events)"
    benchmark(player(story.ours(), story.events))


def test_listener(benchmark: Any) -> None:
    interpreter = STORIES[0].ours()
    interpreter.attach(lambda event: None)
    benchmark.group = "toggle with a listener (2 events)"
    benchmark(player(interpreter, ("E", "E")))


def fastest(play: Callable[[], None], events: int, *, rounds: int, repeats: int) -> float:
    """Seconds per event, the best of some rounds."""
    gc.disable()
    try:
        found: list[float] = []
        for _ in range(rounds):
            start = process_time()
            for _ in range(repeats):
                play()
            found.append((process_time() - start) / (repeats * events))
        return min(found)
    finally:
        gc.enable()


@pytest.mark.parametrize("story", RATIOS, ids=lambda story: story.name)
def test_ratio(story: Story) -> None:
    some = story.events[:100]
    ours = fastest(player(story.ours(), story.events), len(story.events), rounds=7, repeats=400 // len(some))
    stock = fastest(player(story.stock(), some), len(some), rounds=3, repeats=max(1, 40 // len(some)))
    print(f"{story.name}: {ours * 1e6:.2f} µs, stock sismic {stock * 1e6:.1f} µs, {stock / ours:.0f} times")
    assert stock / ours >= story.ratio


def test_cost_is_flat() -> None:
    found: dict[int, float] = {}
    for size in (10, 5000):
        whole_round = ("E",) * size  # every state's tables are made in the warm-up
        repeats = max(1, 5000 // size)
        found[size] = fastest(player(Story("", ring(size), ()).ours(), whole_round), size, rounds=7, repeats=repeats)
    print({size: f"{seconds * 1e6:.2f} µs" for size, seconds in found.items()})
    assert found[5000] < 3 * found[10]


def test_an_idle_machine_is_small() -> None:
    """Measured as a user would: many machines of one chart, started and at rest."""
    import tracemalloc

    chart = parse_chart(TOGGLE)
    Interpreter(chart).start()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        machines = [Interpreter(chart) for _ in range(200)]
        for machine in machines:
            machine.start()
        per_machine = (tracemalloc.get_traced_memory()[0] - before) / len(machines)
    finally:
        tracemalloc.stop()
    print(f"{per_machine:.0f} bytes per machine")
    assert per_machine < 2500
