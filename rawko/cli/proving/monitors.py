"""The monitors that `rawko prove --monitor` names: property charts with their functions and their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rawko.chart import Chart, load_chart, shipped_path
from rawko.chart.errors import nearest
from rawko.cli.authoring.chart_files import NoSuchChart
from rawko.cli.authoring.charts import bindings_of
from rawko.interpreter.bindings import Bindings
from rawko.named_files import near_path
from rawko.proving import NO_BOUNDS, BoundsError, read_bounds
from rawko.proving.bounds import bounds_beside
from rawko.proving.monitoring.monitor import MonitorStep

FOLDER: Final = "monitors"
"""Of the shipped monitors, beside the shipped charts."""


def read_monitors(names: Sequence[str], chart: Chart, *, bindings: str | None, trusted: bool) -> list[MonitorStep]:
    """The monitors, in the order in which they are named.

    Args:
        names: Files, or names of shipped monitors.
        bindings: Module of the functions that a monitor of the user names.

    Raises:
        NoSuchChart, ChartError, NotProvable, BoundsError: One cannot be used.
        LookupError: The module of its functions cannot be used, or it is for another chart.
    """
    found: list[MonitorStep] = []
    for name in dict.fromkeys(names):
        file = _file(name)
        monitor = load_chart(file, trusted=trusted)
        shipped = _shipped_functions(file, chart)
        functions = shipped if shipped is not None else bindings_of(monitor, file, bindings) if bindings else None
        bounds = bounds_beside(file)
        try:
            said = NO_BOUNDS if bounds is None else read_bounds(bounds)
            one = MonitorStep(monitor, functions, said)
        except BoundsError as error:
            text = str(error)
            raise BoundsError(
                text if bounds is None or text.startswith(str(bounds)) else f"{bounds}: {text}"
            ) from error
        if any(one.name == other.name for other in found):
            raise LookupError(f"{file}: two monitors have the name {one.name!r}; each needs a name of its own")
        found.append(one)
    return found


def shipped_monitors() -> dict[str, Path]:
    """Files of the shipped monitors, by name."""
    folder = Path(str(shipped_path("statecharts"))) / FOLDER
    return {one.stem: one for one in sorted(folder.glob("*.yaml"))}


def _file(name: str) -> Path:
    path, shipped = Path(name), shipped_monitors()
    if path.exists() and not path.is_dir():
        return path
    if path.is_dir():
        raise NoSuchChart(f"{path}: is a folder; a monitor's chart is accepted, or a shipped one: {', '.join(shipped)}")
    if name in shipped:
        return shipped[name]
    near = nearest(name, list(shipped))
    hint = f"; did you mean {near!r}?" if near else near_path(path)
    raise NoSuchChart(
        f"{path}: there is no such file{hint}" + (f"; shipped monitors: {', '.join(shipped)}" if not hint else "")
    )


def _shipped_functions(file: Path, chart: Chart) -> Bindings | None:
    """The functions of a shipped monitor; None of any other.

    Raises:
        LookupError: The monitor is for charts with another context.
    """
    if file.resolve() not in {one.resolve() for one in shipped_monitors().values()}:
        return None
    from rawko.machines.agent_loop.invariants import monitors

    for monitor in monitors():
        if Path(monitor.chart.file).resolve() == file.resolve():
            if monitor.watches != chart.context:
                raise LookupError(
                    f"the monitor {file.stem!r} is for charts with the context {monitor.watches!r}; {chart.name!r} has "
                    f"{chart.context!r}"
                )
            return monitor.bindings
    return None
