"""Reads the tasks file of `rawko submit --batch`; its keys are the options of the command without dashes.

tasks:
  - task: Write fizzbuzz in Python.
    repo: https://example.org/fizzbuzz.git@main
    max-cost: 0.50
  - task: Port it to Go.
    tenant: go-team
    priority: 10
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, create_model

from rawko.config.flags import flag_rows, name_of
from rawko.vocabulary.documents import load_document

_STRICT: Final[Mapping[type, Any]] = {int: StrictInt, str: StrictStr, bool: StrictBool, float: float}
MOST: Final = 10_000


class _Task(BaseModel):
    model_config = ConfigDict(extra="forbid")

    task: StrictStr
    repo: StrictStr | None = None
    queue: StrictStr | None = None
    tenant: StrictStr | None = None
    priority: StrictInt | None = None
    key: StrictStr | None = None
    delay: StrictStr | None = None
    agent: StrictStr | None = None
    trust: StrictBool | None = None


@cache
def _model() -> type[BaseModel]:
    """The pydantic model of the file; options of settings come from the settings table."""
    fields: dict[str, Any] = {}
    for row in flag_rows():
        flag = row.setting.flag
        assert flag is not None
        kind = _STRICT.get(flag.type, StrictStr)
        fields[row.name.replace(".", "__")] = (kind | None, Field(None, alias=name_of(row).lstrip("-")))
    one = create_model("BatchTask", __base__=_Task, **fields)
    tasks = (list[one], Field(min_length=1, max_length=MOST))  # type: ignore[valid-type]  # made just above
    return create_model("Batch", __config__=ConfigDict(extra="forbid"), tasks=tasks)


def read_batch(path: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """For each task its own options, and its settings by the name of their row; options not given are absent.

    Raises:
        DocumentError: The file has defects; all are listed with their lines.
    """
    found = []
    for one in load_document(path, _model()).tasks:  # type: ignore[attr-defined]  # the model's one field
        given = {name: value for name, value in one if value is not None}
        own = {name: given.pop(name) for name in _Task.model_fields if name in given}
        found.append((own, {name.replace("__", "."): value for name, value in given.items()}))
    return found
