"""Lets commands take their options as one named tuple, which may include options of settings.

    class ShowOptions(NamedTuple):
        step: StepAddress
        flags: Annotated[Flags, Takes(budget_rows)] = NO_FLAGS

    @expanded
    def show(options: ShowOptions) -> None: ...

This is the command `show RUN@K --max-cost USD --max-tokens N --max-time TIME`: typer sees a parameter for each field,
and one for each row that `Takes` selects.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from inspect import Parameter
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple

import typer

from rawko.cli.options import completing
from rawko.config.flags import Flags, flag_rows
from rawko.config.row import Row

NO_FLAGS: Final = Flags()

_COMPLETED: Final = {"provider": completing.providers, "scenario": completing.scenarios}
"""What completes the values of an option, by the name of its row."""


class Takes(NamedTuple):
    """Marks a parameter of type `Flags`: the settings for which the command has options.

    Attributes:
        which: Whether the command has the option of a row.
        help: Other help texts, by the name of the row.
    """

    which: Callable[[Row], bool]
    help: Mapping[str, str] = MappingProxyType({})

    def rows(self) -> Iterator[Row]:
        """The selected rows, in the order of the table."""
        return (row for row in flag_rows() if self.which(row))


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with a signature for typer: one parameter per option, in place of named tuples and `Flags`."""
    parts = [_Part.of(p) for p in inspect.signature(command, eval_str=True).parameters.values()]

    @wraps(command)
    def call(**given: Any) -> None:
        command(**{part.name: part.value(given) for part in parts})

    parameters = [parameter for part in parts for parameter in part.parameters]
    parameters.sort(key=lambda one: one.default is not Parameter.empty)  # parameters without a default must come first
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


class _Part(NamedTuple):
    """A parameter of a command, the parameters that typer sees instead, and the function that builds its value."""

    name: str
    parameters: tuple[Parameter, ...]
    value: Callable[[Mapping[str, Any]], Any]

    @classmethod
    def of(cls, one: Parameter) -> _Part:
        takes = next((mark for mark in getattr(one.annotation, "__metadata__", ()) if isinstance(mark, Takes)), None)
        if takes is not None:
            return cls._of_rows(one.name, takes)
        if hasattr(one.annotation, "_field_defaults"):
            return cls._of_class(one.name, one.annotation)
        return cls(one.name, (one.replace(kind=Parameter.KEYWORD_ONLY),), lambda given: given[one.name])

    @classmethod
    def _of_rows(cls, name: str, takes: Takes) -> _Part:
        names = {_identifier(row): row.name for row in takes.rows()}
        parameters = tuple(_parameter(row, takes.help.get(row.name)) for row in takes.rows())
        return cls(name, parameters, lambda given: Flags({names[each]: given[each] for each in names}))

    @classmethod
    def _of_class(cls, name: str, options: Any) -> _Part:
        hints = typing.get_type_hints(options, include_extras=True)
        defaults = options._field_defaults
        parts = [
            cls.of(
                Parameter(
                    name,
                    Parameter.KEYWORD_ONLY,
                    default=defaults.get(name, Parameter.empty),
                    annotation=hints[name],
                )
            )
            for name in options._fields
        ]
        parameters = tuple(parameter for part in parts for parameter in part.parameters)
        return cls(name, parameters, lambda given: options(**{part.name: part.value(given) for part in parts}))


def _identifier(row: Row) -> str:
    return row.name.replace(".", "__")


def _parameter(row: Row, told: str | None) -> Parameter:
    """The parameter of a setting's option; its default is None, or False for a switch that can only turn on."""
    flag = row.setting.flag
    assert flag is not None
    only_on = flag.type is bool and len(flag.names) == 1
    option = typer.Option(
        *(name for name in (flag.name, flag.short) if name),
        help=told or flag.help.format(default=row.default),
        metavar=flag.metavar,
        show_default=False,
        min=row.setting.minimum if flag.type is int else None,
        autocompletion=_COMPLETED.get(row.name),
    )
    kind = flag.type if only_on else flag.type | None
    return Parameter(
        _identifier(row),
        Parameter.KEYWORD_ONLY,
        default=False if only_on else None,
        annotation=Annotated[kind, option],
    )
