"""SPEC-0003's machine with its code: guards, actions, payloads, and a history of executions in the context.

The loop of names alone (`charts.spec_0003`) holds none of it. Here each contender does the same work in its own way:
two executions that succeed, one that fails and is recovered from, a retry, and the end; decisions read from payloads;
a history entry appended for each, and the counters kept.
"""

from __future__ import annotations

from typing import Any

from rawko.interpreter import Bindings, append, assign
from tests.bench.charts import State, move

CONTEXT: dict[str, Any] = {
    "task": "",
    "started_at": 0,
    "agent": None,
    "mode": "",
    "decision": None,
    "history": [],
    "iteration_count": 0,
    "max_iterations": 50,
    "consecutive_failures": 0,
    "total_failures": 0,
    "last_error": None,
}


def chart() -> State:
    """The orchestrator's states; what its actors would tell comes as events."""
    cancel = move("CANCEL", "idle")
    moves = {
        "idle": [move("START_TASK", "selecting", None, "begin_task")],
        "selecting": [move("AGENT_SELECTED", "executing", None, "choose_agent"), cancel],
        "executing": [
            move("AGENT_COMPLETE", "evaluating", None, "record_success"),
            move("AGENT_ERROR", "error_handling", None, "record_failure"),
            cancel,
        ],
        "evaluating": [
            move("DECIDED", "complete", "is_complete", "keep_decision"),
            move("DECIDED", "selecting", "should_retry", "keep_decision"),
            move("DECIDED", "complete", "max_iterations_reached", "keep_decision"),
            move("DECIDED", "selecting", None, "keep_decision"),
            cancel,
        ],
        "error_handling": [
            move("RECOVER", "complete", "max_failures_reached"),
            move("RECOVER", "selecting", "is_recoverable"),
            move("RECOVER", "complete"),
        ],
        "complete": [move("RESET", "idle")],
    }
    states = {name: {"on": found} for name, found in moves.items()}
    return {"initial": "idle", "states": states, "context": CONTEXT, "is_coded": True}


_AGENT = {
    "agent": {"name": "developer", "tools": ["read", "write", "bash"]},
    "mode": "developer",
    "reason": "next step",
}
_DONE = {"summary": "Wrote the parser and its tests", "tokens": {"input": 2100, "output": 1230}}
_CONTINUE = {"decision": {"type": "CONTINUE", "reason": "two steps are left"}}
_RETRY = {"decision": {"type": "RETRY", "reason": "a test is red"}}
_END = {"decision": {"type": "COMPLETE", "summary": "all steps are done"}}
_ERROR = {"error": {"code": "rate_limited", "message": "429"}}

LOOP: tuple[tuple[str, dict[str, Any]], ...] = (
    ("START_TASK", {"task": "Implement user authentication"}),
    ("AGENT_SELECTED", _AGENT),
    ("AGENT_COMPLETE", _DONE),
    ("DECIDED", _CONTINUE),
    ("AGENT_SELECTED", _AGENT),
    ("AGENT_ERROR", _ERROR),
    ("RECOVER", {}),
    ("AGENT_SELECTED", _AGENT),
    ("AGENT_COMPLETE", _DONE),
    ("DECIDED", _RETRY),
    ("AGENT_SELECTED", _AGENT),
    ("AGENT_COMPLETE", _DONE),
    ("DECIDED", _END),
    ("RESET", {}),
)
RECOVERABLE = ("rate_limited", "network_error")

# ---------------------------------------------------------------- rawko's functions


def is_complete(context: Any, event: Any) -> bool:
    return bool(event.decision.type == "COMPLETE")


def should_retry(context: Any, event: Any) -> bool:
    return bool(event.decision.type == "RETRY")


def max_iterations_reached(context: Any, event: Any) -> bool:
    return bool(context.iteration_count >= context.max_iterations)


def max_failures_reached(context: Any, event: Any) -> bool:
    return bool(context.consecutive_failures >= 3)


