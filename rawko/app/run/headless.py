"""Answers to questions where no person is present: none is invented; a configured answer is journalled as such."""

from __future__ import annotations

from rawko.config import DefaultAnswers
from rawko.config import Headless as Policy
from rawko.runtime.ports import Answer, Question, Unattended

CONFIGURED = "default answer"
"""The person that the journal names for a configured answer."""
NO_PERSON = "nobody there"
"""The person that the journal names where a call was denied because no person could allow it."""


class Nobody:
    """People who are not present: questions stay open (C-20: no answer is made up)."""

    async def ask(self, question: Question) -> Answer | None:
        return None


class AbsentPeople:
    """People who are never present: a question that the policy does not answer ends the run instead of waiting.

    Args:
        policy: "default" gives the configured answers; the other policies give none.
    """

    def __init__(self, policy: Policy, answers: DefaultAnswers | None = None) -> None:
        self._policy = Headless(policy, answers)

    async def ask(self, question: Question) -> Answer | None:
        answer = await self._policy.ask(question)
        if answer is None and question.kind != "message":
            raise Unattended(question)
        return answer


class Headless:
    """Answers questions by a policy, in place of people.

    Args:
        policy: "fail" ends the run; "park" leaves the question open; "default" gives the configured answer. Where no
            answer is configured for the kind of question, the question stays open, but an approval is denied.

    Source: S3-093, Q63, Q64.
    """

    def __init__(self, policy: Policy = "park", answers: DefaultAnswers | None = None) -> None:
        self._policy = policy
        self._answers = answers or DefaultAnswers()

    async def ask(self, question: Question) -> Answer | None:
        if self._policy == "fail":
            raise Unattended(question)
        if self._policy == "park":
            return None
        if question.kind == "message":
            return None
        text = self._answers.answer_to(question.kind)
        if text is None and question.kind == "approval":
            return Answer("deny", who=NO_PERSON)
        return None if text is None else Answer(text, who=CONFIGURED)
