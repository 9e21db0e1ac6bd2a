"""What a contender has to offer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any, Protocol, TypeAlias

from tests.bench.cases import Case
from tests.bench.charts import State

Play: TypeAlias = Callable[[], Any]
Seen: TypeAlias = list[tuple[tuple[str, ...], int]]
"""After the start and after each event: active leaves, and how many states were entered since the start."""


def require_no_code(chart: State) -> None:
    """For those who have not got SPEC-0003's functions in their own way.

    Raises:
        Unsupported: The chart names them.
    """
    if chart.get("is_coded"):
        raise Unsupported("its code is not written for this library")


class Missing(Exception):
    """The contender is not here; says why."""


class Unsupported(Exception):
    """The contender has no word for this; says what."""


class Runner(Protocol):
    """One case, ready to be measured.

    Attributes:
        warm_up_s: CPU seconds to play before it counts; compilers at run time need some.
    """

    @property
    def warm_up_s(self) -> float: ...

    def measure(self, rounds: int) -> float:
        """CPU seconds of that many rounds."""

    def close(self) -> None: ...


class Contender(Protocol):
    """One library."""

    name: str

    def version(self) -> str:
        """Raises Missing where it is not installed."""

    def verify(self, case: Case, events: list[str]) -> Seen:
        """The chart with an entry action in every state that counts, played."""

    def prepare(self, case: Case) -> Runner:
        """Raises Unsupported."""

    def bytes_per_machine(self, case: Case, count: int) -> float:
        """Memory of one started machine of that many."""


@dataclass
class InProcess:
    """A runner in this process, on process_time: all threads' CPU time, no waiting."""

    play: Play
    warm_up_s: float = 0.05

    def measure(self, rounds: int) -> float:
        play = self.play
        start = process_time()
        for _ in range(rounds):
            play()
        return process_time() - start

    def close(self) -> None:
        self.play = _nothing


def _nothing() -> None: ...


class PythonContender:
    """A Python library: plays are closures over its own calls, nothing of ours stands in between."""

    name = ""
    has_tables = False
    """Whether a state that is met for the first time costs more than later."""

    def version(self) -> str:
        raise NotImplementedError

    def definition(self, chart: State, entered: Callable[..., Any] | None = None) -> Any:
        """The chart as the library has it, to make machines of; `entered` is called by every state."""
        raise NotImplementedError

    def machine(self, definition: Any) -> Any:
        """A started machine."""
        raise NotImplementedError

    def sender(self, machine: Any) -> Callable[..., Any]:
        raise NotImplementedError

    def active(self, machine: Any) -> list[str]:
        """Names of active states."""
        raise NotImplementedError

    def verify(self, case: Case, events: list[str]) -> Seen:
        from tests.bench.charts import leaves

        count = 0

        def entered(*arguments: Any, **named: Any) -> None:
            nonlocal count
            count += 1

        machine = self.machine(self.definition(case.chart, entered))
        send, all_leaves = self.sender(machine), leaves(case.chart)
        count = 0  # libraries differ in whether the first entry runs entry code
        found: Seen = []
        for number, event in enumerate((None, *events)):
            if event is not None:
                send(event, **(case.payloads[number - 1] if case.payloads else {}))
            found.append((tuple(sorted(all_leaves.intersection(self.active(machine)))), count))
        return found

    def prepare(self, case: Case) -> InProcess:
        play: Play = getattr(self, f"play_{case.operation}", self.unsupported)(case)
        return InProcess(play)

    def unsupported(self, case: Case) -> Play:
        raise Unsupported("no such thing")

    def play_events(self, case: Case) -> Play:
        machine = self.machine(self.definition(case.chart))
        if self.has_tables:
            send = self.sender(machine)
            for event in case.warm_up:
                send(event)
        return self.player(machine, case)

    play_first = play_events

    def player(self, machine: Any, case: Case) -> Play:
        """Sends the events of one round."""
        send, events, sent = self.sender(machine), case.events, case.sent

        def play() -> None:
            for event in events:
                send(event)

        def play_data() -> None:
            for event, data in sent:
                send(event, **data)

        return play_data if case.data or case.payloads else play

    def play_create(self, case: Case) -> Play:
        definition, machine = self.definition(case.chart), self.machine
        return lambda: machine(definition)

    def play_life(self, case: Case) -> Play:
        definition = self.definition(case.chart)
        machine, sender, events = self.machine, self.sender, case.events

        def play() -> None:
            send = sender(machine(definition))
            for event in events:
                send(event)

        return play

    def bytes_per_machine(self, case: Case, count: int) -> float:
        """As the allocator sees it, for machines at rest after an event."""
        import gc
        import tracemalloc

        definition = self.definition(case.chart)
        self.sender(self.machine(definition))("E")
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            machines = [self.machine(definition) for _ in range(count)]
            gc.collect()
            return (tracemalloc.get_traced_memory()[0] - before) / len(machines)
        finally:
            tracemalloc.stop()
