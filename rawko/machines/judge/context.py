"""The input and the context of the judge. All of it is JSON (C-26)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from rawko.machines.agent_loop.context import Question
from rawko.vocabulary.base import Data

MAX_CANDIDATES = 26
"""Each candidate is shown under one letter of the alphabet."""


class Candidate(Data):
    """One candidate of a comparison. The model is not shown `name`, `run`, `cost_usd` and `tokens`.

    Attributes:
        run: The run whose changes are shown: a lane's, or any other with snapshots in the same store.
        text: Text that is shown for a candidate without file changes: an argument, an answer.
        summary: The candidate's own summary.
        passed: Whether the candidate's check passed; None where none was run.
        check: The output of the check.
        cost_usd, tokens: Cost and usage; the cheapest wins where three answers name three candidates.
    """

    name: Annotated[str, Field(min_length=1)]
    run: str | None = None
    text: str = ""
    summary: str = ""
    passed: bool | None = None
    check: str = ""
    cost_usd: float | None = None
    tokens: int = 0


def _distinct(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    names = [one.name for one in candidates]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"candidates need names of their own; twice there: {', '.join(twice)}")
    return candidates


class JudgeInput(Data):
    """The input of the actor `judge`.

    Attributes:
        task: The task of the candidates.
        criteria: Criteria of the comparison, in words; "": how well they do the task.
        model: The model that is asked; None: the run's model.
        seed: Determines the order in which candidates are shown.
    """

    task: Annotated[str, Field(min_length=1)]
    criteria: str = ""
    candidates: Annotated[
        tuple[Candidate, ...], Field(min_length=1, max_length=MAX_CANDIDATES), AfterValidator(_distinct)
    ]
    model: str | None = None
    seed: int | str = 0


class JudgeAnswer(Data):
    """One answer of the model, with the candidates' names in place of letters.

    Attributes:
        reasons: The reason for each candidate, by name.
    """

    best: str
    reasons: dict[str, str]


class JudgeContext(JudgeInput):
    """The context of the machine: its input, then its state.

    Attributes:
        answers: In the order of the questions.
        retries: Failed attempts at the open question.
        question: Set while the machine waits for a larger budget.
    """

    answers: tuple[JudgeAnswer, ...] = ()
    retries: int = 0
    max_retries: int = 4
    retry_after_ms: int | None = None
    question: Question | None = None
    is_unattended: bool = False
    usage: dict[str, int] = Field(default_factory=dict)
    error: dict[str, Any] | None = None
