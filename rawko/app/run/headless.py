"""What becomes of questions where no person is there: no answer is made up; one that is configured says so."""

from __future__ import annotations

from rawko.config import DefaultAnswers
from rawko.config import Headless as Policy
from rawko.runtime.ports import Answer, Question, Unattended

CONFIGURED = "default answer"
"""Who the journal names as the one who gave a configured answer."""
NOBODY = "nobody there"
"""The journal's name for what denied a call that no person could allow."""


class Nobody:
    """No person is there: questions stay open (C-20: never a made-up answer)."""

    async def ask(self, question: Question) -> Answer | None:
        return None


class Absent:
    """People who never come: a question that the policy gives no answer to ends the run, and does not wait.

    Args:
        policy: "default" gives the configured answers; the others give none.
    """

    def __init__(self, policy: Policy, answers: DefaultAnswers | None = None) -> None:
        self._policy = Headless(policy, answers)

    async def ask(self, question: Question) -> Answer | None:
        answer = await self._policy.ask(question)
        if answer is None and question.kind != "message":
            raise Unattended(question)
        return answer


class Headless:
    """Stands in for people by a policy.

    Args:
        policy: "fail" ends the run, "park" leaves the question open, "default" gives the configured answer; a kind
            of question that has none is left open, but for an approval: a call that no person allows is denied.

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
            return Answer("deny", who=NOBODY)
        return None if text is None else Answer(text, who=CONFIGURED)
