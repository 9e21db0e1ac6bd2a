"""The inputs of a race's lanes and judge, the number of lanes at a time, and the race's report. Pure."""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.machines.judge.words import verdict_lines
from rawko.machines.race.adoption import adoption_lines, files_taken_over
from rawko.machines.race.context import RaceContext

bindings = Bindings()
bindings.add("context", "RaceContext", RaceContext)


@bindings.input
def lane_input(context: RaceContext, event: Event, *, item: Any) -> Any:
    """The input of one lane."""
    return {
        "lane": item.lane,
        "agent": item.agent,
        "task": context.prompt,
        "model": item.model,
        "prompt": item.prompt,
        "check": context.parameters.check,
        "must_succeed": True,
    }


@bindings.input
def judge_input(context: RaceContext, event: Event) -> Any:
    """The lanes that have succeeded, as candidates."""
    return {
        "task": context.prompt,
        "criteria": context.parameters.criteria,
        "model": context.parameters.judge_model,
        "seed": context.seed,
        "candidates": [
            {
                "name": one["lane"],
                "run": one["run"],
                "summary": one["summary"] or "",
                "passed": True if context.parameters.check else None,
                "cost_usd": one["cost_usd"],
                "tokens": tokens_of(one),
            }
            for one in context.results
            if one["outcome"] == "success"
        ],
    }


@bindings.input
def lanes_at_a_time(context: RaceContext, event: Event) -> int | None:
    """Number of lanes that run side by side."""
    return context.parameters.at_a_time


@bindings.output
def race_report(context: RaceContext, event: Event) -> Any:
    """The result of the race in the form of an agent's result (C-13), with all lanes that have ended."""
    return {
        "outcome": context.outcome,
        "summary": _summary(context),
        "error": context.error,
        "iterations": len(context.results),
        "winner": context.winner,
        "lanes": list(context.results),
        "judged": context.judged,
        "adoption": context.adoption,
        "files_changed": files_taken_over(context),
    }


def _summary(context: RaceContext) -> str:
    lines = [
        _line(one, is_winner=context.winner is not None and one["lane"] == context.winner["lane"])
        for one in context.results
    ]
    if context.winner is None:
        return "\n".join(["No lane has succeeded", *lines] if context.outcome == "failure" else lines)
    winner = context.winner
    told = f"Lane {winner['lane']!r} has won: {winner['summary'] or 'done'}"
    return "\n".join([told, *lines, *_judged(context.judged), *adoption_lines(context)])


def _line(one: Any, *, is_winner: bool) -> str:
    mark = "✓" if is_winner else "·" if one["outcome"] == "success" else "✗"
    cost = f", ${one['cost_usd']:.2f}" if one["cost_usd"] else ""
    tokens = tokens_of(one)
    why = "" if one["outcome"] == "success" else f": {one['message']}"
    return f"{mark} {one['lane']}: {one['outcome']}, {tokens:,} tokens{cost}{why}"


def tokens_of(one: Any) -> int:
    """Input and output tokens that a lane has used."""
    return sum((one.get("usage") or {}).get(name, 0) for name in ("input_tokens", "output_tokens"))


def _judged(judged: Any) -> list[str]:
    """The summary's lines about the verdict, the winner's reason first."""
    if judged is None:
        return []
    if judged["error"] is not None:
        return [f"No verdict, so the cheapest wins: {judged['error']}"]
    return verdict_lines(judged)
