"""What an exploration is remembered by besides its journal: how it was started, every attempt as it was persisted, and
its report. One folder each, in the state folder; nothing in it is a key."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TextIO

from pydantic import Field, ValidationError

from rawko.app.records.json_files import read_file, write_file
from rawko.app.records.record import is_name
from rawko.config import ConfigError
from rawko.machines.node_engine.context import Budgets, EngineResult, RunState
from rawko.machines.node_engine.drivers.choice import DEFAULT, DriverName
from rawko.machines.node_engine.explore import trail as told
from rawko.machines.node_engine.explore.policy import ExplorePolicy
from rawko.machines.node_engine.explore.trail import KeptTrail
from rawko.processes.private import append_private
from rawko.vocabulary.base import Data

FORMAT: Final = 1
FAILED: Final = "FAILED"
_FAILURES: Final = (told.LAUNCH_FAILED, told.DEAD_END)
"""Events that say why their attempt has failed."""
_PLAN, _ATTEMPTS, _REPORT = "plan.json", "attempts.jsonl", "report.json"


class Continuation(Data):
    """That an exploration was gone on with.

    Attributes:
        at_ms: When, epoch milliseconds.
        after: Attempts that had been kept by then.
        why: What had ended it: "interrupted", or the limit that was reached and then raised.
        worked_ms: How long it had been at work by then.
    """

    at_ms: int
    after: int
    why: str
    worked_ms: int


class ExplorationPlan(Data):
    """How an exploration was started, and how it is gone on with.

    Attributes:
        began_at_ms: Epoch milliseconds.
        size: Columns and lines of the terminal.
        budgets: As they are now: whoever goes on with it may have raised them. Time is time at work.
        max_cost_usd: Bound of what the model may cost.
        driver: What AGENT_DRIVER said.
        uses_model: A model is asked where no rule says what to do.
        continued: Each time that it was gone on with.
    """

    format: int = FORMAT
    command: tuple[str, ...] = Field(min_length=1)
    cwd: str
    began_at_ms: int | None = None
    size: tuple[int, int] = (80, 24)
    policy: ExplorePolicy = ExplorePolicy()
    budgets: Budgets = Budgets()
    max_cost_usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    driver: DriverName = DEFAULT
    uses_model: bool = False
    provider: str = "scripted"
    model: str | None = None
    scenario: str | None = None
    cassette: str | None = None
    continued: tuple[Continuation, ...] = ()

    @property
    def worked_ms(self) -> int:
        """How long it had been at work before it was gone on with last."""
        return self.continued[-1].worked_ms if self.continued else 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt as it was persisted, at `at_ms` (epoch milliseconds)."""

    node: str
    state: RunState
    events: tuple[Mapping[str, Any], ...]
    at_ms: int | None = None

    @property
    def step(self) -> int:
        return self.state.step_ordinal

    @property
    def worked_ms(self) -> int:
        """How long the exploration had been at work by then."""
        begun = self.state.started_at_ms
        return 0 if begun is None or self.at_ms is None else max(self.at_ms - begun, 0)

    @property
    def told(self) -> tuple[Mapping[str, Any], ...]:
        """Its events; and what it failed with, where none of them says so."""
        error = None if self.state.result is None else self.state.result.error
        if error is None or any(event["type"] in _FAILURES for event in self.events):
            return self.events
        return (*self.events, {"type": FAILED, "message": error.message})

    def to_json(self) -> dict[str, Any]:
        return {"node": self.node, "at_ms": self.at_ms, "state": self.state.to_json(), "events": list(self.events)}


def explorations_folder(state_dir: Path) -> Path:
    return state_dir / "explorations"


