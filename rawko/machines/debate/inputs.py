"""The inputs of both sides and of the judge, and the report of a debate. Pure."""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.machines.debate.context import DebateContext
from rawko.machines.judge.words import verdict_lines

bindings = Bindings()
bindings.add("context", "DebateContext", DebateContext)


@bindings.input
def argument_input(context: DebateContext, event: Event, *, item: Any) -> Any:
    """The input of one side: question, position, its own last argument and the other side's."""
    values = {
        "question": context.prompt,
        "position": item.position,
        "own": _last(context, item.agent),
        "other": _last(context, next(side.agent for side in context.parameters.sides if side.agent != item.agent)),
        "round": context.round,
        "rounds": context.parameters.rounds,
    }
    return {"agent": item.agent, "template": "debate/argue", "values": values, "seed": context.seed}


@bindings.input
def judge_input(context: DebateContext, event: Event) -> Any:
    """Both sides as candidates, each with its position and all its arguments."""
    return {
        "task": context.prompt,
        "criteria": context.parameters.criteria,
        "model": context.parameters.judge_model,
        "seed": context.seed,
        "candidates": [
            {"name": side.agent, "text": f"Position: {side.position}\n\n{_said(context, side.agent)}"}
            for side in context.parameters.sides
        ],
    }


@bindings.output
def debate_report(context: DebateContext, event: Event) -> Any:
    """The result of the debate in the form of an agent's result (C-13), with all arguments and the verdict."""
    return {
        "outcome": context.outcome,
        "summary": _summary(context),
        "error": context.error,
        "iterations": context.round,
        "judged": context.judged,
        "arguments": list(context.arguments),
    }


def _last(context: DebateContext, side: str) -> str:
    return next((one.text for one in reversed(context.arguments) if one.side == side), "")


def _said(context: DebateContext, side: str) -> str:
    """All arguments of a side, each under the number of its round."""
    return "\n\n".join(f"Round {one.round}:\n{one.text}" for one in context.arguments if one.side == side)


def _summary(context: DebateContext) -> str:
    if context.judged is None:
        return ""
    winner = context.judged["winner"]
    position = next(side.position for side in context.parameters.sides if side.agent == winner)
    lines = [f"{winner} has argued better, for: {position}", *verdict_lines(context.judged)]
    return "\n".join([*lines, "", *(f"Last of {one}: {_last(context, one)}" for one in _sides(context))])


def _sides(context: DebateContext) -> list[str]:
    """Names of both sides, the winner first."""
    names = [side.agent for side in context.parameters.sides]
    assert context.judged is not None
    winner = context.judged["winner"]
    return sorted(names, key=lambda name: bool(name != winner))
