"""Actions of the judge: pure changes of the context, one function per name in the chart."""

from __future__ import annotations

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, append, assign, emit, log
from rawko.machines.agent_loop.context import Question
from rawko.machines.judge.context import JudgeContext
from rawko.vocabulary.usage import Usage

JUDGE = "judge"
"""The agent's name in the judge's events."""

bindings = Bindings()


@bindings.action
def tell_question(context: JudgeContext, event: Event) -> Updates:
    """Report that a question is asked."""
    return emit("JUDGE_ASKED", agent=JUDGE, number=len(context.answers) + 1)


@bindings.action
def keep_answer(context: JudgeContext, event: Event) -> Updates:
    """Record the model's answer and its usage."""
    answer = {"best": event.output["best"], "reasons": event.output["reasons"]}
    return append("answers", answer), assign(retries=0, usage=_used(context, event.output["usage"]))


@bindings.action
def count_retry(context: JudgeContext, event: Event) -> Updates:
    """Count a failed attempt at the question, which is asked again after a delay."""
    error = event.error
    return (
        assign(retries=context.retries + 1, retry_after_ms=error.get("retry_after_ms"), usage=_spent(context, event)),
        log(f"[rawko] the judge's question failed: {error.get('message', '')}", level="warning"),
    )


@bindings.action
def keep_failure(context: JudgeContext, event: Event) -> Updates:
    """Record why there is no verdict."""
    told = {key: event.error[key] for key in ("category", "code", "message") if event.error.get(key) is not None}
    return assign(error={"category": "unknown", "attempted": "a verdict", **told}, usage=_spent(context, event))


@bindings.action
def run_out(context: JudgeContext, event: Event) -> Updates:
    """Report that the budget is used up; the question is asked again when there is a larger one."""
    text = str(event.error.get("message", ""))
    return (
        assign(question=Question(kind="budget", text=text), is_unattended=True, usage=_spent(context, event)),
        log(f"[rawko] {text}", level="warning"),
        emit("OUT_OF_BUDGET", kind="budget", text=text, agent=JUDGE),
    )


@bindings.action
def forget_question(context: JudgeContext, event: Event) -> Updates:
    """Clear the question about the budget: there is a larger one."""
    return assign(question=None, is_unattended=False)


def _spent(context: JudgeContext, event: Event) -> dict[str, int]:
    return _used(context, event.error.get("usage") or {})


def _used(context: JudgeContext, more: object) -> dict[str, int]:
    total = Usage.model_validate(dict(context.usage)) + Usage.model_validate(more)
    return total.to_json()
