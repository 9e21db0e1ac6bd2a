"""Actions of the debate: pure changes of the context, one function per name in the chart."""

from __future__ import annotations

from typing import Final

from rawko.cutting import cut
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, append, assign
from rawko.machines.debate.context import DebateContext, Outcome
from rawko.machines.debate.guards import why_lacking
from rawko.machines.judge.words import VERDICT

MAX_TEXT: Final = 20_000
"""Characters of one argument that are recorded; longer ones are cut off."""

bindings = Bindings()


@bindings.action
def begin_round(context: DebateContext, event: Event) -> Updates:
    """Begin a round, in which both sides argue."""
    return assign(round=context.round + 1)


@bindings.action
def keep_arguments(context: DebateContext, event: Event) -> Updates:
    """Record the arguments of both sides."""
    return tuple(
        append(
            "arguments",
            {
                "side": one["item"]["agent"],
                "round": context.round,
                "text": cut(one["output"]["summary"].strip(), MAX_TEXT, " [... {more} characters more]"),
            },
        )
        for one in event.output
    )


@bindings.action
def fail_argument(context: DebateContext, event: Event) -> Updates:
    """Record why a side has not argued; the debate then fails, because it has only one side."""
    lacking = [one for one in event.output if why_lacking(one)]
    told = "; ".join(f"{one['item']['agent']!r}: {why_lacking(one)}" for one in lacking)
    category = next((one["error"].get("category") for one in lacking if one["status"] == "error"), None)
    message = f"not every side has argued in round {context.round}: {told}"
    return assign(error={"category": category or "unknown", "message": message, "attempted": ""})


@bindings.action
def keep_verdict(context: DebateContext, event: Event) -> Updates:
    """Record the judge's verdict: the better side and the reasons."""
    return assign(judged={key: event.output[key] for key in VERDICT})


@bindings.action
def keep_failure(context: DebateContext, event: Event) -> Updates:
    """Record the error of the actor that failed."""
    error = event.error
    told = {key: error[key] for key in ("category", "code", "message", "attempted") if error.get(key) is not None}
    return assign(error=told)


@bindings.action
def conclude(context: DebateContext, event: Event, *, outcome: Outcome) -> Updates:
    """Set the outcome of the debate."""
    return assign(outcome=outcome)
