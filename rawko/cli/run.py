"""`rawko run`: settings, live output, questions, Ctrl-C, and the summary."""

from __future__ import annotations

import asyncio
import math
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rawko.app import Report, Run
from rawko.app.records.record import read_record
from rawko.app.repeating import differences
from rawko.app.run.follow_up import check_followed
from rawko.app.run.headless import Headless
from rawko.app.time_travel.recorded_run import run_of
from rawko.cli.interrupts import KILLED, Interrupts
from rawko.cli.live import LiveOutput
from rawko.cli.logs import RunLog
from rawko.cli.output import complain, nobody_reads, visible_line
from rawko.cli.overrides.terminal import Steering
from rawko.cli.people import TerminalPeople, user
from rawko.cli.settings import settings_here
from rawko.cli.summary import print_report
from rawko.cli.trust.question import has_person, judge
from rawko.config import ConfigError, Flags, checked_headless, load_settings
from rawko.processes.keys import environment
from rawko.runtime.inspection import InspectionEvent
from rawko.runtime.ports import People
from rawko.vocabulary.budget import Budget, duration_ms


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the command line says of the budget."""

    cost_usd: float | None = None
    tokens: int | None = None
    time: str | None = None

    def budget(self) -> Budget:
        """As settings.

        Raises:
            ConfigError: One of them is no bound.
        """
        if self.cost_usd is not None and not (0 < self.cost_usd < math.inf):
            raise ConfigError(f"--max-cost: found {self.cost_usd:g}; accepted: US dollars above 0, such as 0.50")
        if self.time is not None:
            try:
                duration_ms(self.time)
            except ValueError as error:
                raise ConfigError(f"--max-time: {error}") from error
        return Budget(tokens=self.tokens, cost_usd=self.cost_usd, time=self.time)


NO_BOUNDS = Bounds()


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
    bounds: Bounds = NO_BOUNDS
    headless: str | None = None
    cassette: Path | None = None
    record: Path | None = None
    sandbox: bool | None = None
    continues: str | None = None
    interactive: bool = False
    again: str | None = None
    is_trusted: bool = False


def run_command(options: RunOptions) -> int:
    """Run the task; returns the exit code."""
    if options.again is not None:
        return _run_again(options, options.again)
    try:
        flags = Flags(
            provider=options.provider,
            scenario=options.scenario,
            model=options.model,
            agents_dir=options.agents,
            max_iterations=options.max_iterations,
            assume_yes=options.yes,
            headless=options.headless,
            budget=options.bounds.budget(),
            cassette=options.cassette,
            record=options.record,
            sandbox=options.sandbox,
        )
        decide = judge(is_granted=options.is_trusted, is_headless=options.headless is not None)
        settings = load_settings(current_folder(), flags, environment(), judge=decide)
        agent = options.agent
        if options.continues is not None and agent is None:
            agent = check_followed(settings, options.continues).agent
        run = Run(
            settings,
            _as_text(options.task),
            agent=agent,
            continues=options.continues,
            is_interactive=options.interactive,
        )
    except ConfigError as error:
        return complain(str(error))
    return execute(run, as_json=options.json, quiet=options.quiet, is_headless=options.headless is not None)


def _run_again(options: RunOptions, earlier: str) -> int:
    """The task and the settings of a recorded run once more, on the files as they are (C-12)."""
    try:
        _refuse_beside_again(options)
        decide = judge(is_granted=options.is_trusted, is_headless=options.headless is not None)
        budget = options.bounds.budget()
        current = settings_here(yes=options.yes, judge=decide, has_powers=True, budget=budget)
        record = read_record(earlier, current)
        settings = replace(
            record.settings,
            budget=budget.over(record.settings.budget),
            max_iterations=options.max_iterations or record.settings.max_iterations,
            headless=record.settings.headless
            if options.headless is None
            else checked_headless("--headless", options.headless),
            record=None,
        )
        for line in differences(record):
            print(f"rawko: since run {earlier}: {visible_line(line)}", file=sys.stderr)
        run = run_of(record, settings).reset()
    except ConfigError as error:
        return complain(str(error))
    return execute(run, as_json=options.json, quiet=options.quiet, is_headless=options.headless is not None)


def _refuse_beside_again(options: RunOptions) -> None:
    given = {
        "TASK": options.task or None,
        "--provider": options.provider,
        "--scenario": options.scenario,
        "--model": options.model,
        "--agent": options.agent,
        "--agents": options.agents,
        "--cassette": options.cassette,
        "--record": options.record,
        "--sandbox": options.sandbox,
        "--continue": options.continues,
        "--interactive": options.interactive or None,
    }
    found = [name for name, value in given.items() if value is not None]
    if found:
        raise ConfigError(
            f"--again takes the task and the settings of run {options.again!r}, so {found[0]} cannot be given; "
            "accepted beside it: --yes, --trust, --headless, --max-cost, --max-tokens, --max-time, --max-iterations, "
            "--json, -q"
        )


def execute(run: Run, *, as_json: bool, quiet: bool, people: People | None = None, is_headless: bool = False) -> int:
    """Run it with live output, questions, Ctrl-C and summary; returns the exit code.

    Args:
        people: Who is asked; whoever sits at the terminal, if None.
        is_headless: Nobody at the terminal is asked, whoever sits there.
    """
    if run.is_interactive and (people is not None or is_headless or not has_person()):
        return complain(f"run {run.id!r} is a conversation: it needs a terminal to talk on, and no --headless")
    if people is None and (is_headless or not has_person()):
        people = Headless(run.settings.headless, run.settings.default_answers)
    try:
        report = asyncio.run(_run(run, as_json=as_json, quiet=quiet, people=people))
    except ConfigError as error:
        return complain(str(error))
    except KeyboardInterrupt:
        print("rawko: killed", file=sys.stderr)
        return KILLED
    if report is None:
        return KILLED
    try:
        print_report(report, as_json=as_json)
    except BrokenPipeError:
        return nobody_reads()
    return report.exit_code


def current_folder() -> Path:
    """The folder that commands work in.

    Raises:
        ConfigError: It is gone, or closed to us.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise ConfigError(f"the current folder cannot be used: {error.strerror}") from error


