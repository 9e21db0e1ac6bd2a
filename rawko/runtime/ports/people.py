"""The People port: the person who answers questions of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from rawko.vocabulary.messages import ToolCall


@dataclass(frozen=True, slots=True)
class Question:
    """Something that only a person can answer; a "message" is the next thing that the user says in a conversation."""

    kind: Literal["clarify", "pause", "approval", "message"]
    text: str
    agent: str = ""
    call: ToolCall | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said. For an approval: "once", "tool" (this tool from now on), "always", or "deny"."""

    text: str
    who: str = "user"


class People(Protocol):
    """The person at the terminal; a headless run has none."""

    async def ask(self, question: Question) -> Answer | None:
        """The person's answer, or None where no person is there (never a made-up answer).

        Raises:
            Unattended: No person is there, and by policy the run does not wait for one.
        """
        ...


class Unattended(Exception):
    """No person is there to answer, and by policy the run does not wait. `question` is what was asked."""

    def __init__(self, question: Question) -> None:
        super().__init__(f"nobody is there to answer: {question.text}")
        self.question = question
