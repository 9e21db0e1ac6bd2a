"""Retry, backoff, backtrack and transition as data, and what follows from it for a failed attempt. Pure.

The engine asks these functions where it decides itself, the chart's guards and delays ask them where the chart does
(`policy: chart`); so both walk the same way (NE-020).
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
    """How often a node is tried again, and how long that waits: doubling from `base_ms`, at most `cap_ms`.

    Half of each delay is jitter from the run's seed (C-67). `base_ms: 0` is at once.
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
    """What happens around one node.

    A failed attempt is retried first; then the walk goes to `on_failure`, or else back, or else it fails.

    Attributes:
        on_success: Where a success leads that names no node itself; None ends the run.
        on_failure: Where a failure leads that is not retried any more; the run is then degraded.
        can_backtrack: A failure may lead back, to `backtrack_to` or else to the node before.
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
    """The policies of all nodes. A node that has its own takes nothing from `default`.

    `max_backtracks`: ways back in one run; one more ends it as failed, so that no run goes round for ever.
    """

    default: NodePolicy = NodePolicy()
    nodes: dict[str, NodePolicy] = Field(default_factory=dict)
    max_backtracks: Annotated[int, Field(ge=0)] = 10


def parse_policies(text: str, *, source: str = "policies") -> Policies:
    """The policies that a YAML text says.

    Raises:
        DocumentError: It is not YAML, or says something else; every defect is told with its line and column.
    """
    return parse_document(text, Policies, source=source)


class Walk(Protocol):
    """What the policies look at: a RunState, or the machine's context."""

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
    """The failure may pass, and the node has retries left."""
    return is_retryable and walk.retries < policy.retry.max_retries


def backtrack_target(walk: Walk, policy: NodePolicy) -> str | None:
    """Where a failure of the node leads back to; None where it does not."""
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
    """A node's own result with the engine's decision in it: the next node, how long to wait, whether it is a way back.

    A success, and a failure that names where to go on, are decided already.
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
