"""Guards of the gauntlet: pure conditions on context and event, one function per name in the chart."""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.machines.gauntlet.context import GauntletContext

bindings = Bindings()


@bindings.guard
def is_cancelled(context: GauntletContext, event: Event) -> bool:
    """The agent was cancelled."""
    return bool(event.output["outcome"] == "cancelled")


@bindings.guard
def has_succeeded(context: GauntletContext, event: Event) -> bool:
    """The agent has ended with `complete`; a limit of the agent is not a success."""
    return bool(event.output["outcome"] == "success")


@bindings.guard
def is_review_cancelled(context: GauntletContext, event: Event) -> bool:
    """A reviewer was cancelled."""
    return any(_outcome(review) == "cancelled" for review in event.output)


@bindings.guard
def lacks_review(context: GauntletContext, event: Event) -> bool:
    """A reviewer has not ended with success, so its findings are unknown."""
    return any(_outcome(review) != "success" for review in event.output)


@bindings.guard
def is_clear(context: GauntletContext, event: Event) -> bool:
    """No finding blocks."""
    return all(finding.severity != "blocking" for finding in context.findings)


@bindings.guard
def has_rounds_left(context: GauntletContext, event: Event) -> bool:
    """The author may work in another round."""
    return context.round < context.parameters.rounds


def _outcome(review: Any) -> Any:
    return review["output"]["outcome"] if review["status"] == "done" else "failure"
