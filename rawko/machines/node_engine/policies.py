"""Policies for retry, backoff, backtrack and transition, and the decisions about a failed attempt from them. Pure.

The engine calls these functions where it decides itself; the chart's guards and delays call them where the chart does
(`policy: chart`). Both therefore walk the same way (NE-020).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Protocol

from pydantic import Field, model_validator

from rawko.machines.agent_loop.backoff import backoff_ms
from rawko.machines.node_engine.results import EngineResult, Milliseconds, Name
from rawko.vocabulary.base import Data
from rawko.vocabulary.documents import parse_document


class RetryPolicy(Data):
    """Number of retries of a node, and the delays before them: doubling from `base_ms`, at most `cap_ms`.

    Half of each delay is jitter from the run's seed (C-67). `base_ms: 0` retries at once.
    """

    max_retries: Annotated[int, Field(ge=0)] = 3
    base_ms: Milliseconds = 1_000
    cap_ms: Milliseconds = 60_000

    @model_validator(mode="after")
    def _in_order(self) -> RetryPolicy:
        if self.cap_ms < self.base_ms:
            raise ValueError(f"cap_ms {self.cap_ms} is below base_ms {self.base_ms}")
        return self


class NodePolicy(Data):
    """The policy of one node.

    A failed attempt is retried first; then the walk goes to `on_failure`, else back if allowed, else it fails.

    Attributes:
        on_success: The node after a success that names none itself; None ends the run.
        on_failure: The node after a failure that is not retried; the run is then degraded.
        can_backtrack: After a failure the walk may go back, to `backtrack_to` or else to the node before.
        timeout_ms: Bound of one attempt of the node.
    """

    retry: RetryPolicy = RetryPolicy()
    on_success: Name | None = None
    on_failure: Name | None = None
    can_backtrack: bool = False
    backtrack_to: Name | None = None
    timeout_ms: Annotated[int, Field(ge=1)] = 600_000

    @model_validator(mode="after")
    def _backtracks_or_not(self) -> NodePolicy:
        if self.backtrack_to is not None and not self.can_backtrack:
            raise ValueError(f"backtrack_to is {self.backtrack_to!r}, but can_backtrack is not true")
        return self


class Policies(Data):
    """The policies of all nodes. A node with a policy of its own takes nothing from `default`.

    `max_backtracks`: steps back in one run; one more fails the run, so that no run loops for ever.
    """

    default: NodePolicy = NodePolicy()
    nodes: dict[str, NodePolicy] = Field(default_factory=dict)
    max_backtracks: Annotated[int, Field(ge=0)] = 10


def parse_policies(text: str, *, source: str = "policies") -> Policies:
    """Policies parsed from YAML.

    Raises:
        DocumentError: The text is not YAML or does not fit; the message has every defect with line and column.
    """
    return parse_document(text, Policies, source=source)


class Walk(Protocol):
    """The fields that policies depend on: of a RunState, or of the machine's context."""

    @property
    def node_name(self) -> str: ...
    @property
    def step_ordinal(self) -> int: ...
    @property
    def retries(self) -> int: ...
    @property
    def path(self) -> tuple[str, ...]: ...


def policy_of(policies: Policies, node: str) -> NodePolicy:
    """The node's own policy, or the default."""
    nodes: Mapping[str, NodePolicy] = policies.nodes
    return nodes.get(node, policies.default)


def may_retry(walk: Walk, policy: NodePolicy, *, is_retryable: bool) -> bool:
    """Whether the failure is retryable and the node has retries left."""
    return is_retryable and walk.retries < policy.retry.max_retries


def backtrack_target(walk: Walk, policy: NodePolicy) -> str | None:
    """The node to go back to after a failure; None where the policy allows no step back."""
    if not policy.can_backtrack:
        return None
    if policy.backtrack_to is not None:
        return policy.backtrack_to
    return walk.path[-1] if len(walk.path) else None


def backoff_delay_ms(
    walk: Walk, policy: NodePolicy, *, retry: int, seed: int | str, retry_after_ms: int | None = None
) -> int:
    """Milliseconds before retry number `retry` (from 1) of the current node; equal for equal seeds."""
    return backoff_ms(
        retry,
        base_ms=policy.retry.base_ms,
        cap_ms=policy.retry.cap_ms,
        seed=seed,
        key=f"{walk.node_name}:{walk.step_ordinal}",
        retry_after_ms=retry_after_ms,
    )


def applied(result: EngineResult, walk: Walk, policies: Policies, seed: int | str) -> EngineResult:
    """A node's own result completed with the engine's decision: next node, delay, whether it is a step back.

    A success, and a failure that names its next node, need no decision.
    """
    if result.outcome != "FAILURE" or result.next_node is not None:
        return result
    return result.model_copy(update=_decision(result, walk, policy_of(policies, walk.node_name), seed))


def _decision(result: EngineResult, walk: Walk, policy: NodePolicy, seed: int | str) -> Mapping[str, Any]:
    if may_retry(walk, policy, is_retryable=result.is_retryable):
        wish = result.error.retry_after_ms if result.error is not None else None
        delay = backoff_delay_ms(walk, policy, retry=walk.retries + 1, seed=seed, retry_after_ms=wish)
        return {"next_node": walk.node_name, "retry_delay_ms": delay}
    if policy.on_failure is not None:
        return {"next_node": policy.on_failure}
    back = backtrack_target(walk, policy)
    return {} if back is None else {"next_node": back, "backtracked": True}
