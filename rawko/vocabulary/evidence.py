"""Evidence for a claim that a task is done: the demanded checks, and the results of checking the files. Data only.

evidence:
  - check: make test                        # a command that must pass in the delivered files
  - exists: docs/x.md                       # a path or pattern that at least one delivered file matches
  - {no_match: TODO, files: "src/**"}       # a text that none of these files may contain
  - monitor: agent_loop                     # a monitor that the run must not have violated
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
"""How many characters of a failed check's output a model is shown, counted from its end."""

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
    """One demanded piece of evidence: exactly one of `check`, `exists`, `no_match` and `monitor`.

    Attributes:
        name: Name in reports; if empty, reports show the demand itself.
        check: A command for bash, run in the delivered folder. It passes with exit code 0.
        timeout_ms: Time limit of the command.
        exists: Path pattern that at least one delivered file must match.
        no_match: A text, not a pattern, that no file of `files` may contain.
        files: Path pattern of the files for `no_match`; at least one file must match it.
        monitor: Name of a monitor of the run.
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
        """The name, or if there is none the kind and value of the demand."""
        if self.name:
            return self.name
        where = f" in {self.files}" if self.kind == "no_match" else ""
        return f"{self.kind}: {getattr(self, self.kind)}{where}"


class Evidence(Data):
    """The result of checking one demand.

    Attributes:
        demand: The demand that was checked.
        held: Whether the demand is fulfilled.
        found: The result as a sentence; for an unfulfilled demand, what is missing.
        tree: Hash of the snapshot tree that was checked.
        exit_code: Exit code of the command; None if the command was stopped early, or if the demand has no command.
        duration_ms: Running time of the command.
        output: The end of the command's output.
        changed: Files that the command changed; they were restored, so the changes are not delivered.
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
    """The unfulfilled demands among some evidence (as data): one line each, and the end of the command's output."""
    lines = []
    for one in found:
        if not one["held"]:
            lines.append(f"- {one['found']}")
            lines += [f"    {line}" for line in one["output"][-SHOWN_OUTPUT_CHARS:].splitlines()]
    return "\n".join(lines)
