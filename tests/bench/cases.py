"""What is measured: a chart, the events of one round, and what is done with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any, Literal, TypeAlias

from tests.bench import charts, coded
from tests.bench.charts import State

Operation: TypeAlias = Literal[
    "events", "first", "listener", "subscriber", "create", "life", "load", "snapshot", "restore", "pure"
]

_RANDOM = Random(1)
_ALTERNATING = ("PAUSE", "RESUME", "NEXT", "PAUSE", "RESUME", "NEXT")
_PAIR = ("E", "E")


@dataclass(frozen=True, eq=False)
class Case:
    """One story, told to every contender.

    Attributes:
        operation: What one round does: send the events (also with a listener or a subscriber attached; "first": to a
            machine whose chart has never run), create and start a machine, live a whole life, load the chart from its
            text, take a snapshot, restore one, take each event by the pure transition from one value to the next.
        warm_up: Sent before anything is measured, to those that work a state's moves out when they first meet it.
        events: Of one round, after which the machine stands where it began, unless the chart is wandering about.
        unit: What one measured thing is called.
        data: The payload of every event.
        payloads: A payload for each of the events; then `data` is not used.
    """

    name: str
    make: Any
    events: tuple[str, ...] = ()
    operation: Operation = "events"
    unit: str = "event"
    data: dict[str, Any] = field(default_factory=dict)
    warm_up: tuple[str, ...] = ()
    payloads: tuple[dict[str, Any], ...] = ()

    @cached_property
    def chart(self) -> State:
        chart: State = self.make()
        return chart

    @property
    def sent(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """The events of one round with their payloads."""
        return tuple(zip(self.events, self.payloads or (self.data,) * len(self.events), strict=True))

    @property
    def count(self) -> int:
        """Things measured per round."""
        return len(self.events) if self.unit == "event" else 1


def _payload(characters: int) -> dict[str, Any]:
    return {"text": "x" * characters, "task": {"id": 7, "tags": ["a", "b"]}}


CASES = (
    Case("toggle", charts.toggle, _PAIR),
    Case("SPEC-0003 loop, names alone", charts.spec_0003, charts.SPEC_0003_LOOP),
    Case(
        "SPEC-0003 with its guards, actions, payloads and history",
        coded.chart,
        tuple(event for event, _ in coded.LOOP),
        payloads=tuple(data for _, data in coded.LOOP),
    ),
    Case("10 deep: 10 exits, 10 entries", lambda: charts.deep(10), _PAIR),
    Case("8 parallel, all move", lambda: charts.parallel(8, is_one_moving=False), _PAIR),
    Case(
        "8 parallel, one moves",
        lambda: charts.parallel(8, is_one_moving=True),
        tuple(f"E{n}" for n in range(8)) * 2,
    ),
    *(
        Case(f"ring of {n:,}", lambda n=n: charts.ring(n), ("E",) * 10, warm_up=("E",) * n)
        for n in (10, 100, 1000, 5000)
    ),
    Case("ring of 1,000, first visits", lambda: charts.ring(1000), ("E",) * 999, "first"),
    Case(
        "8 x 50 at random, never the same",
        lambda: charts.grid(8, 50),
        tuple(f"E{_RANDOM.randrange(8)}" for _ in range(500)),
    ),
    Case("deep history", charts.history, _ALTERNATING),
    Case("guard and assign", lambda: charts.toggle("is_counting", "up"), _PAIR),
    Case("toggle, by the pure transition", charts.toggle, _PAIR, "pure"),
    Case("guard and assign, by the pure transition", lambda: charts.toggle("is_counting", "up"), _PAIR, "pure"),
    Case("payload of 100 characters", charts.toggle, _PAIR, data=_payload(100)),
    Case("payload of 1,000,000 characters", charts.toggle, _PAIR, data=_payload(1_000_000)),
    Case("toggle, one sismic listener", charts.toggle, _PAIR, "listener"),
    Case("toggle, one step subscriber", charts.toggle, _PAIR, "subscriber"),
    Case("create and start", charts.toggle, (), "create", "machine"),
    Case("short life: create, 5 events, final", charts.life, ("E",) * 5, "life", "life"),
    Case("snapshot as JSON text", charts.history, _ALTERNATING[:1], "snapshot", "snapshot"),
    Case("restore from JSON text", charts.history, _ALTERNATING[:1], "restore", "restore"),
    *(
        case
        for n in (10, 1_000, 10_000)
        for case in (
            Case(
                f"dump of {n:,} messages as JSON text", lambda n=n: charts.conversation(n), ("E",), "snapshot", "dump"
            ),
            Case(f"load of {n:,} messages as JSON text", lambda n=n: charts.conversation(n), ("E",), "restore", "load"),
        )
    ),
    Case("load 1,000 states", lambda: charts.thousand(with_code=False), (), "load", "chart"),
    Case(
        "load 1,000 states, 4,000 different expressions", lambda: charts.thousand(with_code=True), (), "load", "chart"
    ),
)
