"""Adopting the winner's changes: the question to a person, the merge, and the report about it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, assign, emit, raise_
from rawko.machines.agent_loop.context import Question
from rawko.machines.agent_loop.people import answer_event
from rawko.machines.race.context import AdoptionState, RaceContext
from rawko.vocabulary.messages import ADOPT

DEFAULT_ANSWER: Final = "default answer"
"""The `who` of an answer that the settings give in place of a person; such an answer approves no adoption."""

bindings = Bindings()


# ---------------------------------------------------------------- guards


@bindings.guard
def adopts(context: RaceContext, event: Event, *, policy: str) -> bool:
    """The parameter `adopt` has this value."""
    return context.parameters.adopt == policy


@bindings.guard
def cannot_be_adopted(context: RaceContext, event: Event) -> bool:
    """The lane's changes conflict with those in the folder, or change nothing in it."""
    return bool(event.output["is_refused"]) or not event.output["changes"]


@bindings.guard
def is_answered(context: RaceContext, event: Event) -> bool:
    """A person has answered; an answer by the settings does not count."""
    return event.output is not None and event.output.get("who") != DEFAULT_ANSWER


@bindings.guard
def is_adopted(context: RaceContext, event: Event) -> bool:
    """The lane's changes were merged into the files."""
    return not event.output["is_refused"] and event.output["now"] is not None


@bindings.guard
def has_check(context: RaceContext, event: Event) -> bool:
    """The race has a check, which runs again on the merged files."""
    return context.parameters.check is not None


@bindings.guard
def check_holds(context: RaceContext, event: Event) -> bool:
    """The check passes on the merged files."""
    return all(one["held"] for one in event.output["evidence"])


# ---------------------------------------------------------------- actions


@bindings.action
def keep_plan(context: RaceContext, event: Event) -> Updates:
    """Record the changes that an adoption would make."""
    state: AdoptionState = (
        "conflict" if event.output["is_refused"] else "planned" if event.output["changes"] else "nothing"
    )
    return assign(adoption={"state": state, **_merged(event.output)})


@bindings.action
def ask_adoption(context: RaceContext, event: Event) -> Updates:
    """Ask a person whether to adopt the winner; the question shows the changes."""
    assert context.winner is not None
    lane, run = context.winner["lane"], context.winner["run"]
    call = {"id": "adopt", "name": ADOPT, "input": {"name": lane, "run": run, "changes": event.output["shown"]}}
    text = f"Lane {lane!r} has won. Take over what it has changed?"
    return (
        assign(question=Question(kind="approval", text=text), open_call={"call": call}),
        emit("ADOPTION_ASKED", agent=context.agent, lane=lane, run=run),
    )


@bindings.action
def close_question(context: RaceContext, event: Event) -> Updates:
    """Close the question: it is answered, or no longer asked."""
    return assign(question=None, open_call=None)


@bindings.action
def raise_answer(context: RaceContext, event: Event) -> Updates:
    """Raise a person's answer as the event that could also have been sent from outside."""
    name, data = answer_event("approval", event.output["text"], event.output.get("who") or "")
    return raise_(name, **data)


@bindings.action
def keep_denial(context: RaceContext, event: Event) -> Updates:
    """Record that a person has denied the adoption."""
    return assign(adoption=_changed(context, state="denied"))


@bindings.action
def keep_adoption(context: RaceContext, event: Event) -> Updates:
    """Record what was merged, or why nothing was."""
    state: AdoptionState = "conflict" if event.output["is_refused"] else "adopted" if event.output["now"] else "nothing"
    return assign(adoption={"state": state, **_merged(event.output)})


@bindings.action
def keep_adoption_failure(context: RaceContext, event: Event) -> Updates:
    """Record that the files could not be read or changed."""
    return assign(adoption={"state": "failed", "told": str(event.error.get("message", ""))})


@bindings.action
def keep_check(context: RaceContext, event: Event) -> Updates:
    """Record the result of the check on the merged files."""
    return assign(adoption=_changed(context, told="; ".join(one["found"] for one in event.output["evidence"])))


@bindings.action
def keep_check_failure(context: RaceContext, event: Event) -> Updates:
    """Record that the check could not be run."""
    return assign(adoption=_changed(context, told=str(event.error.get("message", ""))))


