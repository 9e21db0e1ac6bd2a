"""The input and the context of a race. All of it is JSON (C-26)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from rawko.machines.agent_input import AgentInput
from rawko.machines.agent_loop.context import Question
from rawko.machines.judge.context import MAX_CANDIDATES
from rawko.vocabulary.agent import Name
from rawko.vocabulary.base import Data

Outcome = Literal["success", "failure", "cancelled"]


class Entry(Data):
    """One lane of a race.

    Attributes:
        lane: Name of the lane.
        model: The model that the agent uses; None: the agent's own.
        prompt: Text before the task: instructions for this lane only.
    """

    lane: Annotated[str, Field(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$", max_length=32)]
    agent: Name = "developer"
    model: str | None = None
    prompt: str | None = None


def _distinct(lanes: tuple[Entry, ...]) -> tuple[Entry, ...]:
    names = [entry.lane for entry in lanes]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"lanes need names of their own; twice there: {', '.join(twice)}")
    return lanes


class RaceParameters(Data):
    """The lanes and rules of a race; `parameters` of the agent's file.

    Attributes:
        check: A command that must pass on a lane's files before the lane counts as done.
        first: The first lane that succeeds wins; False: all lanes run to their end, and the cheapest successful one
            wins.
        judge: All lanes run to their end; if more than one succeeds, a model finds the best.
        judge_model: The model that judges; None: the run's model.
        criteria: Criteria by which the judge compares the lanes, in words.
        adopt: Whether the winner's changes are adopted into the folder at the end: after a person's approval ("ask"),
            without one ("always"), or not ("never").
        at_a_time: Lanes that run side by side; None: as many as the setting `lanes.jobs` allows.
    """

    lanes: Annotated[tuple[Entry, ...], Field(min_length=1, max_length=64), AfterValidator(_distinct)] = (
        Entry(lane="a"),
        Entry(lane="b"),
    )
    check: Annotated[str, Field(min_length=1)] | None = None
    first: bool = True
    judge: bool = False
    judge_model: Annotated[str, Field(min_length=1)] | None = None
    criteria: str = ""
    adopt: Literal["ask", "always", "never"] = "ask"
    at_a_time: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _can_be_judged(self) -> RaceParameters:
        if self.judge and len(self.lanes) > MAX_CANDIDATES:
            raise ValueError(f"a judge compares at most {MAX_CANDIDATES} lanes, and there are {len(self.lanes)}")
        return self


AdoptionState = Literal["planned", "denied", "conflict", "nothing", "adopted", "check_failed", "failed"]


class Adoption(Data):
    """The state of the winner's adoption.

    Attributes:
        state: "planned" where no person was there to approve; "check_failed" where the merged files did not pass, and
            the changes were taken out again.
        files: Paths that were or would be changed; only the first ones if there are many.
        changed: Number of all such paths.
        conflicts: `{path, here, there}`: paths that both sides have changed; only the first ones if there are many.
        conflicting: Number of all such paths.
        safety: The snapshot before the merge, as data.
        now: The snapshot of the merged files, as data.
        told: Why it failed, or the result of the check.
    """

    state: AdoptionState
    files: tuple[str, ...] = ()
    changed: int = 0
    conflicts: tuple[dict[str, Any], ...] = ()
    conflicting: int = 0
    safety: dict[str, Any] | None = None
    now: dict[str, Any] | None = None
    told: str = ""


class RaceContext(AgentInput):
    """The context of the machine: its input, then its state.

    Attributes:
        results: `{lane, run, outcome, summary, cost_usd, usage, message}` of each lane, in the order in which they
            ended.
        winner: The result of the winning lane.
        judged: The verdict: `{winner, rule, is_agreed, votes, reasons, error}`; None where no judge was asked.
    """

    parameters: RaceParameters = RaceParameters()
    results: tuple[dict[str, Any], ...] = ()
    winner: dict[str, Any] | None = None
    judged: dict[str, Any] | None = None
    question: Question | None = None
    open_call: dict[str, Any] | None = None
    adoption: Adoption | None = None
    error: dict[str, Any] | None = None
    outcome: Outcome | None = None
