"""The fleet beside the plain way: the same runs on as many workers, in the same PostgreSQL, one after the other.

python -m tests.postgres python -m tests.bench.fleet                               # small, about a minute
python -m tests.postgres python -m tests.bench.fleet --runs 1000 --steps 50 --workers 4
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from statistics import median

from tests.bench.fleet.contender import Contender, Missing
from tests.bench.fleet.jobs import Procrastinate
from tests.bench.fleet.measure import Load, Measured, measure
from tests.bench.fleet.ours import Rawko
from tests.bench.fleet.plain_dbos import PlainDbos
from tests.postgres import URL_VARIABLE

CONTENDERS: tuple[Contender, ...] = (Rawko(), PlainDbos(), Procrastinate())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fleet", description=__doc__)
    parser.add_argument("--runs", type=int, default=40, help="(default: %(default)s)")
    parser.add_argument("--steps", type=int, default=50, help="calls of model or tool of a run (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="(default: %(default)s)")
    parser.add_argument("--slots", type=int, default=2, help="runs at once on each worker (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="all of them so often; the median counts")
    parser.add_argument("--only", action="append", default=[], help="part of a contender's name")
    options = parser.parse_args(arguments)
    if URL_VARIABLE not in os.environ:
        parser.error(f"{URL_VARIABLE} is not set; begin with: python -m tests.postgres")
    load = Load(options.runs, options.steps, options.workers, options.slots)
    chosen = [one for one in CONTENDERS if not options.only or any(word in one.name for word in options.only)]
    print(f"{load.runs} runs of {load.steps} steps, {load.workers} workers of {load.slots} slots; ", end="")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores", flush=True)
    found: dict[str, list[Measured]] = {}
    for _ in range(options.rounds):
        for contender in chosen:
            try:
                found.setdefault(contender.name, []).append(measure(contender, load))
            except Missing as reason:
                print(f"{contender.name}: {reason}")
    print(table(list(found.values()), load))
    return 0


def table(found: Sequence[Sequence[Measured]], load: Load) -> str:
    """What was measured, as Markdown; compared with the plain way where that was measured, too."""
    plain = next((median(one.seconds for one in each) for each in found if each[0].name == PlainDbos.name), None)
    lines = [
        "| | time | beside the plain way | processor time of a run, worker + server | transactions of a run "
        "| kB of a run | connections |"
    ]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    for each in found:
        seconds = median(one.seconds for one in each)
        beside = f"{seconds / plain:.2f} ×" if plain else "–"
        last = each[-1]
        cells = [each[0].name, f"{seconds:.1f} s", beside]
        cells.append(f"{1000 * last.worker_cpu_s / load.runs:.0f} + {1000 * last.database_cpu_s / load.runs:.0f} ms")
        cells += [f"{last.transactions / load.runs:.0f}", f"{last.database_bytes / load.runs / 1000:.0f}"]
        lines.append("| " + " | ".join([*cells, str(last.connections)]) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
