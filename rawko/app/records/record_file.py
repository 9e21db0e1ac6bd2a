"""Shapes of the files about a run, `run.json`, `begin.json` and `report.json`, which are checked when they are read.

`record_changes` writes them atomically, so a defect in one comes from outside: a disk, an editor, another program.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, create_model, model_validator

from rawko.app.records.json_files import read_file
from rawko.config import ConfigError, record_model

FORMAT = 1
Shape = TypeVar("Shape", bound=BaseModel)


class _File(BaseModel):
    """Base of the shapes. Validators are built at the first read, since a new run reads no such file."""

    model_config = ConfigDict(defer_build=True)


class ParentFile(_File):
    """The step of another run from which a run was forked, or at which that run started it as a lane."""

    run: str
    step: int
    lane: str | None = None


class RecordFile(_File):
    """`run.json`. Its `settings` have the fields of the settings table that are recorded (`rawko.config.models`)."""

    format: Literal[1]
    run: str | None = None
    task: str
    agent: str | None
    settings: Any
    parent: ParentFile | None = None
    head: str | None = None
    charts: dict[str, str] = {}
    tools: dict[str, tuple[str, ...]] = {}
    rewinds: tuple[tuple[int, int], ...] = ()
    migrations: tuple[tuple[int, dict[str, str]], ...] = ()
    continues: str | None = None
    is_interactive: bool = False

    @model_validator(mode="after")
    def _is_whole(self) -> RecordFile:
        settings = self.settings
        names = [agent.name for agent in settings.agents]
        if self.agent is not None and self.agent not in names:
            raise ValueError(f"its agent {self.agent!r} is not among its agents ({', '.join(map(repr, names))})")
        needs = {"scripted": settings.scenario, "cassette": settings.cassette}
        if needs.get(settings.provider, "") is None:
            raise ValueError(f"its provider {settings.provider!r} has no file to play")
        return self


@cache
def _record_file() -> type[RecordFile]:
    return create_model("RecordFile", __base__=RecordFile, settings=(record_model(), ...))


class BeginFile(_File):
    """`begin.json`: the event that an agent gets once it is idle."""

    event: str
    data: dict[str, Any]


class ReportFile(_File):
    """The fields of `report.json` that other modules use; fields that the run has not reached may be missing."""

    outcome: str
    state: str = ""
    step: int | None = None
    summary: str = ""
    question: dict[str, Any] | None = None


def read_record_file(path: Path) -> RecordFile:
    """Read and check `run.json`.

    Raises:
        ConfigError: It cannot be read, has another format, or is damaged; the message says where.
    """
    whole = _whole(_record_file(), path)
    if whole is not None:
        return whole
    data = read_file(path)
    if data.get("format") != FORMAT:
        raise ConfigError(f"{path}: format {data.get('format')!r}; this rawko reads {FORMAT}")
    return _shaped(_record_file(), path, data)


def read_begin_file(path: Path) -> BeginFile | None:
    """Read and check `begin.json`; None where there is none.

    Raises:
        ConfigError: It cannot be read, or is damaged.
    """
    return _shaped(BeginFile, path, read_file(path)) if path.exists() else None


def read_report_file(path: Path) -> dict[str, Any] | None:
    """Read and check `report.json`; None where it is missing or damaged: the journal has the same facts, and a resume
    writes a new report."""
    if not path.is_file():
        return None
    try:
        data = read_file(path)
        _shaped(ReportFile, path, data)
    except ConfigError:
        return None
    return data


def _whole(shape: type[Shape], path: Path) -> Shape | None:
    """A file without a defect, read in one pass, which takes half the time of `read_file` and `_shaped`; None where
    these have to read it, to say what is wrong, or because its texts hold lone surrogates."""
    try:
        return shape.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _shaped(shape: type[Shape], path: Path, data: dict[str, Any]) -> Shape:
    try:
        return shape.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = "".join(f"{part}: " for part in [".".join(map(str, first["loc"]))] if part)
        problem = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{path}: damaged: {where}{problem[:1].lower()}{problem[1:]}") from error
