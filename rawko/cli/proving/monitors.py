"""Reads the monitors of `rawko prove --monitor`: property charts with their functions and bounds."""

from __future__ import annotations

from collections.abc import Sequence

from rawko.app.verifying.monitor_files import read_monitor
from rawko.chart import Chart
from rawko.proving import NO_BOUNDS, BoundsError, read_bounds
from rawko.proving.bounds import bounds_beside
from rawko.proving.monitoring.monitor import MonitorStep


def read_monitors(names: Sequence[str], chart: Chart, *, bindings: str | None, trusted: bool) -> list[MonitorStep]:
    """The monitors, in the order of their names.

    Args:
        names: Files, or names of shipped monitors.
        bindings: Module with the functions of a monitor that the user names.

    Raises:
        ChartError, NotProvable, BoundsError: A monitor cannot be used.
        LookupError: No monitor has the name, the module of its functions cannot be used, or the monitor is for another
            chart.
    """
    found: list[MonitorStep] = []
    for name in dict.fromkeys(names):
        monitor, file = read_monitor(name, module=bindings, trusted=trusted)
        if monitor.watches and monitor.watches != chart.context:
            raise LookupError(
                f"the monitor {file.stem!r} is for charts with the context {monitor.watches!r}; {chart.name!r} has "
                f"{chart.context!r}"
            )
        bounds = bounds_beside(file)
        try:
            said = NO_BOUNDS if bounds is None else read_bounds(bounds)
            one = MonitorStep(monitor.chart, monitor.bindings, said)
        except BoundsError as error:
            text = str(error)
            raise BoundsError(
                text if bounds is None or text.startswith(str(bounds)) else f"{bounds}: {text}"
            ) from error
        if any(one.name == other.name for other in found):
            raise LookupError(f"{file}: two monitors have the name {one.name!r}; each needs a name of its own")
        found.append(one)
    return found
