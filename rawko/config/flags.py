"""Settings given as options of the command line. Only the standard library is imported here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rawko.config.row import Row, leaves, rows
from rawko.config.settings import Settings

_FIELDS: Final = frozenset(row.name for row in rows(Settings))


def flag_rows() -> Iterator[Row]:
    """The settings that have an option of the command line, in the order of the table."""
    return (row for row in leaves(Settings) if row.setting.flag is not None)


class Flags:
    """Settings given on the command line, by name; settings that were not given are absent.

    Args:
        given: Values by the name of the setting, a part as `budget.cost_usd`; None, and False for a switch that can
            only turn on, count as not given.
        fields: The same as keywords; a block, such as `budget=Budget(...)`, sets its parts that are not None.

    Raises:
        TypeError: A name is not that of a setting.
    """

    def __init__(self, given: Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        known = {row.name: row for row in leaves(Settings)}
        found = dict(given or {})
        for name, value in fields.items():
            if name not in _FIELDS:
                raise TypeError(f"there is no setting {name!r}")
            parts = [part for part in known if part.startswith(f"{name}.")]
            found.update({part: getattr(value, part.partition(".")[2]) for part in parts} if parts else {name: value})
        unknown = next((name for name in found if name not in known), None)
        if unknown is not None:
            raise TypeError(f"there is no setting {unknown!r}")
        self._given = {name: value for name, value in found.items() if not _is_left_out(known[name], value)}

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def __bool__(self) -> bool:
        return bool(self._given)

    def get(self, name: str) -> Any:
        """The value given for a setting, or None."""
        return self._given.get(name)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Names and values of the given settings, in no particular order."""
        return iter(self._given.items())

    def only(self, *fields: str) -> Flags:
        """The given settings that belong to these fields of `Settings`."""
        return Flags({name: value for name, value in self._given.items() if name.partition(".")[0] in fields})


def name_of(row: Row) -> str:
    """The name of a setting's option in messages: `--sandbox`."""
    assert row.setting.flag is not None
    return row.setting.flag.names[0]


def changing_names() -> tuple[str, ...]:
    """The options that may be given when a run is resumed."""
    return tuple(name_of(row) for row in flag_rows() if row.setting.can_change)


def fixed_names(flags: Flags) -> tuple[str, ...]:
    """The given options that a resumed run does not accept, since it keeps the values it was started with."""
    return tuple(name_of(row) for row in flag_rows() if row.name in flags and not row.setting.can_change)


def _is_left_out(row: Row, value: Any) -> bool:
    flag = row.setting.flag
    only_on = flag is not None and flag.type is bool and len(flag.names) == 1
    return value is None or (only_on and value is False)