def is_recoverable(context: Any, event: Any) -> bool:
    return context.last_error is not None and context.last_error.code in RECOVERABLE


def begin_task(context: Any, event: Any) -> Any:
    return assign(
        task=event.task,
        started_at=event.at_ms,
        iteration_count=0,
        consecutive_failures=0,
        total_failures=0,
        history=[],
        last_error=None,
    )


def choose_agent(context: Any, event: Any) -> Any:
    return assign(
        agent=event.agent,
        mode=event.mode,
        decision={"type": "SELECT_MODE", "mode": event.mode, "reason": event.reason},
        iteration_count=context.iteration_count + 1,
    )


def record_success(context: Any, event: Any) -> Any:
    entry = {
        "agent": context.mode,
        "iteration": context.iteration_count,
        "result": "success",
        "output": event.summary,
        "tokens": event.tokens,
    }
    return assign(consecutive_failures=0, last_error=None), append("history", entry)


def record_failure(context: Any, event: Any) -> Any:
    entry = {
        "agent": context.mode,
        "iteration": context.iteration_count,
        "result": "failure",
        "error": event.error.message,
    }
    counted = assign(
        consecutive_failures=context.consecutive_failures + 1,
        total_failures=context.total_failures + 1,
        last_error=event.error,
    )
    return counted, append("history", entry)


def keep_decision(context: Any, event: Any) -> Any:
    return assign(decision=event.decision)


GUARDS = (is_complete, should_retry, max_iterations_reached, max_failures_reached, is_recoverable)
ACTIONS = (begin_task, choose_agent, record_success, record_failure, keep_decision)


def bind(bindings: Bindings) -> None:
    """Add the functions to rawko's bindings."""
    for guard in GUARDS:
        bindings.guard(guard)
    for action in ACTIONS:
        bindings.action(action)


# ---------------------------------------------------------------- the same on a mutable object, for `transitions`


class CodedModel:
    """Context, guards and actions as methods that take the payload."""

    state: Any
    trigger: Any

    def __init__(self) -> None:
        self.task, self.started_at, self.mode = "", 0, ""
        self.agent: Any = None
        self.decision: Any = None
        self.last_error: Any = None
        self.history: list[Any] = []
        self.iteration_count = self.consecutive_failures = self.total_failures = 0
        self.max_iterations = 50

    def is_complete(self, decision: Any) -> bool:
        return bool(decision["type"] == "COMPLETE")

    def should_retry(self, decision: Any) -> bool:
        return bool(decision["type"] == "RETRY")

    def max_iterations_reached(self, decision: Any) -> bool:
        return self.iteration_count >= self.max_iterations

    def max_failures_reached(self) -> bool:
        return self.consecutive_failures >= 3

    def is_recoverable(self) -> bool:
        return self.last_error is not None and self.last_error["code"] in RECOVERABLE

    def begin_task(self, task: str) -> None:
        self.task, self.started_at = task, 0
        self.iteration_count = self.consecutive_failures = self.total_failures = 0
        self.history, self.last_error = [], None

    def choose_agent(self, agent: Any, mode: str, reason: str) -> None:
        self.agent, self.mode = agent, mode
        self.decision = {"type": "SELECT_MODE", "mode": mode, "reason": reason}
        self.iteration_count += 1

    def record_success(self, summary: str, tokens: Any) -> None:
        self.consecutive_failures, self.last_error = 0, None
        self.history.append(
            {
                "agent": self.mode,
                "iteration": self.iteration_count,
                "result": "success",
                "output": summary,
                "tokens": tokens,
            }
        )

    def record_failure(self, error: Any) -> None:
        self.consecutive_failures += 1
        self.total_failures += 1
        self.last_error = error
        self.history.append(
            {
                "agent": self.mode,
                "iteration": self.iteration_count,
                "result": "failure",
                "error": error["message"],
            }
        )

    def keep_decision(self, decision: Any) -> None:
        self.decision = decision
