"""Guards of the gauntlet: pure questions about the context and the event, one function per name in the chart."""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.machines.gauntlet.context import GauntletContext

bindings = Bindings()


@bindings.guard
def is_cancelled(context: GauntletContext, event: Event) -> bool:
    """The agent was told to stop."""
    return bool(event.output["outcome"] == "cancelled")


@bindings.guard
def has_succeeded(context: GauntletContext, event: Event) -> bool:
    """The agent has ended with `complete`; a limit of its own is no success."""
    return bool(event.output["outcome"] == "success")


@bindings.guard
def is_review_cancelled(context: GauntletContext, event: Event) -> bool:
    """A reviewer was told to stop."""
    return any(_outcome(review) == "cancelled" for review in event.output)


@bindings.guard
def lacks_review(context: GauntletContext, event: Event) -> bool:
    """A reviewer has failed, or ended without saying what it found."""
    return any(_outcome(review) != "success" for review in event.output)


@bindings.guard
def is_clear(context: GauntletContext, event: Event) -> bool:
    """Nothing that blocks was found."""
    return all(finding.severity != "blocking" for finding in context.findings)


@bindings.guard
def has_rounds_left(context: GauntletContext, event: Event) -> bool:
    """The author may try again."""
    return context.round < context.parameters.rounds


def _outcome(review: Any) -> Any:
    return review["output"]["outcome"] if review["status"] == "done" else "failure"
