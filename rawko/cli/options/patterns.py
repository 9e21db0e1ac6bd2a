"""Options of the commands that run a pattern of several agents: `debate`, `gauntlet`, `parallel`, `race`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, NamedTuple, Optional

import typer

from rawko.cli.options import completing
from rawko.cli.options.common import OnTerminalView, Quiet, ReportAsJson, Task, Trust, WholeScreen
from rawko.cli.options.expanding import NO_FLAGS, Takes
from rawko.cli.options.running import RunOptions
from rawko.config.flags import Flags
from rawko.config.row import Row

_LANE_CHARS: Final = 26
"""The most characters of a lane's name before its number."""


class PatternOptions(NamedTuple):
    """Options that all patterns share: the task, and how the run is shown."""

    task: Task
    tui: OnTerminalView = False
    full: WholeScreen = False
    json: ReportAsJson = False
    quiet: Quiet = False
    trust: Trust = False

    def run(self, pattern: str, flags: Flags) -> RunOptions:
        """The options of the run; its agent has the pattern's name."""
        return RunOptions(**self._asdict(), agent=pattern, flags=flags)


class GauntletOptions(NamedTuple):
    """Options of `rawko gauntlet`: who takes part, and settings."""

    author: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(
            metavar="NAME", help="Agent that works and repairs; developer by default.", autocompletion=completing.agents
        ),
    ] = None
    reviewers: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="NAMES",
            help="Reviewers, separated by commas; correctness, security, tests and style by default.",
        ),
    ] = None
    rounds: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, max=50, help="The most rounds of work of the author; 3 by default."),
    ] = None
    flags: Annotated[Flags, Takes(lambda row: True)] = NO_FLAGS

    @property
    def parameters(self) -> dict[str, object]:
        """Parameters for the agent that runs the pattern; None where an option is not given."""
        reviewers = None if self.reviewers is None else _names(self.reviewers)
        return {"author": self.author, "reviewers": reviewers, "rounds": self.rounds}


def _is_no_folder_of_agents(row: Row) -> bool:
    """Whether a row is not the setting `--agents`: in a race, `--agents` names agents instead of their folder."""
    return row.setting.flag is None or row.setting.flag.name != "--agents"


class RaceOptions(NamedTuple):
    """Options of `rawko race`: who takes part, the check, the judge, and settings."""

    agents: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Agents that try the task, separated by commas."),
    ] = "developer"
    models: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Models to ask, separated by commas; each agent tries with each model."),
    ] = ""
    times: Annotated[
        int, typer.Option("--n", "-n", metavar="N", min=1, max=64, help="Number of lanes for each agent and model.")
    ] = 1
    check: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(
            metavar="COMMAND", help="Command that must pass on a lane's files before the lane counts as done."
        ),
    ] = None
    all: Annotated[
        bool, typer.Option("--all", help="Wait for all lanes; the cheapest that succeeds wins, not the first.")
    ] = False
    judge: Annotated[
        bool, typer.Option("--judge", help="Wait for all lanes; a model finds the best of those that succeed.")
    ] = False
    judge_model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="The model that judges, in place of the run's; implies --judge."),
    ] = None
    criteria: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="WORDS", help="Criteria of the judge; implies --judge."),
    ] = None
    adopt: Annotated[bool, typer.Option("--adopt", help="Adopt the winner's changes without a question.")] = False
    jobs: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("-j", "--jobs", metavar="N", min=1, help="The most lanes that run at the same time."),
    ] = None
    flags: Annotated[Flags, Takes(_is_no_folder_of_agents)] = NO_FLAGS

    @property
    def parameters(self) -> dict[str, object]:
        """Parameters for the agent that runs the pattern."""
        entries = lane_entries(_names(self.agents), _names(self.models), self.times)
        is_judged = self.judge or self.judge_model is not None or self.criteria is not None
        return {
            "lanes": entries,
            "check": self.check,
            "first": not (self.all or is_judged),
            "judge": is_judged or None,
            "judge_model": self.judge_model,
            "criteria": self.criteria,
            "adopt": "always" if self.adopt else None,
            "at_a_time": self.jobs,
        }


class ParallelOptions(NamedTuple):
    """Options of `rawko parallel`: the plan or its planner, the check, and settings."""

    plan: Annotated[
        Optional[Path],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(metavar="FILE", help="A plan that you have written: YAML with steps; else the planner writes it."),
    ] = None
    planner: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Agent that plans; planner by default.", autocompletion=completing.agents),
    ] = None
    worker: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="NAME", help="Agent that does the steps; developer by default.", autocompletion=completing.agents
        ),
    ] = None
    check: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="COMMAND", help="Command that must pass after a step is adopted; else the step is undone."
        ),
    ] = None
    jobs: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("-j", "--jobs", metavar="N", min=1, help="The most steps that run at the same time."),
    ] = None
    flags: Annotated[Flags, Takes(lambda row: True)] = NO_FLAGS


class DebateOptions(NamedTuple):
    """Options of `rawko debate`: the sides with their positions, the rounds, the judge, and settings."""

    sides: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="A,B", help="The two agents that argue; proponent and opponent by default."),
    ] = None
    positions: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="A,B", help="Positions of the sides, separated by a comma; yes and no by default."),
    ] = None
    rounds: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, max=10, help="How often each side argues; 2 by default."),
    ] = None
    judge_model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--judge", "--judge-model", metavar="MODEL", help="The model that judges, in place of the run's."),
    ] = None
    criteria: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="WORDS", help="Criteria of the judge."),
    ] = None
    flags: Annotated[Flags, Takes(lambda row: True)] = NO_FLAGS

    @property
    def parameters(self) -> dict[str, object]:
        """Parameters for the agent that runs the pattern; None where an option is not given."""
        return {
            "sides": self._sides(),
            "rounds": self.rounds,
            "judge_model": self.judge_model,
            "criteria": self.criteria,
        }

    def _sides(self) -> list[dict[str, str]] | None:
        """Agents and positions of both sides, with defaults for what is not given; None where neither is given.

        --positions SQLite,PostgreSQL    the agent proponent for SQLite, the agent opponent for PostgreSQL
        """
        if self.sides is None and self.positions is None:
            return None
        from rawko.machines.debate.context import DebateParameters

        usual = DebateParameters().sides
        agents = [side.agent for side in usual] if self.sides is None else _names(self.sides)
        positions = [side.position for side in usual] if self.positions is None else _names(self.positions)
        if len(agents) != 2 or len(positions) != 2:
            raise typer.BadParameter("a debate has two sides: two names with a comma between, such as A,B")
        return [{"agent": agent, "position": text} for agent, text in zip(agents, positions, strict=True)]


def lane_entries(agents: Sequence[str], models: Sequence[str], times: int) -> list[dict[str, str]]:
    """A lane for each agent with each model, `times` times:

    developer, tester; x; 2    developer-1, developer-2, tester-1, tester-2, all with the model x
    """
    pairs = [(agent, model) for agent in agents for model in models or [""]]
    entries: list[dict[str, str]] = []
    for agent, model in pairs:
        parts = [agent] if len(agents) > 1 or len(models) < 2 else []
        parts += [model] if len(models) > 1 else []
        name = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")[:_LANE_CHARS].strip("-") or "lane"
        for number in range(1, times + 1):
            lane = _free(f"{name}-{number}" if times > 1 else name, {entry["lane"] for entry in entries})
            entries.append({"lane": lane, "agent": agent, **({"model": model} if model else {})})
    return entries


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number added where another lane has the name."""
    return next(one for one in (name, *(f"{name}-{number}" for number in range(2, 99))) if one not in taken)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
