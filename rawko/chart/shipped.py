"""Finds the charts and prompts that are shipped with rawko: in the wheel, or beside the package in a checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rawko.chart.definition import Position
from rawko.chart.errors import ChartFileError, Diagnostic, hint

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped_path(kind: Literal["statecharts", "prompts"]) -> Path:
    """The folder of shipped charts or prompts.

    A wheel contains it inside the package; a checkout or an editable install has it at the top level.

    Raises:
        FileNotFoundError: Neither exists: the installation is broken.
    """
    for folder in (_PACKAGE / kind, _PACKAGE.parent / kind):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"no folder {kind!r} in the package or beside it; is rawko installed completely?")


def shipped_charts() -> tuple[str, ...]:
    """Stems of the shipped charts, sorted."""
    return tuple(sorted(path.stem for path in shipped_path("statecharts").glob("*.yaml")))


def find_chart(stem: str) -> Path:
    """The file of a shipped chart.

    Raises:
        ChartFileError: No chart with that stem is shipped.
    """
    stems = shipped_charts()
    if stem not in stems:
        message = f"no chart {stem!r} is shipped{hint(stem[:200], stems, 'shipped')}"
        raise ChartFileError([Diagnostic(Position(stem), "unreadable", message)])
    return shipped_path("statecharts") / f"{stem}.yaml"
