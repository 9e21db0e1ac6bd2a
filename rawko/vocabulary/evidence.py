"""Evidence for a claim that a task is done: what is demanded, and what a look at the files has found. Data only.

evidence:
  - check: make test                        # a command that passes, on the very files that are delivered
  - exists: docs/x.md                       # a file that is delivered; a path or a pattern
  - {no_match: TODO, files: "src/**"}       # a text that stands in none of these files
  - monitor: agent_loop                     # a monitor of the run that has held
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, model_validator

from rawko.patterns.globs import PatternError, glob_regex
from rawko.vocabulary.base import Data
from rawko.vocabulary.documents import accepted

MONITORS: Final = ("agent_loop",)
"""Monitors that watch every run; a run whose monitor is violated stops at that step and claims nothing."""
KINDS: Final = ("check", "exists", "no_match", "monitor")
MAX_REFUSALS: Final = 3
SHOWN_OUTPUT_CHARS: Final = 2000
"""The end of a failed check's output that a model is shown."""

Kind = Literal["check", "exists", "no_match", "monitor"]


def _path_pattern(pattern: str) -> str:
    try:
        glob_regex(pattern)
    except PatternError as error:
        raise ValueError(error.message) from error
    return pattern


def _monitor(name: str) -> str:
    if name not in MONITORS:
        raise ValueError(f"there is no monitor {name!r}{accepted(MONITORS, found=name)}")
    return name


def _command(command: str) -> str:
    if not command.strip() or "\0" in command:
        raise ValueError(f"{command!r:.60} is no command; accepted: a line for bash, such as 'make test'")
    return command


PathPattern = Annotated[str, AfterValidator(_path_pattern)]


class Demand(Data):
    """One piece of evidence that is demanded: exactly one of `check`, `exists`, `no_match` and `monitor`.

    Attributes:
        name: How it is called in reports; what is demanded, where it is empty.
        check: A command for bash, run in the folder that is delivered. It passes with exit code 0.
        timeout_ms: Of the command.
        exists: Path pattern; at least one file that is delivered fits it.
        no_match: A text, not a pattern; no file of `files` holds it.
        files: Path pattern of the files of `no_match`; at least one file fits it.
        monitor: A monitor of the run.
    """

    name: Annotated[str, Field(max_length=100)] = ""
    check: Annotated[str, AfterValidator(_command)] | None = None
    timeout_ms: Annotated[int, Field(ge=100)] = 600_000
    exists: PathPattern | None = None
    no_match: Annotated[str, Field(min_length=1)] | None = None
    files: PathPattern = "**"
    monitor: Annotated[str, AfterValidator(_monitor)] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Demand:
        said = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(said) != 1:
            found = " and ".join(map(repr, said)) or "nothing"
            raise ValueError(
                f"evidence demands one thing, and this demands {found}; accepted: one of {', '.join(KINDS)}"
            )
        return self

    @property
    def kind(self) -> Kind:
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def title(self) -> str:
        """Its name, or what it demands."""
        if self.name:
            return self.name
        where = f" in {self.files}" if self.kind == "no_match" else ""
        return f"{self.kind}: {getattr(self, self.kind)}{where}"


class Evidence(Data):
    """What was found for one demand.

    Attributes:
        demand: What was demanded.
        held: It is there.
        found: What was found, in a sentence; of what does not hold, what is missing.
        tree: The files for which it was found, as a tree of the snapshots.
        exit_code: Of the command; None where it was stopped before its end, and of what is no command.
        duration_ms: Of the command.
        output: The end of the command's output.
        changed: Files that the command changed; they were set back, so that they are not delivered.
    """

    demand: Demand
    held: bool
    found: str
    tree: str = ""
    exit_code: int | None = None
    duration_ms: int = 0
    output: str = ""
    changed: tuple[str, ...] = ()


def missing_evidence(found: Iterable[Any]) -> str:
    """What of the evidence (as data) does not hold, one line each, with the end of what a command has printed."""
    lines = []
    for one in found:
        if not one["held"]:
            lines.append(f"- {one['found']}")
            lines += [f"    {line}" for line in one["output"][-SHOWN_OUTPUT_CHARS:].splitlines()]
    return "\n".join(lines)
