"""What stands in the files that a run is remembered by: `run.json`, `begin.json`, `report.json`; checked when read.

They are written by `record`, whole or not at all. A defect in one comes from
outside: a disk, an editor, another program.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, create_model, model_validator

from rawko.app.records.json_files import read_file
from rawko.config import ConfigError, record_model

FORMAT = 1
Shape = TypeVar("Shape", bound=BaseModel)


class _File(BaseModel):
    """A part of such a file. What checks it is built when one is read: a run that begins reads none."""

    model_config = ConfigDict(defer_build=True)


class ParentFile(_File):
    """The step of another run from which a run was forked, or at which it was begun as a lane of that run."""

    run: str
    step: int
    lane: str | None = None


class RecordFile(_File):
    """`run.json`. Its settings are those of the table that a record holds (`rawko.config.models`)."""

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
    """`begin.json`: the event that an agent gets once it is ready."""

    event: str
    data: dict[str, Any]


class ReportFile(_File):
    """The part of `report.json` that others rely on; what a run has not come to may be missing."""

    outcome: str
    state: str = ""
    step: int | None = None
    summary: str = ""
    question: dict[str, Any] | None = None


def read_record_file(path: Path) -> RecordFile:
    """What `run.json` says.

    Raises:
        ConfigError: It cannot be read, is of another format, or is damaged; says where.
    """
    data = read_file(path)
    if data.get("format") != FORMAT:
        raise ConfigError(f"{path}: format {data.get('format')!r}; this rawko reads {FORMAT}")
    return _shaped(_record_file(), path, data)


def read_begin_file(path: Path) -> BeginFile | None:
    """What `begin.json` says; None where there is none.

    Raises:
        ConfigError: It cannot be read, or is damaged.
    """
    return _shaped(BeginFile, path, read_file(path)) if path.exists() else None


def read_report_file(path: Path) -> dict[str, Any] | None:
    """What `report.json` says; None if there is none, or if it is damaged: the journal knows as much, and a
    resume writes it again."""
    if not path.is_file():
        return None
    try:
        data = read_file(path)
        _shaped(ReportFile, path, data)
    except ConfigError:
        return None
    return data


def _shaped(shape: type[Shape], path: Path, data: dict[str, Any]) -> Shape:
    try:
        return shape.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = "".join(f"{part}: " for part in [".".join(map(str, first["loc"]))] if part)
        problem = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{path}: damaged: {where}{problem[:1].lower()}{problem[1:]}") from error
