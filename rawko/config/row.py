"""One row of the settings table: where a setting is written, how it is checked, who may set it.

A row is a field of `Settings` (`rawko.config.settings`), made by `setting(...)`. It holds everything about the setting
once; the command line, the file, the record, the JSON Schema and the tables of the documentation are generated from it.
Only the standard library is imported here: `rawko --help` reads the table.

    max_iterations: int = setting(
        50,                                      # the default
        key="max_iterations",                    # in .rawko/config.yaml and in the user's own file
        env="RAWKO_MAX_ITERATIONS",              # wins over the files
        flag=Flag("--max-iterations", int, ...), # wins over all
        minimum=1,                               # checked in every layer
        why="a limit",                           # reason of its standing: why a project may set it
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

MergeRule = Literal["project", "lower", "joined", "either"]
"""The effective value where both files set it: the project's value, the lower of both, both lists joined (the user's
first), or true where either is true."""

Recorded = Literal["required", "default", "current", "never"]
"""Whether a run's record has the value, and what a record without it means: "required": a defect; "default": the
default; "current": the present setting of the user who resumes the run."""

MISSING: Final = dataclasses.MISSING
_METADATA: Final = "setting"


class Flag(NamedTuple):
    """An option of the command line.

    Attributes:
        name: The option as typed; a switch that can also be turned off is `--x/--no-x`.
        type: The type of its value; bool for a switch.
        help: One sentence; `{default}` stands for the default.
    """

    name: str
    type: type = str
    help: str = ""
    metavar: str | None = None
    short: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The accepted spellings, one by one: `--x`, `--no-x`."""
        return tuple(self.name.split("/"))


class Setting(NamedTuple):
    """Everything about a setting except its name, type and default, which the field has.

    Attributes:
        key: The key in the files; "" where no file may set it.
        env: The environment variable; "" for none.
        flag: The option of the command line, if there is one.
        minimum: The smallest number that is accepted.
        accepted: The accepted values in words, where the type does not say them.
        file_type: The type in a file, where it differs from the field's.
        is_path: The value is a path, relative to the folder of the file that sets it, else to the current folder.
        standing: What a project's file may do with it; `why` is the reason.
        merge_rule: The effective value where both files set it.
        recorded: Whether a run's record has it; `record_type` is its type there, where it differs.
        can_change: A resumed run accepts another value.
        note: The text beside its key in the documentation; `shown` is the default shown there.
        parts: For a block: the settings of its fields, by name; other fields are as the block's row says.
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
    merge_rule: MergeRule = "project"
    recorded: Recorded = "default"
    record_type: str = ""
    can_change: bool = False
    note: str = ""
    shown: str = ""
    parts: Mapping[str, Setting] = MappingProxyType({})


class Row(NamedTuple):
    """A row of the table, or a part of a block.

    Attributes:
        name: The name of the field of `Settings`; `block.part` for a part.
        type: The annotation of the field as written; "" for a part, whose type the block knows.
        default: The default of the field; None for a part.
    """

    name: str
    setting: Setting
    type: str = ""
    default: Any = None

    @property
    def key(self) -> str:
        """The key in the files: `max_iterations`, `bash.extra_env`."""
        return self.setting.key

    @property
    def field(self) -> str:
        """The field of `Settings` that the row is, or is a part of."""
        return self.name.partition(".")[0]

    @property
    def part(self) -> str:
        """The name within the block; "" for a whole row."""
        return self.name.partition(".")[2]


def setting(default: Any = MISSING, /, **known: Any) -> Any:
    """A field of `Settings` with its row.

    Args:
        default: A value, or `made(...)` for a default built on first use; absent where the setting has no default.
        known: The attributes of `Setting`.
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
    """The default of a block: an instance of this class, without arguments; the module is imported on first use."""
    return _Made(lambda: getattr(import_module(module), name)())


@cache
def rows(table: type) -> tuple[Row, ...]:
    """The rows of a table in its order, blocks not split."""
    return tuple(
        Row(f.name, f.metadata[_METADATA], str(f.type), None if f.default is MISSING else f.default)
        for f in dataclasses.fields(table)
        if _METADATA in f.metadata
    )


@cache
def leaves(table: type) -> tuple[Row, ...]:
    """The rows of a table in its order, with a block's parts in place of the block where it names parts.

    rows(Settings)      ..., timeout_ms, budget, ...
    leaves(Settings)    ..., timeout_ms, budget.cost_usd, budget.tokens, budget.time, ...
    """
    return tuple(leaf for row in rows(table) for leaf in _leaves(row))


def _leaves(row: Row) -> Iterator[Row]:
    if not row.setting.parts:
        yield row
    for name, part in row.setting.parts.items():
        yield Row(f"{row.name}.{name}", part._replace(key=f"{row.key}.{name}"))
