"""Charts of a folder for a page: a list, and each chart with its source, lint findings and drawing.

Nothing of the project is imported or run: charts are read as data.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rawko.app.inspection.drawing import draw_chart
from rawko.chart.check import check_text
from rawko.chart.definition import Chart
from rawko.chart.errors import Diagnostic
from rawko.chart.fragments.files import FragmentFiles, no_files
from rawko.chart.shipped import find_chart, shipped_charts
from rawko.config import ConfigError
from rawko.trust.confined import ProjectFiles
from rawko.trust.errors import ConfinedError
from rawko.trust.fragments import fragment_files

MAX_CHARTS: Final = 500
MAX_FOLDERS: Final = 4_000
MAX_BYTES: Final = 2_000_000
"""Size limit of a chart's file."""
SHIPPED: Final = "rawko:"
"""Prefix for the name of a shipped chart."""
_ENDINGS: Final = (".yaml", ".yml")
_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "venv", "build", "dist"})


def list_charts(folder: Path) -> list[dict[str, Any]]:
    """The charts of a folder, and the shipped ones, with path and name, sorted; at most `MAX_CHARTS` of the folder."""
    found = [{"path": path, "name": Path(path).stem, "whose": "folder"} for path in _paths(folder)]
    own = [{"path": f"{SHIPPED}{name}", "name": name, "whose": "rawko"} for name in sorted(shipped_charts())]
    return [*found, *own]


def read_chart(folder: Path, path: str) -> dict[str, Any]:
    """A chart with its source, its lint findings, and the line of each state and transition.

    A chart that cannot be parsed raises no error: `problems` says why.

    Raises:
        ConfigError: There is no such file in the folder.
    """
    text = source_of(folder, path)
    result = check_text(text, file=path, fragments=fragments_of(folder, path))
    problems = list(result.diagnostics)
    told: dict[str, Any] = {"path": path, "source": text, "states": {}, "transitions": {}, "name": ""}
    chart = result.chart
    if chart is not None:
        told |= {"name": chart.name, "states": _state_lines(chart), "transitions": _transition_lines(chart)}
    return {**told, "problems": [_problem(one) for one in problems]}


def chart_svg(folder: Path, path: str) -> str:
    """The drawing of a chart.

    Raises:
        ConfigError: There is no such file, or it cannot be read or drawn.
    """
    found = check_text(source_of(folder, path), file=path, fragments=fragments_of(folder, path))
    if found.chart is None:
        raise ConfigError("the chart cannot be read as it is; see its problems")
    return draw_chart(found.chart)


def source_of(folder: Path, path: str) -> str:
    """The text of a chart's file.

    Raises:
        ConfigError: There is no such file in the folder, or it cannot be read.
    """
    if path.startswith(SHIPPED):
        name = path.removeprefix(SHIPPED)
        if name not in shipped_charts():
            raise ConfigError(f"rawko has no chart {name!r}; it has {', '.join(sorted(shipped_charts()))}")
        return find_chart(name).read_text(encoding="utf-8")
    try:
        text = ProjectFiles(folder).text(path, limit=MAX_BYTES) if path.endswith(_ENDINGS) else None
    except ConfinedError as error:
        raise ConfigError(str(error)) from error
    if text is None:
        raise ConfigError(f"there is no chart {path!r} in this folder")
    return text


def fragments_of(folder: Path, path: str) -> FragmentFiles:
    """Reads the fragments that a chart uses; a shipped chart uses only shipped fragments."""
    return no_files if path.startswith(SHIPPED) else fragment_files(ProjectFiles(folder), path)


def stamp_of(folder: Path, path: str) -> float | None:
    """When a chart's file was last changed, in seconds since 1970; None where there is no such file."""
    try:
        return (folder / path).stat(follow_symlinks=False).st_mtime
    except (OSError, ValueError):
        return None


def _paths(folder: Path) -> Iterator[str]:
    """Charts below a folder, recognized by a line `statechart:`; hidden folders are left out."""
    count = 0
    for number, (place, folders, names) in enumerate(os.walk(folder)):
        if number >= MAX_FOLDERS:
            return
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        for name in sorted(names):
            file = Path(place) / name
            if name.endswith(_ENDINGS) and _is_chart(file):
                yield file.relative_to(folder).as_posix()
                count += 1
                if count == MAX_CHARTS:
                    return


def _is_chart(file: Path) -> bool:
    try:
        if file.is_symlink() or not file.is_file():
            return False
        with file.open("rb") as opened:
            head = opened.read(20_000)
    except OSError:
        return False
    return head.startswith(b"statechart:") or b"\nstatechart:" in head


def _state_lines(chart: Chart) -> dict[str, int]:
    """Lines of states that are defined in the chart's own file; states of fragments have none."""
    return {name: state.position.line for name, state in chart.states.items() if state.position.file == chart.file}


def _transition_lines(chart: Chart) -> dict[int, int]:
    return {
        number: transition.position.line
        for number, transition in enumerate(chart.transitions)
        if transition.position.file == chart.file
    }


def _problem(found: Diagnostic) -> dict[str, Any]:
    place = found.position
    told = {"line": place.line, "column": place.column, "code": found.code, "message": found.message}
    return {**told, "severity": found.severity}