class ExplorationRecord:
    """The folder of one exploration. Implements the node engine's `Callbacks`, and the port `Trail`.

    Attributes:
        attempts: Those that were persisted, by number; one that was made again stands once.
        continued: How often it was gone on with.
    """

    def __init__(self, folder: Path, attempts: Sequence[Attempt] = (), *, continued: int = 0) -> None:
        self.folder = folder
        self.attempts = list(attempts)
        self.continued = continued
        self._trail = KeptTrail(event for attempt in attempts for event in attempt.events)
        self._file: TextIO | None = None

    # ------------------------------------------------------------ making and finding

    def begin(self, plan: ExplorationPlan) -> None:
        """Remember how it was started, or how it is gone on with: from then on the report that there was does not hold.

        Raises:
            ConfigError: It cannot be written.
        """
        write_file(self.folder / _PLAN, plan.to_json())
        self.continued = len(plan.continued)

    @classmethod
    def read(cls, folder: Path) -> tuple[ExplorationPlan, ExplorationRecord]:
        """A record that is there.

        Raises:
            ConfigError: There is none, or it cannot be read.
        """
        plan = read_plan(folder)
        return plan, cls(folder, tuple(_attempts(folder / _ATTEMPTS)), continued=len(plan.continued))

    def report(self) -> Mapping[str, Any] | None:
        """What became of it; None while it runs, and of one that was interrupted."""
        return read_report(self.folder, self.continued)

    def write_report(self, report: Mapping[str, Any]) -> None:
        """Remember what became of it.

        Raises:
            ConfigError: It cannot be written.
        """
        write_file(self.folder / _REPORT, report)

    # ------------------------------------------------------------ what the machine calls

    async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
        """Keep an attempt; one with the number of the last takes its place."""
        attempt = Attempt(node_name, state, tuple(events), int(time.time() * 1000))
        self._append(attempt)
        if self.attempts and self.attempts[-1].step == attempt.step:
            self.attempts[-1] = attempt
            self._trail = KeptTrail(event for kept in self.attempts for event in kept.events)
        else:
            self.attempts.append(attempt)
            self._trail.add(attempt.events)

    async def on_attempt(self, result: EngineResult) -> None:
        """Nobody has to be told what is kept."""

    def decisions(self) -> Sequence[Mapping[str, Any]]:
        """What was done since the program was launched."""
        return self._trail.decisions()

    def _append(self, attempt: Attempt) -> None:
        if self._file is None:
            path = self.folder / _ATTEMPTS
            _cut_torn_line(path)
            self._file = append_private(path, errors="surrogatepass")
        self._file.write(json.dumps(attempt.to_json(), ensure_ascii=True) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Let go of the file. What could not be written was told when it was to be kept."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None

    # ------------------------------------------------------------ what it says

    def events(self) -> Iterator[Mapping[str, Any]]:
        """What the nodes have told, oldest first."""
        for attempt in self.attempts:
            yield from attempt.events

    @property
    def last_state(self) -> RunState | None:
        return self.attempts[-1].state if self.attempts else None


def _attempts(path: Path) -> Iterator[Attempt]:
    """The attempts of a file; a line that a kill has torn was not persisted, one that was written twice counts once."""
    if not path.is_file():
        return
    found: dict[int, Attempt] = {}
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            attempt = _attempt(line)
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{path}:{number}: damaged: {error}") from error
        found[attempt.step] = attempt
    yield from (found[step] for step in sorted(found))


def _attempt(line: bytes) -> Attempt:
    data = json.loads(line)
    return Attempt(data["node"], RunState.model_validate(data["state"]), tuple(data["events"]), data.get("at_ms"))


def read_plan(folder: Path) -> ExplorationPlan:
    """How an exploration was started, and was gone on with last.

    Raises:
        ConfigError: There is none, or it cannot be read.
    """
    path = folder / _PLAN
    if not path.is_file():
        known = ", ".join(names_in(folder.parent)[-5:]) or "none"
        raise ConfigError(f"there is no exploration {folder.name!r} of this workspace; the latest: {known}")
    data = read_file(path)
    if data.get("format") != FORMAT:
        raise ConfigError(f"{path}: format {data.get('format')!r}; this rawko reads {FORMAT}")
    try:
        return ExplorationPlan.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{path}: damaged: {error.errors(include_url=False)[0]['msg']}") from error


def read_report(folder: Path, continued: int) -> Mapping[str, Any] | None:
    """What became of an exploration; None where the report is of before it was gone on with, which was `continued`
    times by now: a single file says so, whenever somebody is killed."""
    path = folder / _REPORT
    if not path.is_file():
        return None
    report = read_file(path)
    return report if len(report.get("continued") or ()) == continued else None


def read_last_attempt(folder: Path) -> Attempt | None:
    """The attempt that was persisted last, without reading those before it.

    Raises:
        ConfigError: It cannot be read.
    """
    path = folder / _ATTEMPTS
    try:
        line = _last_line(path)
        return None if line is None else _attempt(line)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: damaged at its end: {error}") from error


def _last_line(path: Path, block: int = 65_536) -> bytes | None:
    """The last whole line of a file, None where there is none."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        size = file.seek(0, 2)
        while True:
            file.seek(max(size - block, 0))
            lines = file.read().split(b"\n")[:-1]
            if len(lines) > 1 or block >= size:
                return lines[-1] if lines else None
            block *= 4


def names_in(folder: Path) -> list[str]:
    """The ids of all explorations of a folder, in the order in which they began."""
    return sorted(found.parent.name for found in folder.glob(f"*/{_PLAN}"))


def is_exploration(state_dir: Path, run: str) -> bool:
    """Whether there is an exploration of this id."""
    return is_name(run) and (explorations_folder(state_dir) / run / _PLAN).is_file()


def _cut_torn_line(path: Path) -> None:
    if path.is_file():
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with path.open("rb+") as file:
                file.truncate(whole)
