"""The input and the context of a gauntlet. All of it is JSON (C-26)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from rawko.machines.agent_input import AgentInput
from rawko.machines.gauntlet.findings import Finding
from rawko.vocabulary.agent import Name
from rawko.vocabulary.base import Data

Outcome = Literal["success", "limit", "failure", "cancelled"]


class GauntletParameters(Data):
    """The agents and rules of a gauntlet; `parameters` of the agent's file.

    Attributes:
        author: The agent that does the task and repairs findings.
        reviewers: Agents that review the work; they change no files.
        rounds: Most rounds; the author works once in each.
        at_a_time: Reviewers that run side by side; more than one only for reviewers without tools that change files.
    """

    author: Name = "developer"
    reviewers: Annotated[tuple[Name, ...], Field(min_length=1, max_length=20)] = ("reviewer",)
    rounds: Annotated[int, Field(ge=1, le=50)] = 3
    at_a_time: Annotated[int, Field(ge=1)] = 4


class GauntletContext(AgentInput):
    """The context of the machine: its input, then its state.

    Attributes:
        round: Number of rounds that have begun.
        author_messages: The author's conversation so far, as wire messages.
        says: The author's last summary.
        files: Files that the author has changed, in all rounds.
        findings: The findings of the last round, merged, the most severe first.
    """

    parameters: GauntletParameters = GauntletParameters()
    round: int = 0
    author_messages: tuple[Any, ...] = ()
    says: str = ""
    files: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    error: dict[str, Any] | None = None
    outcome: Outcome | None = None
    reason: str | None = None
