"""The decisions about a run at work: cancel, force an agent, skip a step, tell the arbiter, retry, resume."""

from __future__ import annotations

from rawko.app.views.words import line as one_line
from rawko.config import ConfigError
from rawko.tui.decisions.asking import DecisionDialogs
from rawko.tui.widgets.dialogs import Ask, Choose
from rawko.vocabulary.visible import visible_line


async def cancel(dialogs: DecisionDialogs) -> None:
    lines = dialogs.lines_of("Its work is ended where it stands:")
    lines += dialogs.at_work()
    lines += dialogs.lines_of(
        "Files stay as they are, all steps are kept. A cancelled run has ended; a rewind (r) brings it back."
    )
    if await dialogs.confirmed(f"Cancel run {visible_line(dialogs.run)}?", lines):
        dialogs.show_result(await dialogs.act.cancel(dialogs.run))


async def force(dialogs: DecisionDialogs) -> None:
    watched = dialogs.watched
    if watched.record.agent is not None:
        raise ConfigError("one agent works alone in this run: fork it with another one")
    agents = watched.record.settings.agents
    choices = [(visible_line(name), one_line(config.when_to_use)[:100]) for name, config in agents.items()]
    told = await dialogs.show(Choose("Who works next?", choices))
    if told is None:
        return
    lines = [
        *dialogs.lines_of("The agent at work is stopped first; what its turn has not finished is lost:"),
        *dialogs.at_work(),
    ]
    if not watched.is_at_work or await dialogs.confirmed(f"Give the work to {told[1]}?", lines):
        dialogs.show_result(await dialogs.act.override(dialogs.run, "force", told[1]))


async def skip(dialogs: DecisionDialogs) -> None:
    watched = dialogs.watched
    if watched.record.agent is not None:
        raise ConfigError("one agent works alone in this run: only the arbiter's runs have a plan to skip a step of")
    step = await dialogs.act.open_step(dialogs.run)
    if not step and any(one.status in ("in_progress", "pending") for one in watched.plan):
        raise ConfigError("the plan that is shown is the agent's; the run takes it over once the agent has ended")
    if not step:
        raise ConfigError("the run has no plan with a step to skip")
    lines = [
        *dialogs.lines_of(f"Left out: {visible_line(step)}"),
        *dialogs.lines_of("An agent at work on it is stopped; what its turn has not finished is lost:"),
        *dialogs.at_work(),
    ]
    if await dialogs.confirmed("Skip the plan's step?", lines):
        dialogs.show_result(await dialogs.act.override(dialogs.run, "skip", ""))


async def tell(dialogs: DecisionDialogs) -> None:
    told = await dialogs.show(Ask("What should the arbiter know?", [], kind="tell"))
    if told is not None:
        dialogs.show_result(await dialogs.act.override(dialogs.run, "tell", told[1]))


async def retry(dialogs: DecisionDialogs) -> None:
    dialogs.show_result(await dialogs.act.override(dialogs.run, "retry", ""))


async def resume(dialogs: DecisionDialogs) -> None:
    if dialogs.app.host is not None and not dialogs.app.host.is_done:
        raise ConfigError("the run is at work already")
    dialogs.show_result(await dialogs.act.resume(dialogs.run))
