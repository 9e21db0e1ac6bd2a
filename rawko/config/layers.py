"""Where settings are written, and what counts of it: command line, environment, project's file, user's own file.

Each of them is a layer: values by the name of the row, checked by the row's type, with the place of each for messages.
What is written higher up counts:

    --max-iterations 9          9
    RAWKO_MAX_ITERATIONS=8      not looked at: the command line says something
    .rawko/config.yaml          max_iterations: 70 }  the lower of the two, since a project may not loosen a limit
    the user's config.yaml      max_iterations: 20 }  of the user's; not looked at: the command line says something
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import ValidationError

from rawko.config.flags import Flags, name_of
from rawko.config.models import choices, default_of, file_model, nested
from rawko.config.row import Row, leaves
from rawko.config.settings import Settings
from rawko.cutting import cut
from rawko.trust.errors import ConfigError
from rawko.vocabulary.base import Data
from rawko.vocabulary.budget import duration_ms
from rawko.vocabulary.documents import accepted

Origin = Literal["flags", "environment", "project", "user"]
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_SWITCH: Final = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, slots=True)
class Layer:
    """What one place says of the settings."""

    origin: Origin
    values: Mapping[str, Any] = field(default_factory=dict)


def of_flags(flags: Flags, problems: list[str]) -> Layer:
    """What the command line says; what is wrong with it is added to `problems`."""
    values: dict[str, Any] = {}
    for row in leaves(Settings):
        if row.name in flags:
            source = name_of(row) if row.setting.flag else row.name
            _keep(values, row, flags.get(row.name), source, problems)
    return Layer("flags", values)


def checked(flags: Flags) -> Mapping[str, Any]:
    """What the command line says, by the name of the row.

    Raises:
        ConfigError: A value that cannot be used; says what is accepted.
    """
    problems: list[str] = []
    layer = of_flags(flags, problems)
    if problems:
        raise ConfigError("\n".join(problems))
    return layer.values


def of_environment(environ: Mapping[str, str], flags: Flags, problems: list[str]) -> Layer:
    """What the environment sets and the command line does not. An empty variable sets nothing."""
    values: dict[str, Any] = {}
    for row in leaves(Settings):
        name = row.setting.env
        if name and environ.get(name) and row.name not in flags:
            try:
                value = _parsed(row, environ[name])
            except ConfigError as error:
                problems.append(f"{name}: {error}")
            else:
                _keep(values, row, value, name, problems, shown=repr(environ[name]))
    return Layer("environment", values)


def of_file(origin: Origin, model: Data) -> Layer:
    """What a file says, whose shape is checked."""
    values = {}
    for row in leaves(Settings):
        if row.key:
            outer, _, inner = row.key.partition(".")
            holder: Any = getattr(model, outer) if inner else model
            if (inner or outer) in holder.model_fields_set:
                values[row.name] = getattr(holder, inner or outer)
    return Layer(origin, {name: value for name, value in values.items() if value is not None})


def _parsed(row: Row, text: str) -> Any:
    """The value that a variable's text stands for.

    Raises:
        ConfigError: It stands for none; says what is accepted.
    """
    if row.type in ("int", "int | None"):
        if not _NUMBER.fullmatch(text):
            raise ConfigError(f"found {cut(text, 40)!r}; {_wanted(row)}")
        return int(text)
    if row.type == "bool":
        if text not in _SWITCH:
            raise ConfigError(f"{text!r}{accepted(_SWITCH, found=text)}")
        return _SWITCH[text]
    return text


def _keep(
    values: dict[str, Any], row: Row, value: Any, source: str, problems: list[str], *, shown: str | None = None
) -> None:
    """Add a value that fits its row; of another one say what is wrong."""
    problem = problem_of(row, value, shown=shown)
    if problem is None:
        values[row.name] = value
    else:
        problems.append(f"{source}: {problem}")


def problem_of(row: Row, value: Any, *, shown: str | None = None) -> str | None:
    """What is wrong with a value, and what is accepted; None where nothing is.

    Args:
        shown: The value as it was written.
    """
    words = choices(row)
    if words:
        return None if value in words else f"{value!r}{accepted(words, found=value)}"
    if not row.key or row.setting.is_path:
        return None
    try:
        file_model().model_validate(nested([(row.key, value)]))
    except ValidationError:
        found = shown or (f"{value:g}" if isinstance(value, float) else repr(value))
        return f"found {found}; {_wanted(row)}"
    return None


def _wanted(row: Row) -> str:
    least = "" if row.setting.minimum is None else f" >= {row.setting.minimum}"
    return f"accepted: {row.setting.accepted or f'a whole number{least}'}"


# ---------------------------------------------------------------- what counts


@dataclass(frozen=True, slots=True)
class Merged:
    """What counts of all layers.

    Attributes:
        origins: The layer of each value, by the name of the row; a setting without a value is not in it.
    """

    values: Mapping[str, Any]
    origins: Mapping[str, Origin]

    def field(self, row: Row) -> Any:
        """The value of a whole row: a block with its parts, or the default where no layer sets it."""
        if not row.setting.parts:
            return self.values.get(row.name, default_of(row))
        said = {part: self.values.get(f"{row.name}.{part}") for part in row.setting.parts}
        return default_of(row).model_copy(update={part: value for part, value in said.items() if value is not None})


def merge(layers: Sequence[Layer]) -> Merged:
    """What counts of these layers, the one that counts most first; files come last."""
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for row in leaves(Settings):
        said = [layer for layer in layers if row.name in layer.values]
        if not said:
            continue
        first = said[0]
        value = first.values[row.name]
        if first.origin == "project" and said[-1].origin == "user":
            value = _met(row, value, said[-1].values[row.name])
        values[row.name], origins[row.name] = value, first.origin
    return Merged(values, origins)


def _met(row: Row, projects: Any, users: Any) -> Any:
    """What counts where the project's file and the user's own both say something."""
    match row.setting.meeting:
        case "project":
            return projects
        case "lower":
            return min(projects, users, key=duration_ms) if isinstance(users, str) else min(projects, users)
        case "joined":
            return (*users, *projects) if isinstance(users, tuple) else {**users, **projects}
        case "either":
            return projects or users
