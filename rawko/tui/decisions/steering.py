"""The decisions about a run at work: cancel, force an agent, skip a step, tell the arbiter, retry, resume."""

from __future__ import annotations

from rawko.app.views.words import line as one_line
from rawko.config import ConfigError
from rawko.tui.decisions.asking import Desk
from rawko.tui.widgets.dialogs import Ask, Choose
from rawko.vocabulary.visible import visible_line


async def cancel(desk: Desk) -> None:
    lines = desk.told("Its work is ended where it stands:")
    lines += desk.at_work()
    lines += desk.told(
        "Files stay as they are, all steps are kept. A cancelled run has ended; a rewind (r) brings it back."
    )
    if await desk.confirmed(f"Cancel run {visible_line(desk.run)}?", lines):
        desk.said(await desk.act.cancel(desk.run))


async def force(desk: Desk) -> None:
    watched = desk.watched
    if watched.record.agent is not None:
        raise ConfigError("one agent works alone in this run: fork it with another one")
    agents = watched.record.settings.agents
    choices = [(visible_line(name), one_line(config.when_to_use)[:100]) for name, config in agents.items()]
    told = await desk.show(Choose("Who works next?", choices))
    if told is None:
        return
    lines = [
        *desk.told("The agent at work is stopped first; what its turn has not finished is lost:"),
        *desk.at_work(),
    ]
    if not watched.is_at_work or await desk.confirmed(f"Give the work to {told[1]}?", lines):
        desk.said(await desk.act.override(desk.run, "force", told[1]))


async def skip(desk: Desk) -> None:
    watched = desk.watched
    if watched.record.agent is not None:
        raise ConfigError("one agent works alone in this run: only the arbiter's runs have a plan to skip a step of")
    step = await desk.act.open_step(desk.run)
    if not step and any(one.status in ("in_progress", "pending") for one in watched.plan):
        raise ConfigError("the plan that is shown is the agent's; the run takes it over once the agent has ended")
    if not step:
        raise ConfigError("the run has no plan with a step to skip")
    lines = [
        *desk.told(f"Left out: {visible_line(step)}"),
        *desk.told("An agent at work on it is stopped; what its turn has not finished is lost:"),
        *desk.at_work(),
    ]
    if await desk.confirmed("Skip the plan's step?", lines):
        desk.said(await desk.act.override(desk.run, "skip", ""))


async def tell(desk: Desk) -> None:
    told = await desk.show(Ask("What should the arbiter know?", [], kind="tell"))
    if told is not None:
        desk.said(await desk.act.override(desk.run, "tell", told[1]))


async def retry(desk: Desk) -> None:
    desk.said(await desk.act.override(desk.run, "retry", ""))


async def resume(desk: Desk) -> None:
    if desk.app.host is not None and not desk.app.host.is_done:
        raise ConfigError("the run is at work already")
    desk.said(await desk.act.resume(desk.run))