@bindings.action
def keep_undo(context: RaceContext, event: Event) -> Updates:
    """Record that the lane's changes were taken out again, or the files on which later edits prevented that."""
    if not event.output["is_refused"]:
        return assign(adoption=_changed(context, state="check_failed"))
    conflicts, count = list(event.output["conflicts"]), event.output["conflicting"]
    return assign(adoption=_changed(context, conflicts=conflicts, conflicting=count))


@bindings.action
def keep_undo_failure(context: RaceContext, event: Event) -> Updates:
    """Record that taking the lane's changes out failed."""
    assert context.adoption is not None
    return assign(adoption=_changed(context, told=f"{context.adoption.told}; {event.error.get('message', '')}"))


def _merged(output: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "files": [one["path"] for one in output["changes"]],
        "changed": output["changed"],
        "conflicts": list(output["conflicts"]),
        "conflicting": output["conflicting"],
        "safety": output["safety"],
        "now": output.get("now"),
    }


def _changed(context: RaceContext, **changes: Any) -> dict[str, Any]:
    found = context.adoption
    assert found is not None
    fields = ("state", "files", "changed", "conflicts", "conflicting", "safety", "now", "told")
    return {**{name: getattr(found, name) for name in fields}, **changes}


# ---------------------------------------------------------------- inputs


@bindings.input
def plan_input(context: RaceContext, event: Event) -> Any:
    """The winner's run, for planning the adoption."""
    assert context.winner is not None
    return {"run": context.winner["run"]}


@bindings.input
def adoption_input(context: RaceContext, event: Event) -> Any:
    """The winner's run, for the adoption."""
    assert context.winner is not None
    return {"run": context.winner["run"]}


@bindings.input
def undo_input(context: RaceContext, event: Event) -> Any:
    """The winner's changes in reverse: from the merged files to the files before."""
    assert context.winner is not None and context.adoption is not None
    return {"run": context.winner["run"], "back": {"base": context.adoption.now, "theirs": context.adoption.safety}}


@bindings.input
def check_input(context: RaceContext, event: Event) -> Any:
    """The check as a demand on the merged files."""
    assert context.adoption is not None
    return {"demands": [{"check": context.parameters.check}], "known": [], "snapshot": context.adoption.now}


@bindings.input
def ask_person_input(context: RaceContext, event: Event) -> Any:
    """The question to the person."""
    assert context.question is not None and context.open_call is not None
    call = context.open_call["call"]
    return {"agent": context.agent, "kind": "approval", "text": context.question.text, "call": call}


# ---------------------------------------------------------------- words


def files_taken_over(context: RaceContext) -> list[str]:
    """Paths of the files that the adoption changed."""
    found = context.adoption
    return list(found.files) if found is not None and found.state == "adopted" else []


def adoption_lines(context: RaceContext) -> list[str]:
    """The summary's lines about the adoption; where it was not done, with the command that does it."""
    assert context.winner is not None
    found, run = context.adoption, context.winner["run"]
    by_hand = f"Take it over: rawko adopt {run}"
    if found is None:
        return [by_hand]
    match found.state:
        case "adopted":
            return _adopted(context, found)
        case "nothing":
            return ["Nothing of it is new in this folder"]
        case "conflict":
            both = [f"  {one['path']}: {one['here']} here, {one['there']} there" for one in found.conflicts]
            if found.conflicting > len(both):
                both.append(f"  and {found.conflicting - len(both)} more")
            return [f"Not taken over: {found.conflicting} in conflict with edits in this folder", *both, by_hand]
        case "check_failed":
            return [f"Not taken over: the check does not pass on the merged files: {found.told}", by_hand]
        case "failed":
            return [f"Not taken over: {found.told}", by_hand]
        case "denied":
            return ["Not taken over, as you said", by_hand]
        case _:
            return [by_hand]


def _adopted(context: RaceContext, found: Any) -> list[str]:
    assert context.winner is not None
    above = str(context.winner["run"]).rpartition("__")[0]
    count = f"{found.changed} file{'' if found.changed == 1 else 's'}"
    told = f"Taken over: {count} changed{f'; {found.told}' if found.told else ''}"
    left = f"; it stays, since {found.conflicting} of its files were edited meanwhile" if found.conflicts else ""
    return [f"{told}{left}", f"Undo it: rawko rewind {above}@{_safety(found)} --files"]


def _safety(found: Any) -> str:
    return str(found.safety["commit"])[:12]
