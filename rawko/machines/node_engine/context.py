"""What a walk over nodes is given, what it remembers, and what it comes to: the domain of the node engine.

All of it is JSON (C-26). In guards and actions the context is a frozen record with these fields; the plain loop holds
a `NodeEngineContext` itself. Ports, handlers and callbacks are no data: they stand in `nodes` and `actors`.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field

from rawko.machines.node_engine.policies import Policies
from rawko.machines.node_engine.results import Count, EngineResult, Name
from rawko.vocabulary.base import Data
from rawko.vocabulary.errors import ErrorContext

Ending: TypeAlias = Literal["finished", "failed", "stopped"]
FailureReason: TypeAlias = Literal[
    "missing_input",
    "node_failed",
    "undecidable_result",
    "backtrack_limit",
    "engine_error",
    "check_failed",
    "persist_failed",
    "report_failed",
]
BudgetReason: TypeAlias = Literal["attempts", "tokens", "wall_time"]
CallbackName: TypeAlias = Literal["on_persist", "on_attempt"]
CALLBACKS: Final[tuple[CallbackName, ...]] = ("on_persist", "on_attempt")

Limit = Annotated[int, Field(ge=1)]

PATH_LIMIT = 32
"""Nodes that a walk remembers, so that it can go back; older ones are forgotten."""

REQUESTED = "requested"
"""Why a run stopped that was told to stop without a reason."""

OUT_OF_TIME: Final[BudgetReason] = "wall_time"


class Budgets(Data):
    """What a run may use; None is no bound. `wall_ms` counts from the start of the run (NE-007, NE-011)."""

    attempts: Limit | None = 1_000
    tokens: Limit | None = None
    wall_ms: Limit | None = None


class StopCheck(Data):
    """The answer of `should_stop` (NE-003)."""

    stop: bool = False
    reason: str | None = None


class RunState(Data):
    """Where a walk stands; what `on_persist` is given, and what a run can go on from.

    Attributes:
        node_name: "" is what a run has that was given none; it fails before its first attempt.
        step_ordinal: Attempts begun so far, so the number of the current one.
        retries: Retries of the current node since it was entered.
        backtracks: Ways back taken in the whole run.
        path: Nodes on the way to the current one, oldest first, at most PATH_LIMIT.
        data: What the nodes know.
        tokens: Used so far.
        started_at_ms: Epoch milliseconds; None before the start.
        is_degraded: The run has gone on somewhere else after a failure (C-60).
        result: Of the last attempt, until the next one begins. A run that is given a state with one decides on it
            before anything else.
    """

    node_name: str = ""
    step_ordinal: Count = 0
    retries: Count = 0
    backtracks: Count = 0
    path: tuple[str, ...] = ()
    data: dict[str, Any] = Field(default_factory=dict)
    tokens: Count = 0
    started_at_ms: int | None = None
    is_degraded: bool = False
    result: EngineResult | None = None


STATE_FIELDS: tuple[str, ...] = tuple(RunState.model_fields)


class NodeEngineContext(RunState):
    """Input and memory of one run.

    A walk must know where it begins and what its chance comes from (C-67): a run without `node_name` or `seed` fails
    when it is started. Their defaults are for those who look at the machine and do not run it: lint, paths, tests.

    Attributes:
        policy: Who decides on retry, backoff and backtrack: the engine, or the chart (NE-020).
        policies: By what; the engine has its own copy.
        ctx: Free data for the nodes.
        check_every_ms: During waits `should_stop` is asked so often (C-62).
        attempt_timeout_ms: Bound of one `run_once`; the nodes' own bounds are shorter.
        call_timeout_ms: Bound of one `should_stop`, `on_persist` or `on_attempt`.
        callbacks: Those that somebody waits for; the others are not called. The drivers set it by what they are given.
        stop_reason: Somebody has asked to stop; None while nobody has.
        outcome, reason: How it ended, and why: a FailureReason, a BudgetReason, or what whoever stopped it said.
        error: What it failed with.
    """

    seed: int | str = ""
    run_id: Name = "run"
    policy: Literal["engine", "chart"] = "engine"
    policies: Policies = Policies()
    budgets: Budgets = Budgets()
    ctx: dict[str, Any] = Field(default_factory=dict)
    check_every_ms: Limit = 1_000
    attempt_timeout_ms: Limit = 3_600_000
    call_timeout_ms: Limit = 30_000
    callbacks: tuple[CallbackName, ...] = CALLBACKS

    stop_reason: str | None = None
    outcome: Ending | None = None
    reason: str | None = None
    error: ErrorContext | None = None


class RunReport(Data):
    """What a run came to; the same from both drivers."""

    run_id: str
    outcome: Ending
    reason: str | None = None
    error: ErrorContext | None = None
    state: RunState


def context_from(state: RunState, *, seed: int | str, **settings: Any) -> NodeEngineContext:
    """The input of a run that goes on from a state that was persisted.

    Raises:
        pydantic.ValidationError: A setting that there is not, or a wrong value.
    """
    return NodeEngineContext.model_validate({**state.to_json(), "seed": seed, **settings})


def state_of(context: NodeEngineContext) -> dict[str, Any]:
    """The fields of the RunState in a context, as they stand there."""
    return {name: getattr(context, name) for name in STATE_FIELDS}
