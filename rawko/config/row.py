"""What one row of the settings table says: where a setting is written, how it is checked, who may set it.

A row is a field of `Settings` (`rawko.config.settings`), made by `setting(...)`. All that is known of the setting
stands there once; the command line, the file, the record, the JSON Schema and the tables of the documentation are made
from it. Only the standard library is imported here: `rawko --help` reads the table.

    max_iterations: int = setting(
        50,                                      # the default
        key="max_iterations",                    # in .rawko/config.yaml and in the user's own file
        env="RAWKO_MAX_ITERATIONS",              # over the files
        flag=Flag("--max-iterations", int, ...), # over all
        minimum=1,                               # checked wherever it is written
        why="a limit",                           # of its standing: what a project may do with it
    )
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

Standing = Literal["free", "trust", "tightens"]
"""What a project's file may do with a setting: set it, set it with the user's trust, or only tighten it."""

Meeting = Literal["project", "lower", "joined", "either"]
"""What counts where the user's own file and the project's both say something: the project's value, the lower one, both
lists (the user's first), or a switch that one of them turns on."""

Recorded = Literal["required", "default", "current", "never"]
"""Whether a run's record holds the value, and what stands for it in a record that does not: a defect, the default, or
the present setting of the user who goes on with the run."""

MISSING: Final = dataclasses.MISSING
_METADATA: Final = "setting"


class Flag(NamedTuple):
    """An option of the command line.

    Attributes:
        name: As it is typed; a switch that can be turned off as well is `--x/--no-x`.
        type: What is typed after it; bool for a switch.
        help: One sentence; `{default}` stands for the default.
    """

    name: str
    type: type = str
    help: str = ""
    metavar: str | None = None
    short: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What a person may type for it, each by itself."""
        return tuple(self.name.split("/"))


class Setting(NamedTuple):
    """All that is known of a setting but its name, its type and its default, which are those of its field.

    Attributes:
        key: Its name in the files; "" where no file may hold it.
        env: The environment variable; "" for none.
        flag: The option of the command line, if there is one.
        minimum: The least number.
        accepted: What is accepted, in words, where the type does not say it.
        file_type: Its type in a file, where that is another one than the field's.
        is_path: It names a file: relative to the folder of the file that says so, else to the current folder.
        standing: What a project may do with it; `why` says why.
        meeting: What counts where both files say something.
        recorded: Whether a run's record holds it; `record_type` is its type there, where it is another one.
        can_change: A run that goes on may be given another value.
        note: What stands behind its key in the documentation, and `shown` its default there.
        parts: Of a block: what is said of its fields, by name; the others are as the block's row.
    """

    key: str = ""
    env: str = ""
    flag: Flag | None = None
    minimum: int | None = None
    accepted: str = ""
    file_type: str = ""
    is_path: bool = False
    standing: Standing = "free"
    why: str = ""
    meeting: Meeting = "project"
    recorded: Recorded = "default"
    record_type: str = ""
    can_change: bool = False
    note: str = ""
    shown: str = ""
    parts: Mapping[str, Setting] = MappingProxyType({})


class Row(NamedTuple):
    """A row of the table, or a part of one.

    Attributes:
        name: Of the field of `Settings`; of a part `block.part`.
        type: The field's annotation, as it is written; "" of a part, whose block knows it.
        default: Of the field; None of a part.
    """

    name: str
    setting: Setting
    type: str = ""
    default: Any = None

    @property
    def key(self) -> str:
        """In the files: `max_iterations`, `bash.extra_env`."""
        return self.setting.key

    @property
    def field(self) -> str:
        """The field of `Settings` that it is, or is a part of."""
        return self.name.partition(".")[0]

    @property
    def part(self) -> str:
        """Its name within its block; "" of a whole row."""
        return self.name.partition(".")[2]


def setting(default: Any = MISSING, /, **known: Any) -> Any:
    """A field of `Settings` with what is known of it.

    Args:
        default: A value, or `made(...)` for one that is made when it is needed; none where there is no default.
        known: See `Setting`.
    """
    metadata = {_METADATA: Setting(**known)}
    if isinstance(default, _Made):
        return dataclasses.field(default_factory=default.make, metadata=metadata)
    if isinstance(default, dict):
        return dataclasses.field(default_factory=dict, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


class _Made(NamedTuple):
    make: Callable[[], Any]


def made(module: str, name: str) -> _Made:
    """The default of a block: the class of that name without arguments; its module is loaded when it is needed."""
    return _Made(lambda: getattr(import_module(module), name)())


@cache
def rows(table: type) -> tuple[Row, ...]:
    """The rows of a table, blocks whole, in its order."""
    return tuple(
        Row(f.name, f.metadata[_METADATA], str(f.type), None if f.default is MISSING else f.default)
        for f in dataclasses.fields(table)
        if _METADATA in f.metadata
    )


@cache
def leaves(table: type) -> tuple[Row, ...]:
    """The same with each block's parts in its place, where the block names them."""
    return tuple(leaf for row in rows(table) for leaf in _leaves(row))


def _leaves(row: Row) -> Iterator[Row]:
    if not row.setting.parts:
        yield row
    for name, part in row.setting.parts.items():
        yield Row(f"{row.name}.{name}", part._replace(key=f"{row.key}.{name}"))
