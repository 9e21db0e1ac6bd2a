"""The arbiter's two inputs, built from the context: for selecting an agent and for evaluating its work (S6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from rawko.machines.orchestrator.arbiter.history import (
    ExecutionSummary,
    build_execution_history,
    build_execution_summary,
    performances,
)
from rawko.machines.orchestrator.conversation import task_text
from rawko.vocabulary.agent import AgentDescription, ContextOptions
from rawko.vocabulary.base import Data
from rawko.vocabulary.errors import ErrorContext
from rawko.vocabulary.plan import Plan

RECENT_RUNS: Final = 5
"""Number of last runs whose mean duration gives the estimate of the remaining time (C-41)."""

TOLD_MESSAGES: Final = 10
"""Number of the user's latest messages that the arbiter gets."""

_DEFAULTS: Final = ContextOptions()


class ConstraintContext(Data):
    """Limits and progress (S6-050).

    Attributes:
        current_iteration: Number of the coming run, from 1; never of the last one (C-46).
        estimated_tokens_used: Tokens of the whole task so far, the arbiter's included.
        estimated_time_remaining: Milliseconds; None before the first run has ended (C-41).
    """

    max_iterations: int
    current_iteration: int
    iterations_remaining: int
    consecutive_failures: int
    max_consecutive_failures: int
    estimated_tokens_used: int
    time_elapsed_ms: int
    estimated_time_remaining: int | None


class SaidByUser(Data):
    """A message of the user to the arbiter; `iteration` is the number of runs that had begun before it."""

    text: str
    iteration: int


class SelectAgentInput(Data):
    """The arbiter's input for selecting the next agent (S6-010).

    Attributes:
        previous_agent: The agent that was selected last, for RETRY (C-02); None before the first selection.
    """

    task: str
    user_messages: tuple[SaidByUser, ...]
    plan: Plan | None
    history: tuple[ExecutionSummary, ...]
    last_error: ErrorContext | None
    available_agents: tuple[AgentDescription, ...]
    previous_agent: str | None
    constraints: ConstraintContext


class EvaluateProgressInput(Data):
    """The arbiter's input for evaluating progress (S6-011), with the agents that it may select."""

    task: str
    user_messages: tuple[SaidByUser, ...]
    plan: Plan | None
    last_execution: ExecutionSummary
    history: tuple[ExecutionSummary, ...]
    available_agents: tuple[AgentDescription, ...]
    constraints: ConstraintContext


def construct_select_agent_input(context: Any, *, now_ms: int) -> SelectAgentInput:
    """The input of `arbiter_select_agent`.

    Args:
        context: The orchestrator's context.
        now_ms: Epoch milliseconds.

    Source: S6-020, S6-021, S6-033, C-42, C-46, C-49.
    """
    runs = context.history
    return SelectAgentInput(
        task=task_text(context),
        user_messages=_user_messages(context),
        plan=_plan(context),
        history=build_execution_history(
            runs,
            max_entries=_options_of_last(context).history_select,
            now_ms=now_ms,
            summary_chars=lambda agent: _options(context, agent).summary_chars.select,
        ),
        last_error=_last_error(context),
        available_agents=_available_agents(context),
        previous_agent=context.current_mode or None,
        constraints=build_constraints(context, now_ms=now_ms),
    )


def construct_evaluate_progress_input(context: Any, *, now_ms: int) -> EvaluateProgressInput:
    """The input of `arbiter_evaluate`.

    Raises:
        ValueError: Nothing has run yet; the chart's contract on `evaluating` excludes it (C-41).

    Source: S6-023, S6-031, S6-033, C-41, C-46.
    """
    runs = context.history
    if not len(runs):
        raise ValueError("there is no execution to evaluate: the history is empty")
    options = _options_of_last(context)
    return EvaluateProgressInput(
        task=task_text(context),
        user_messages=_user_messages(context),
        plan=_plan(context),
        last_execution=build_execution_summary(
            runs[-1],
            now_ms=now_ms,
            summary_chars=options.summary_chars.evaluate,
            full_chars=options.full_chars,
        ),
        history=build_execution_history(
            runs,
            max_entries=options.history_evaluate,
            now_ms=now_ms,
            summary_chars=lambda agent: _options(context, agent).summary_chars.evaluate,
        ),
        available_agents=_available_agents(context),
        constraints=build_constraints(context, now_ms=now_ms),
    )


def build_constraints(context: Any, *, now_ms: int) -> ConstraintContext:
    """Limits and progress at `now_ms`.

    Source: S6-050, C-41, C-46.
    """
    current = context.iteration_count + 1
    remaining = max(0, context.max_iterations - current)
    return ConstraintContext(
        max_iterations=context.max_iterations,
        current_iteration=current,
        iterations_remaining=remaining,
        consecutive_failures=context.consecutive_failures,
        max_consecutive_failures=context.max_consecutive_failures,
        estimated_tokens_used=_total_tokens(context.usage),
        time_elapsed_ms=0 if context.started_at is None else max(0, now_ms - context.started_at),
        estimated_time_remaining=_time_remaining(context.history, remaining),
    )


def _total_tokens(usage: Mapping[str, Any]) -> int:
    kinds = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    return sum(usage[kind] for kind in kinds)


def _time_remaining(runs: Sequence[Mapping[str, Any]], remaining: int) -> int | None:
    ended = (run for run in reversed(runs) if run["completed_at"] is not None)
    durations = [run["completed_at"] - run["started_at"] for run in islice(ended, RECENT_RUNS)]
    return round(sum(durations) / len(durations) * remaining) if durations else None


def _available_agents(context: Any) -> tuple[AgentDescription, ...]:
    done = performances(context.history)
    return tuple(
        agent.model_copy(
            update={
                "display_name": agent.display_name or agent.name,
                "recent_performance": done.get(agent.name),
            }
        )
        for agent in (AgentDescription.model_validate(dict(data)) for data in context.agents.values())
    )


def _options(context: Any, agent: str) -> ContextOptions:
    """The agent's own `context:` settings over the defaults (S6-110)."""
    described = context.agents.get(agent)
    return ContextOptions.model_validate(dict(described["context"])) if described else _DEFAULTS


def _options_of_last(context: Any) -> ContextOptions:
    return _options(context, context.history[-1]["agent"]) if len(context.history) else _DEFAULTS


def _user_messages(context: Any) -> tuple[SaidByUser, ...]:
    return tuple(
        SaidByUser(text=said["text"], iteration=said["iteration"]) for said in context.user_messages[-TOLD_MESSAGES:]
    )


def _plan(context: Any) -> Plan | None:
    return None if context.plan is None else Plan.model_validate(dict(context.plan))


def _last_error(context: Any) -> ErrorContext | None:
    return None if context.last_error is None else ErrorContext.model_validate(dict(context.last_error))
