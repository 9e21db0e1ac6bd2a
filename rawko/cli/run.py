"""`rawko run`: settings, live output, questions, Ctrl-C, and the summary."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rawko.app import Nobody, Report, Run
from rawko.cli.live import LiveOutput
from rawko.cli.logs import RunLog
from rawko.cli.output import Painter, complain, visible
from rawko.cli.people import TerminalPeople
from rawko.config import ConfigError, Flags, Settings, load_settings

KILLED = 130
_VERDICTS = {
    "success": ("Task completed", "green"),
    "failure": ("Task failed", "red"),
    "limit": ("Limit reached", "yellow"),
    "cancelled": ("Task cancelled", "yellow"),
    "needs_person": ("A person is needed", "yellow"),
}
MAX_DIFF_LINES = 400


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the command line says."""

    task: str
    provider: str | None
    scenario: str | None
    model: str | None
    agent: str | None
    agents: Path | None
    max_iterations: int | None
    yes: bool
    json: bool
    quiet: bool


def run_command(options: RunOptions) -> int:
    """Run the task; returns the exit code."""
    flags = Flags(
        provider=options.provider,
        scenario=options.scenario,
        model=options.model,
        agents_dir=options.agents,
        max_iterations=options.max_iterations,
        assume_yes=options.yes,
    )
    try:
        settings = load_settings(Path.cwd(), flags, os.environ)
        report = asyncio.run(_run(settings, options))
    except ConfigError as error:
        return complain(str(error))
    except KeyboardInterrupt:
        print("rawko: killed", file=sys.stderr)
        return KILLED
    if report is None:
        return KILLED
    _summarise(report, options, settings)
    return report.exit_code


async def _run(settings: Settings, options: RunOptions) -> Report | None:
    stream = sys.stderr if options.json else sys.stdout
    run = Run(settings, options.task, agent=options.agent)
    run.check()
    live = LiveOutput(stream, run.usage)
    if _has_person():
        run.people = TerminalPeople(live.end_line)
    else:
        run.people = Nobody()
    if not options.quiet:
        run.observe = live
        Painter(stream)
        print(f"run {run.id} in {settings.workspace} ({settings.provider})", file=stream, flush=True)
    with RunLog(settings.state_dir / "runs" / run.id) as log:

        def write(level: str, message: str, data: Mapping[str, Any]) -> None:
            log.write(level, message, data)
            if not options.quiet:
                live.log(level, message, data)

        run.log = write
        task = asyncio.ensure_future(run.execute())
        with _Interrupts(run, task):
            try:
                return await task
            except asyncio.CancelledError:
                live.end_line()
                print("rawko: killed", file=sys.stderr)
                return None
            finally:
                live.end_line()


def _has_person() -> bool:
    """Whether somebody can be asked: input and messages are both on a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


class _Interrupts:
    """Ctrl-C (and SIGTERM): the first cancels through the machine, the second kills."""

    def __init__(self, run: Run, task: asyncio.Future[Report]) -> None:
        self._run = run
        self._task = task
        self._count = 0

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt)

    def __exit__(self, *error: object) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

    def _interrupt(self) -> None:
        self._count += 1
        if self._count == 1:
            print("\nrawko: cancelling; press Ctrl-C again to kill", file=sys.stderr, flush=True)
            self._run.cancel()
        elif self._count == 2:
            self._task.cancel()
        else:
            os._exit(KILLED)


# ---------------------------------------------------------------- the summary


def _summarise(report: Report, options: RunOptions, settings: Settings) -> None:
    _print_summary(report, sys.stderr if options.json else sys.stdout, with_diff=not options.json)
    if options.json:
        print(json.dumps(report.to_json(), ensure_ascii=False), flush=True)


def _print_summary(report: Report, stream: Any, *, with_diff: bool) -> None:
    paint = Painter(stream)
    verdict, colour = _VERDICTS[report.outcome]
    print(file=stream)
    print(paint(f"{verdict}: {report.state}", "bold", colour), file=stream)
    if report.summary:
        print(visible(report.summary), file=stream)
    if report.question is not None:
        _print_question(report.question, stream)
    cost = "cost unknown (no price for the model; see `prices` in .rawko/config.yaml)"
    if report.cost_usd is not None:
        cost = f"${report.cost_usd:.4f}"
    print(
        f"{report.iterations} iteration(s) · {report.usage.total_tokens} tokens in {report.usage.calls} calls · {cost} "
        f"· {report.duration_ms / 1000:.1f} s",
        file=stream,
    )
    for note in report.notes:
        print(paint(f"note: {visible(note)}", "yellow"), file=stream)
    if report.files_changed:
        print(paint(f"{len(report.files_changed)} file(s) changed:", "bold"), file=stream)
        for path in report.files_changed:
            print(f"  {visible(path)}", file=stream)
        if with_diff:
            _print_diff(report.diff, stream, paint)
    else:
        print("no files changed", file=stream)
    stream.flush()


def _print_question(question: Mapping[str, Any], stream: Any) -> None:
    print(visible(str(question.get("text") or "")), file=stream)
    if question.get("kind") == "approval":
        print("Nobody is there to allow it: run again with --yes, or with a rule in .rawko/config.yaml.", file=stream)


def _print_diff(diff: str, stream: Any, paint: Painter) -> None:
    lines = diff.splitlines()
    for line in lines[:MAX_DIFF_LINES]:
        style = _diff_style(line)
        print(paint(visible(line), *style), file=stream)
    if len(lines) > MAX_DIFF_LINES:
        print(paint(f"… {len(lines) - MAX_DIFF_LINES} more lines", "dim"), file=stream)


def _diff_style(line: str) -> tuple[str, ...]:
    if line.startswith(("+++", "---", "diff ")):
        return ("bold",)
    return {"+": ("green",), "-": ("red",), "@": ("cyan",)}.get(line[:1], ())
