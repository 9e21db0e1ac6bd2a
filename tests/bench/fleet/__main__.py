"""The fleet beside the plain way: the same runs on as many workers, in the same PostgreSQL, one after the other.

python -m tests.postgres python -m tests.bench.fleet                               # small, about a minute
python -m tests.postgres python -m tests.bench.fleet --runs 1000 --steps 50 --workers 4
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

from tests.bench.fleet.contender import Contender, Missing
from tests.bench.fleet.guarded_dbos import GuardedDbos
from tests.bench.fleet.jobs import Procrastinate
from tests.bench.fleet.measure import Load, Measured, measure
from tests.bench.fleet.ours import Rawko
from tests.bench.fleet.own_machine import OwnMachine
from tests.bench.fleet.plain_dbos import PlainDbos
from tests.postgres import URL_VARIABLE

CONTENDERS: tuple[Contender, ...] = (
    Rawko(),
    OwnMachine(),
    GuardedDbos("git"),
    GuardedDbos("pygit2"),
    PlainDbos(),
    Procrastinate(),
)
_SAME = tuple(one.name for one in CONTENDERS if isinstance(one, GuardedDbos))
_MOST_STEPS = 58
"""An agent of rawko stops after 30 turns, unless it is told otherwise."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fleet", description=__doc__)
    parser.add_argument("--runs", type=int, default=40, help="(default: %(default)s)")
    parser.add_argument("--steps", type=int, default=50, help="calls of model or tool of a run (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="(default: %(default)s)")
    parser.add_argument("--slots", type=int, default=2, help="runs at once on each worker (default: %(default)s)")
    parser.add_argument("--answer-ms", type=int, default=0, help="what the model takes for an answer (default: none)")
    parser.add_argument("--rounds", type=int, default=1, help="all of them so often; the median counts")
    parser.add_argument("--points", type=Path, help="a file that gets a line of JSON for each measurement")
    parser.add_argument("--only", action="append", default=[], help="part of a contender's name")
    options = parser.parse_args(arguments)
    if URL_VARIABLE not in os.environ:
        parser.error(f"{URL_VARIABLE} is not set; begin with: python -m tests.postgres")
    if not 2 <= options.steps <= _MOST_STEPS:
        parser.error(f"--steps {options.steps} is not possible; accepted: 2 to {_MOST_STEPS}")
    load = Load(options.runs, options.steps, options.workers, options.slots, options.answer_ms / 1000)
    chosen = [one for one in CONTENDERS if not options.only or any(word in one.name for word in options.only)]
    print(f"{load.runs} runs of {load.steps} steps, {load.workers} workers of {load.slots} slots, ", end="")
    print(f"{options.answer_ms} ms for an answer of the model; load {os.getloadavg()[0]:.1f}, ", end="")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores", flush=True)
    found: dict[str, list[Measured]] = {}
    for _ in range(options.rounds):
        for contender in chosen:
            try:
                measured = measure(contender, load)
                found.setdefault(contender.name, []).append(measured)
                print(f"{contender.name}: {measured.seconds:.1f} s; load {os.getloadavg()[0]:.1f}", flush=True)
                if options.points:
                    with options.points.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(load) | asdict(measured)) + "\n")
            except Missing as reason:
                print(f"{contender.name}: {reason}")
    print(table(list(found.values()), load))
    return 0


def table(found: Sequence[Sequence[Measured]], load: Load) -> str:
    """What was measured, as Markdown; compared with the plain way, and with the faster of those with the same promises,
    where these were measured, too."""
    plain = min((_time(each) for each in found if each[0].name == PlainDbos.name), default=None)
    same = min((_time(each) for each in found if each[0].name in _SAME), default=None)
    lines = [
        "| | time | beside the plain way | beside the same promises | processor time of a run, worker + server "
        "| transactions of a run | kB of a run | connections |"
    ]
    lines.append("|---|---:|---:|---:|---:|---:|---:|---:|")
    for each in found:
        seconds = _time(each)
        beside = [f"{seconds / other:.2f} ×" if other else "–" for other in (plain, same)]
        last = each[-1]
        cells = [each[0].name, f"{seconds:.1f} s", *beside]
        cells.append(f"{1000 * last.worker_cpu_s / load.runs:.0f} + {1000 * last.database_cpu_s / load.runs:.0f} ms")
        cells += [f"{last.transactions / load.runs:.0f}", f"{last.database_bytes / load.runs / 1000:.0f}"]
        lines.append("| " + " | ".join([*cells, str(last.connections)]) + " |")
    return "\n".join(lines)


def _time(each: Sequence[Measured]) -> float:
    return median(one.seconds for one in each)


if __name__ == "__main__":
    sys.exit(main())
