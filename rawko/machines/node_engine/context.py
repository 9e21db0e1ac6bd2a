"""The input, context and result of a walk over nodes: the data of the node engine.

All of it is JSON (C-26). Guards and actions get the context as a frozen record with these fields; the plain loop has
a `NodeEngineContext` itself. Ports, handlers and callbacks are not data: they are in `nodes` and `actors`.
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
"""Most nodes that a walk remembers for going back; older ones are dropped."""

REQUESTED = "requested"
"""The stop reason of a run that was asked to stop without a reason."""

OUT_OF_TIME: Final[BudgetReason] = "wall_time"


class Budgets(Data):
    """Bounds of a run; None: unbounded. `wall_ms` counts from the start of the run (NE-007, NE-011)."""

    attempts: Limit | None = 1_000
    tokens: Limit | None = None
    wall_ms: Limit | None = None


class StopCheck(Data):
    """The answer of `should_stop` (NE-003)."""

    stop: bool = False
    reason: str | None = None


class RunState(Data):
    """The state of a walk: `on_persist` gets it, and a run can be resumed from it.

    Attributes:
        node_name: The current node; "" in a run that was given none, which fails before its first attempt.
        step_ordinal: Attempts begun so far, which is the number of the current one.
        retries: Retries of the current node since it was entered.
        backtracks: Steps back in the whole run.
        path: Nodes before the current one, oldest first, at most PATH_LIMIT.
        data: The data that nodes share and change.
        tokens: Tokens used so far.
        started_at_ms: Epoch milliseconds; None before the start.
        is_degraded: After a failure the run has continued at another node (C-60).
        result: Result of the last attempt, until the next one begins. A run whose initial state has a result decides on
            it first.
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
    """The input and the state of one run.

    A walk needs a first node and a source of randomness (C-67): a run without `node_name` or `seed` fails when it is
    started. Their defaults are for uses that run nothing: lint, proofs of paths, tests.

    Attributes:
        policy: Whether the engine or the chart decides on retry, backoff and backtrack (NE-020).
        policies: The policies for these decisions; the engine has a copy of its own.
        ctx: Free data for the nodes.
        check_every_ms: Time between two calls of `should_stop` during a delay (C-62).
        attempt_timeout_ms: Bound of one `run_once`; the nodes' own bounds are shorter.
        call_timeout_ms: Bound of one `should_stop`, `on_persist` or `on_attempt`.
        callbacks: The callbacks to call; the drivers derive them from the ports.
        stop_reason: Why the run was asked to stop; None: it was not.
        outcome, reason: How the run ended, and why: a FailureReason, a BudgetReason, or the reason of the stop.
        error: The error of a failed run.
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
    """The result of a run; both drivers give the same."""

    run_id: str
    outcome: Ending
    reason: str | None = None
    error: ErrorContext | None = None
    state: RunState


def context_from(state: RunState, *, seed: int | str, **settings: Any) -> NodeEngineContext:
    """The input of a run that resumes from a persisted state.

    Raises:
        pydantic.ValidationError: An unknown setting, or a wrong value.
    """
    return NodeEngineContext.model_validate({**state.to_json(), "seed": seed, **settings})


def state_of(context: NodeEngineContext) -> dict[str, Any]:
    """The fields of the context that make up a RunState, with their values."""
    return {name: getattr(context, name) for name in STATE_FIELDS}
