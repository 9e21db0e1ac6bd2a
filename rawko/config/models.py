"""The pydantic models of the settings table: one for `.rawko/config.yaml`, one for the settings in a run's record.

Each has a field per row, with the type of the row's field and the row's limits. They are built on first use, since
pydantic and the types of the blocks take long to import.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, create_model

from rawko.config.blocks import BashOptions, DefaultAnswers, LaneOptions, McpOptions, ServerName, SubAgentOptions
from rawko.config.row import Row, rows
from rawko.config.settings import Headless, ProviderName, Settings
from rawko.vocabulary.agent import AgentConfig, MonitorUse
from rawko.vocabulary.base import Data
from rawko.vocabulary.budget import Budget, Rate
from rawko.vocabulary.errors import Fallback
from rawko.vocabulary.evidence import Demand
from rawko.vocabulary.usage import Price

_TYPES: Final[Mapping[str, Any]] = {
    kind.__name__: kind
    for kind in (
        *(
            AgentConfig,
            BashOptions,
            Budget,
            DefaultAnswers,
            Demand,
            Fallback,
            LaneOptions,
            McpOptions,
            Path,
            Price,
            Rate,
        ),
        SubAgentOptions,
    )
} | {
    "Headless": Headless,
    "Mapping": dict,
    "ProviderName": ProviderName,
    "MonitorUse": MonitorUse,
    "ServerName": ServerName,
}
"""Types that annotations of the table name; mappings are read as dicts, whose defects have their own messages."""


@cache
def file_model() -> type[Data]:
    """The model of `.rawko/config.yaml`: a field for every row that has a key, with its default."""
    fields: dict[str, Any] = {}
    for row in rows(Settings):
        if row.key:
            kind = _bounded(row, row.setting.file_type or row.type)
            fields[row.key] = (kind, Field(default=_default(row), description=_description(row)))
    model: type[Data] = create_model("ProjectConfig", __base__=Data, __doc__="`.rawko/config.yaml`.", **fields)
    return model


@cache
def record_model() -> type[BaseModel]:
    """The model of the settings in a run's record: a field for every row that is recorded."""
    fields: dict[str, Any] = {}
    for row in rows(Settings):
        recorded = row.setting.recorded
        if recorded != "never":
            default = ... if recorded == "required" else default_of(row)
            fields[row.name] = (_type(row.setting.record_type or row.type), default)
    model: type[BaseModel] = create_model("SettingsFile", **fields)
    return model


def choices(row: Row) -> tuple[str, ...]:
    """The words that a setting accepts; () where it is not a choice of words."""
    kind = _type(row.type) if row.type else None
    return typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else ()


def _type(annotation: str) -> Any:
    """The type that an annotation in the table means."""
    holder = type("Holder", (), {"__annotations__": {"it": annotation}, "__module__": __name__})
    return typing.get_type_hints(holder, localns=dict(_TYPES), include_extras=True)["it"]


def _bounded(row: Row, annotation: str) -> Any:
    minimum = row.setting.minimum
    if minimum is None:
        return _type(annotation)
    kind: Any = Annotated[_type(annotation.removesuffix(" | None")), Field(ge=minimum)]
    return kind | None if annotation.endswith(" | None") else kind


def default_of(row: Row) -> Any:
    """The default of a setting's field; a new object for a block."""
    made = Settings.__dataclass_fields__[row.name].default_factory
    return made() if callable(made) else row.default


def _default(row: Row) -> Any:
    """The default of the key; None where the key may be absent in a file."""
    return None if row.setting.file_type.endswith(" | None") else default_of(row)


def _description(row: Row) -> str | None:
    """The description of a key in editors, from the row's note or its option's help."""
    flag = row.setting.flag
    told = row.setting.note or ("" if flag is None else flag.help.format(default=row.default))
    return _LINK.sub(r"\1", told).replace("`", "") or None


_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def schemas() -> Mapping[str, Any]:
    """JSON Schemas (Draft 2020-12) of the files that people write here, by name."""
    found = {"agent": AgentConfig.model_json_schema(), "config": file_model().model_json_schema()}
    return {name: {"$schema": "https://json-schema.org/draft/2020-12/schema", **s} for name, s in found.items()}


def nested(values: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """`("bash.extra_env", x)` as `{"bash": {"extra_env": x}}`."""
    found: dict[str, Any] = {}
    for key, value in values:
        outer, _, inner = key.partition(".")
        if inner:
            found.setdefault(outer, {})[inner] = value
        else:
            found[outer] = value
    return found
