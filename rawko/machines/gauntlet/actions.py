"""Actions of the gauntlet: pure changes of the context, one function per name in the chart."""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, append, assign
from rawko.machines.gauntlet.context import GauntletContext, Outcome
from rawko.machines.gauntlet.findings import blocking, merged, read_findings

bindings = Bindings()


@bindings.action
def begin_round(context: GauntletContext, event: Event) -> Updates:
    """Begin a round, in which the author works."""
    return assign(round=context.round + 1)


@bindings.action
def keep_work(context: GauntletContext, event: Event) -> Updates:
    """Record the author's summary, changed files and messages."""
    result = event.output
    files = dict.fromkeys((*context.files, *result["files_changed"]))
    kept = assign(says=result["summary"] or "", files=list(files))
    if result["is_compacted"]:
        return kept, assign(author_messages=result["messages"])
    return (kept, *(append("author_messages", message) for message in result["messages"]))


@bindings.action
def keep_limit(context: GauntletContext, event: Event) -> Updates:
    """Record that the author has reached a limit of its own."""
    return assign(reason=f"The author {context.parameters.author!r} has reached a limit of its own")


@bindings.action
def merge_findings(context: GauntletContext, event: Event) -> Updates:
    """Merge the findings of all reviewers, the most severe first."""
    read = [read_findings(review["item"], review["output"]["summary"] or "") for review in event.output]
    return assign(findings=[one.to_json() for one in merged(one for found in read for one in found)])


@bindings.action
def keep_blocked(context: GauntletContext, event: Event) -> Updates:
    """Record that the rounds are used up while findings still block."""
    count = len(blocking(context.findings))
    found = f"{count} finding{'s' if count != 1 else ''} that block{'s' if count == 1 else ''}"
    rounds = f"{context.round} round{'s' if context.round > 1 else ''}"
    return assign(reason=f"After {rounds} the reviewers still have {found}")


@bindings.action
def fail_review(context: GauntletContext, event: Event) -> Updates:
    """Record the reviews that were not done: a missing review must not count as one without findings."""
    lacking = [(review["item"], *_why(review)) for review in event.output if _why(review)[1]]
    told = "; ".join(f"{name!r}: {why}" for name, _, why in lacking)
    category = next(category for _, category, _ in lacking)
    return assign(error={"category": category, "message": f"not every review was done: {told}", "attempted": ""})


@bindings.action
def keep_failure(context: GauntletContext, event: Event) -> Updates:
    """Record why the author failed, and the files that it had changed."""
    error = dict(event.error)
    files = dict.fromkeys((*context.files, *error.get("files_changed", ())))
    told = {key: error[key] for key in ("category", "code", "message", "attempted") if error.get(key) is not None}
    return assign(error=told, files=list(files))


@bindings.action
def conclude(context: GauntletContext, event: Event, *, outcome: Outcome) -> Updates:
    """Set the outcome of the gauntlet."""
    return assign(outcome=outcome)


def _why(review: Any) -> tuple[str, str]:
    """Category and reason of a review that was not done; an empty reason where it was done."""
    if review["status"] == "error":
        return review["error"].get("category", "unknown"), review["error"].get("message", "it has failed")
    outcome = review["output"]["outcome"]
    return ("unknown", "") if outcome == "success" else ("unknown", f"it has ended with {outcome!r}")
