"""Answers to the run's open question. An answer counts only for the question that was on the screen."""

from __future__ import annotations

from rawko.app.views.machines import Asked
from rawko.app.views.offered_rule import offered_rule
from rawko.app.views.proposal import Proposal, proposal_of
from rawko.config import ConfigError
from rawko.tools.gate.offering import Offer
from rawko.tui.decisions.asking import DecisionDialogs
from rawko.tui.drawing.cells import CellLine, diff_style, wrapped
from rawko.tui.widgets.dialogs import Answer, Approval, Ask
from rawko.vocabulary.visible import exact, exact_line, visible, visible_line


async def answer(dialogs: DecisionDialogs) -> None:
    asked = _asked(dialogs)
    if asked.kind == "approval":
        offer = _offer(dialogs, asked)
        told = await dialogs.ask(Approval(*_proposal(dialogs, asked), asked.number, offer.rule, offer.why_not))
    else:
        title = f"{visible_line(asked.agent) or 'The agent'} {'has paused' if asked.kind == 'pause' else 'asks'}"
        told = await dialogs.ask(Ask(title, dialogs.lines_of(visible(asked.text)), kind="answer", number=asked.number))
    await _send(dialogs, told, asked)


async def deny(dialogs: DecisionDialogs) -> None:
    asked = _asked(dialogs)
    if asked.kind != "approval":
        raise ConfigError("the question wants an answer in words: a")
    title, lines = _proposal(dialogs, asked)
    title = f"Deny {title}: why? (may stay empty)"
    told = await dialogs.ask(Ask(title, lines, kind="deny", number=asked.number, may_be_empty=True))
    await _send(dialogs, told, asked)


def _asked(dialogs: DecisionDialogs) -> Asked:
    """The open question that a person can answer here.

    Raises:
        ConfigError: The run asks nothing, or waits for a larger budget.
    """
    asked = dialogs.watched.asked
    if asked is None:
        raise ConfigError("the run asks nothing now")
    if asked.kind == "budget":
        raise ConfigError("the budget is used up; go on with: rawko resume RUN --max-cost USD")
    return asked


def _proposal(dialogs: DecisionDialogs, asked: Asked) -> tuple[str, list[CellLine]]:
    if asked.call is None:
        return f"{exact_line(asked.agent)} asks", dialogs.lines_of(exact(asked.text))
    proposal = proposal_of(asked.call, dialogs.watched.record.settings.workspace, asked.folder)
    who = exact_line(asked.agent) or "the agent"
    return f"{who}: {exact_line(proposal.title)}", _proposal_lines(proposal, dialogs.width)


def _offer(dialogs: DecisionDialogs, asked: Asked) -> Offer:
    """The rule that a person may save for this call; offered only where the screen can show all of it."""
    if asked.call is None:
        return Offer()
    found = offered_rule(asked.call, dialogs.watched.record.settings.workspace)
    if len(list(wrapped(found.rule, dialogs.width))) > dialogs.app.size.height // 3:
        return Offer(why_not="the screen is too small to show it")
    return found


def _proposal_lines(proposal: Proposal, width: int) -> list[CellLine]:
    return [
        ((piece, diff_style(source) if proposal.is_diff else "code"),)
        for source in proposal.lines
        for piece in wrapped(exact_line(source.replace("\t", "    ")), width)
    ]


async def _send(dialogs: DecisionDialogs, told: Answer, asked: Asked) -> None:
    if told is None:
        return
    now = dialogs.watched.asked
    kind, text = told
    if kind == "rule":
        dialogs.show_result(await dialogs.act.keep_rule(dialogs.run, text, now, asked.number))
        return
    dialogs.show_result(
        await dialogs.act.answer(dialogs.run, kind, text, asked.number, None if now is None else now.number)
    )
