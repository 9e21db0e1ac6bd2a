"""Actions of the race: pure changes of the context, one function per name in the chart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, append, assign
from rawko.machines.judge.words import VERDICT
from rawko.machines.race.context import Outcome, RaceContext
from rawko.machines.race.inputs import tokens_of

bindings = Bindings()

_KEPT: Final = ("run", "outcome", "summary", "files_changed", "cost_usd", "usage", "message")


@bindings.action
def keep_result(context: RaceContext, event: Event) -> Updates:
    """Record the result of a lane that has ended."""
    return append("results", _result(event.item, event.data.get("output") or event.data["error"]))


@bindings.action
def keep_winner(context: RaceContext, event: Event) -> Updates:
    """Record the first successful lane as the winner."""
    return assign(winner=_result(event.output["item"], event.output["output"]))


@bindings.action
def keep_best(context: RaceContext, event: Event) -> Updates:
    """Record the cheapest successful lane as the winner: by cost, else by tokens, else by the order of the lanes."""
    done = [one for one in event.output if one["status"] == "done"]
    best = min(done, key=lambda one: _price(one["output"]))
    return assign(winner=_result(best["item"], best["output"]), results=_results(event.output))


@bindings.action
def keep_finished(context: RaceContext, event: Event) -> Updates:
    """Record the results of all lanes before the judge compares them."""
    return assign(results=_results(event.output))


@bindings.action
def keep_judged(context: RaceContext, event: Event) -> Updates:
    """Record the lane that the judge names the best, with the verdict."""
    judged = {key: event.output[key] for key in VERDICT}
    winner = next(one for one in context.results if one["lane"] == judged["winner"])
    return assign(winner=winner, judged={**judged, "error": None})


@bindings.action
def keep_unjudged(context: RaceContext, event: Event) -> Updates:
    """Record the cheapest successful lane as the winner, because the judge gave no verdict."""
    done = [one for one in context.results if one["outcome"] == "success"]
    told = {key: event.error.get(key) for key in VERDICT}
    return assign(winner=min(done, key=_price), judged={**told, "error": event.error["message"]})


@bindings.action
def keep_losers(context: RaceContext, event: Event) -> Updates:
    """Record why no lane has succeeded, where the race ended with the first error."""
    return assign(error={key: event.error[key] for key in ("category", "message", "attempted") if key in event.error})


@bindings.action
def keep_all_losers(context: RaceContext, event: Event) -> Updates:
    """Record why no lane has succeeded, where all lanes have ended."""
    errors = [one["error"] for one in event.output]
    told = "; ".join(str(error.get("message", "")) for error in errors[:3])
    message = f"no lane has succeeded: {told}{'; ...' if len(errors) > 3 else ''}"
    error = {"category": errors[0].get("category", "unknown"), "message": message, "attempted": ""}
    return assign(error=error, results=_results(event.output))


@bindings.action
def conclude(context: RaceContext, event: Event, *, outcome: Outcome) -> Updates:
    """Set the outcome of the race."""
    return assign(outcome=outcome)


def _results(ended: Any) -> list[dict[str, Any]]:
    """The results of all lanes, in the order of the parameters; `results` may lack lanes that ended during a kill."""
    return [_result(one["item"], one["output"] if one["status"] == "done" else one["error"]) for one in ended]


def _result(entry: Any, told: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: told.get(name) for name in _KEPT}
    return {
        "lane": entry["lane"],
        "agent": entry["agent"],
        "model": entry["model"],
        **kept,
        "outcome": kept["outcome"] or "failure",
    }


def _price(output: Mapping[str, Any]) -> tuple[bool, float, int]:
    cost = output.get("cost_usd")
    return cost is None, cost or 0.0, tokens_of(output)
