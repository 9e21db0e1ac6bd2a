"""Converts settings to the plain data of a run's record and back. The table says which settings are recorded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rawko.config.row import rows
from rawko.config.settings import Settings
from rawko.vocabulary.base import Data


def recorded(settings: Settings, **instead: Any) -> dict[str, Any]:
    """The recorded settings as JSON data.

    Args:
        instead: Values by name that are written in place of the settings' own.
    """
    names = [row.name for row in rows(Settings) if row.setting.recorded != "never"]
    found = {name: instead.get(name, getattr(settings, name)) for name in names}
    return {**{name: _plain(value) for name, value in found.items()}, "agents": _plain([*settings.agents.values()])}


def taken_from(record: BaseModel) -> dict[str, Any]:
    """The values of a record by the names of the fields of `Settings`, without settings that the record leaves to the
    user."""
    said = record.model_fields_set
    return {
        row.name: getattr(record, row.name)
        for row in rows(Settings)
        if row.setting.recorded != "never" and (row.name in said or row.setting.recorded != "current")
    }


def _plain(value: Any) -> Any:
    match value:
        case Data():
            return value.to_json()
        case Path():
            return str(value)
        case Mapping():
            return {name: _plain(inner) for name, inner in value.items()}
        case tuple() | list():
            return [_plain(inner) for inner in value]
        case _:
            return value
