"""The interpreter beside its peers, in one run: `make bench`, or `python -m tests.bench [part of a case's name ...]`.

CPU time, contenders interleaved, medians. All of them first show that they go through the same configurations and
enter the same number of states.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Sequence

from tests.bench import charts
from tests.bench.cases import CASES, Case
from tests.bench.contenders.base import Contender, Missing, Unsupported
from tests.bench.contenders.ours import Rawko
from tests.bench.contenders.python_statemachine import PythonStateMachine
from tests.bench.contenders.pytransitions import Transitions
from tests.bench.contenders.stdlib_json import StdlibJson
from tests.bench.contenders.stock import Sismic
from tests.bench.contenders.xstate_node import XState
from tests.bench.contenders.xstate_statemachine import XStateStateMachine
from tests.bench.measure import Row, measure
from tests.bench.table import amount, bytes_, case_table, page_table

IDLE = Case("10,000 idle machines", charts.toggle, unit="machine")

EVERYBODY: tuple[Contender, ...] = (
    Rawko(),
    XState(),
    Sismic(),
    PythonStateMachine(),
    Transitions(),
    XStateStateMachine(),
    StdlibJson(),
)


def contenders(chosen: Sequence[str]) -> tuple[list[Contender], list[str]]:
    """Those that are here, and a line for each one; rawko comes first and is what others are compared with."""
    found: list[Contender] = []
    lines: list[str] = []
    for contender in EVERYBODY:
        if chosen and contender.name != "rawko" and not any(word in contender.name for word in chosen):
            continue
        try:
            lines.append(f"{contender.name:<22} {contender.version()}")
            found.append(contender)
        except Missing as reason:
            lines.append(f"{contender.name:<22} {reason}")
    return found, lines


def idle_rows(here: Sequence[Contender], count: int) -> list[Row]:
    rows: list[Row] = []
    for contender in here:
        row = Row(contender.name)
        rows.append(row)
        try:
            row.microseconds.append(contender.bytes_per_machine(IDLE, count))
        except Unsupported as reason:
            row.note = str(reason)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("case", nargs="*", help="parts of names; all cases without")
    parser.add_argument("--against", action="append", default=[], help="part of a contender's name; all without")
    parser.add_argument("--slices", type=int, default=21, help="rounds of measuring (default: %(default)s)")
    parser.add_argument("--slice-ms", type=float, default=20, help="length of each (default: %(default)s)")
    parser.add_argument("--page", action="store_true", help="end with one Markdown table of everything")
    options = parser.parse_args(arguments)
    here, lines = contenders(options.against)
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}; CPU time, medians")
    print(*lines, "", sep="\n")
    found: list[tuple[str, Sequence[Row], object]] = []
    for case in CASES:
        if not options.case or any(part in case.name for part in options.case):
            rows = measure(case, here, slices=options.slices, slice_s=options.slice_ms / 1000)
            found.append((case.name, rows, amount))
            print(case_table(case.name, case.unit, rows), end="\n\n", flush=True)
    if not options.case or any(part in IDLE.name for part in options.case):
        rows = idle_rows(here, 10_000)
        found.append((IDLE.name, rows, bytes_))
        print(case_table(IDLE.name, IDLE.unit, rows, show=bytes_), end="\n\n", flush=True)
    if options.page and found:
        print(page_table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
