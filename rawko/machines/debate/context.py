"""The input and the context of a debate. All of it is JSON (C-26)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from rawko.machines.agent_input import AgentInput
from rawko.vocabulary.agent import Name
from rawko.vocabulary.base import Data

Outcome = Literal["success", "failure", "cancelled"]
CRITERIA = "Facts that can be checked, and answers to what the other side says. Not: length, style, certainty."


class Side(Data):
    """One side of the debate, and the agent that argues for it.

    Attributes:
        position: The position that this side argues for, in words.
    """

    agent: Name
    position: Annotated[str, Field(min_length=1)]


def _distinct(sides: tuple[Side, ...]) -> tuple[Side, ...]:
    if len({side.agent for side in sides}) < len(sides):
        raise ValueError(f"the sides need agents of their own, and {sides[0].agent!r} is on both")
    return sides


class DebateParameters(Data):
    """The sides and rules of a debate; `parameters` of the agent's file.

    Attributes:
        rounds: Number of rounds; each side argues once in a round.
        judge_model: The model that judges; None: the run's model.
        criteria: Criteria by which the judge compares the sides, in words.
    """

    sides: Annotated[tuple[Side, ...], Field(min_length=2, max_length=2), AfterValidator(_distinct)] = (
        Side(agent="proponent", position="Yes: what the question proposes is right"),
        Side(agent="opponent", position="No: what the question proposes is wrong, or something else is better"),
    )
    rounds: Annotated[int, Field(ge=1, le=10)] = 2
    judge_model: Annotated[str, Field(min_length=1)] | None = None
    criteria: str = CRITERIA


class Argument(Data):
    """The argument of one side in one round; `round` counts from 1."""

    side: str
    round: int
    text: str


class DebateContext(AgentInput):
    """The context of the machine: its input, then its state.

    Attributes:
        round: Number of rounds that have begun.
        arguments: The arguments of all rounds, oldest first; within a round, in the order of `sides`.
        judged: The verdict: `{winner, rule, is_agreed, votes, reasons}`.
    """

    parameters: DebateParameters = DebateParameters()
    round: int = 0
    arguments: tuple[Argument, ...] = ()
    judged: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    outcome: Outcome | None = None
