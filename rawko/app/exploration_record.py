"""What an exploration is remembered by besides its journal: how it was started, every attempt as it was persisted, and
its report. One folder each, in the state folder; nothing in it is a key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

from pydantic import Field, ValidationError

from rawko.app.json_files import read_file, write_file
from rawko.config import ConfigError
from rawko.machines.node_engine.context import Budgets, EngineResult, RunState
from rawko.machines.node_engine.drivers import DEFAULT, DriverName
from rawko.machines.node_engine.explore.policy import ExplorePolicy
from rawko.machines.node_engine.explore.trail import KeptTrail
from rawko.vocabulary.base import Data

FORMAT: Final = 1
_PLAN, _ATTEMPTS, _REPORT = "plan.json", "attempts.jsonl", "report.json"


class ExplorationPlan(Data):
    """How an exploration was started, and how it is gone on with.

    Attributes:
        size: Columns and lines of the terminal.
        driver: What AGENT_DRIVER said.
        uses_model: A model is asked where no rule says what to do.
    """

    format: int = FORMAT
    command: tuple[str, ...] = Field(min_length=1)
    cwd: str
    size: tuple[int, int] = (80, 24)
    policy: ExplorePolicy = ExplorePolicy()
    budgets: Budgets = Budgets()
    driver: DriverName = DEFAULT
    uses_model: bool = False
    provider: str = "scripted"
    model: str | None = None
    scenario: str | None = None
    cassette: str | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt as it was persisted."""

    node: str
    state: RunState
    events: tuple[Mapping[str, Any], ...]

    @property
    def step(self) -> int:
        return self.state.step_ordinal


def explorations_folder(state_dir: Path) -> Path:
    return state_dir / "explorations"


class ExplorationRecord:
    """The folder of one exploration. Implements the node engine's `Callbacks`, and the port `Trail`.

    Attributes:
        attempts: Those that were persisted, by number; one that was made again stands once.
    """

    def __init__(self, folder: Path, attempts: Sequence[Attempt] = ()) -> None:
        self.folder = folder
        self.attempts = list(attempts)
        self._trail = KeptTrail(event for attempt in attempts for event in attempt.events)
        self._file: TextIO | None = None

    # ------------------------------------------------------------ making and finding

    def begin(self, plan: ExplorationPlan) -> None:
        """Remember how it was started.

        Raises:
            ConfigError: It cannot be written.
        """
        write_file(self.folder / _PLAN, plan.to_json())

    @classmethod
    def read(cls, folder: Path) -> tuple[ExplorationPlan, ExplorationRecord]:
        """A record that is there.

        Raises:
            ConfigError: There is none, or it cannot be read.
        """
        path = folder / _PLAN
        if not path.is_file():
            known = ", ".join(sorted(found.parent.name for found in folder.parent.glob(f"*/{_PLAN}"))[-5:]) or "none"
            raise ConfigError(f"there is no exploration {folder.name!r} of this workspace; the latest: {known}")
        data = read_file(path)
        if data.get("format") != FORMAT:
            raise ConfigError(f"{path}: format {data.get('format')!r}; this rawko reads {FORMAT}")
        try:
            return ExplorationPlan.model_validate(data), cls(folder, tuple(_attempts(folder / _ATTEMPTS)))
        except ValidationError as error:
            raise ConfigError(f"{path}: damaged: {error.errors(include_url=False)[0]['msg']}") from error

    def report(self) -> Mapping[str, Any] | None:
        """What became of it; None while it runs, and of one that was interrupted."""
        path = self.folder / _REPORT
        return read_file(path) if path.is_file() else None

    def write_report(self, report: Mapping[str, Any]) -> None:
        """Remember what became of it.

        Raises:
            ConfigError: It cannot be written.
        """
        write_file(self.folder / _REPORT, report)

    # ------------------------------------------------------------ what the machine calls

    async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
        """Keep an attempt; one with the number of the last takes its place."""
        attempt = Attempt(node_name, state, tuple(events))
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
            self._file = path.open("a", encoding="utf-8", errors="surrogatepass")
        line = {"node": attempt.node, "state": attempt.state.to_json(), "events": list(attempt.events)}
        self._file.write(json.dumps(line, ensure_ascii=True) + "\n")
        self._file.flush()

    def close(self) -> None:
        if self._file is not None:
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
            data = json.loads(line)
            attempt = Attempt(data["node"], RunState.model_validate(data["state"]), tuple(data["events"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{path}:{number}: damaged: {error}") from error
        found[attempt.step] = attempt
    yield from (found[step] for step in sorted(found))


def _cut_torn_line(path: Path) -> None:
    if path.is_file():
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with path.open("rb+") as file:
                file.truncate(whole)