async def _run(run: Run, *, as_json: bool, quiet: bool, people: People | None) -> Report | None:
    settings = run.settings
    run.check()
    stream = sys.stderr if as_json else sys.stdout
    live = LiveOutput(stream, run.usage, visible_line(f"run {run.id} in {settings.workspace} ({_asked(run)})"))
    show = _Show(run)
    steering = Steering(run, live.end_line)
    run.on_override = steering.tell
    if people is not None:
        run.people = people
    else:
        run.people = TerminalPeople(live.end_line, steering.paused)
    if not quiet:
        run.observe = lambda event: show(live, event)
    with ExitStack() as stack:
        if people is None:
            stack.enter_context(steering)
        log = stack.enter_context(RunLog(settings.state_dir / "runs" / run.id))

        def write(level: str, message: str, data: Mapping[str, Any]) -> None:
            log.write(level, message, data)
            if not quiet:
                show(live.log, level, message, data)

        run.log = write
        task = asyncio.ensure_future(run.execute())
        who = user()
        stack.enter_context(Interrupts(lambda: run.cancel(who), run.kill_tools, task, lambda: run.stop_turn(who)))
        try:
            return await task
        except asyncio.CancelledError:
            live.end_line()
            print("rawko: killed", file=sys.stderr)
            return None
        finally:
            show(live.end_line)


def _as_text(task: str) -> str:
    """Arguments may be any bytes; what is no UTF-8 among them is replaced, since no model could be sent it."""
    return os.fsencode(task).decode("utf-8", "replace")


def _asked(run: Run) -> str:
    settings = run.settings
    match settings.provider:
        case "scripted":
            return f"scripted: {settings.scenario}"
        case "cassette":
            return f"cassette: {settings.cassette}"
        case "anthropic":
            return run.model


class _Show:
    """Shows what happens. When nobody reads it any more (`| head`), the run is cancelled through the machine."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._is_read = True

    def __call__(self, show: Callable[..., None], *arguments: InspectionEvent | Mapping[str, Any] | str) -> None:
        if not self._is_read:
            return
        try:
            show(*arguments)
        except OSError:  # a pipe without a reader, a full disk
            self._is_read = False
            self._run.cancel()
