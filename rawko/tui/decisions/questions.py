"""Answers to the run's open question. An answer counts only for the question that was on the screen."""

from __future__ import annotations

from rawko.app.views.machines import Asked
from rawko.app.views.offered_rule import offered_rule
from rawko.app.views.proposal import Proposal, proposal_of
from rawko.config import ConfigError
from rawko.tools.gate.offering import Offer
from rawko.tui.decisions.asking import Desk
from rawko.tui.drawing.cells import CellLine, diff_style, wrapped
from rawko.tui.widgets.dialogs import Answer, Approval, Ask
from rawko.vocabulary.visible import exact, exact_line, visible, visible_line


async def answer(desk: Desk) -> None:
    asked = _asked(desk)
    if asked.kind == "approval":
        offer = _offer(desk, asked)
        told = await desk.ask(Approval(*_proposal(desk, asked), asked.number, offer.rule, offer.why_not))
    else:
        title = f"{visible_line(asked.agent) or 'The agent'} {'has paused' if asked.kind == 'pause' else 'asks'}"
        told = await desk.ask(Ask(title, desk.told(visible(asked.text)), kind="answer", number=asked.number))
    await _send(desk, told, asked)


async def deny(desk: Desk) -> None:
    asked = _asked(desk)
    if asked.kind != "approval":
        raise ConfigError("the question wants an answer in words: a")
    title, lines = _proposal(desk, asked)
    title = f"Deny {title}: why? (may stay empty)"
    told = await desk.ask(Ask(title, lines, kind="deny", number=asked.number, may_be_empty=True))
    await _send(desk, told, asked)


def _asked(desk: Desk) -> Asked:
    """The open question that a person can answer here.

    Raises:
        ConfigError: The run asks nothing, or waits for a larger budget.
    """
    asked = desk.watched.asked
    if asked is None:
        raise ConfigError("the run asks nothing now")
    if asked.kind == "budget":
        raise ConfigError("the budget is used up; go on with: rawko resume RUN --max-cost USD")
    return asked


def _proposal(desk: Desk, asked: Asked) -> tuple[str, list[CellLine]]:
    if asked.call is None:
        return f"{exact_line(asked.agent)} asks", desk.told(exact(asked.text))
    proposal = proposal_of(asked.call, desk.watched.record.settings.workspace, asked.folder)
    who = exact_line(asked.agent) or "the agent"
    return f"{who}: {exact_line(proposal.title)}", _proposal_lines(proposal, desk.width)


def _offer(desk: Desk, asked: Asked) -> Offer:
    """The rule that a person may save for this call; offered only where the screen can show all of it."""
    if asked.call is None:
        return Offer()
    found = offered_rule(asked.call, desk.watched.record.settings.workspace)
    if len(list(wrapped(found.rule, desk.width))) > desk.app.size.height // 3:
        return Offer(why_not="the screen is too small to show it")
    return found


def _proposal_lines(proposal: Proposal, width: int) -> list[CellLine]:
    return [
        ((piece, diff_style(source) if proposal.is_diff else "code"),)
        for source in proposal.lines
        for piece in wrapped(exact_line(source.replace("\t", "    ")), width)
    ]


async def _send(desk: Desk, told: Answer, asked: Asked) -> None:
    if told is None:
        return
    now = desk.watched.asked
    kind, text = told
    if kind == "rule":
        desk.said(await desk.act.keep_rule(desk.run, text, now, asked.number))
        return
    desk.said(await desk.act.answer(desk.run, kind, text, asked.number, None if now is None else now.number))
