"""The decision after an attempt: one total table, evaluated from the top (NE-010, C-60). Pure.

The chart's state `deciding` has the same conditions as guards, in the same order; a test compares the two for every
kind of result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from rawko.machines.node_engine.context import NodeEngineContext
from rawko.machines.node_engine.policies import backoff_delay_ms, backtrack_target, may_retry, policy_of

Decision: TypeAlias = Literal[
    "backtrack_limit",
    "retry",
    "wait_and_go_on",
    "backtrack",
    "transition",
    "finish",
    "fail_node",
    "fail_undecidable",
]
Question: TypeAlias = Callable[[NodeEngineContext], bool]


def exceeds_backtracks(context: NodeEngineContext) -> bool:
    """The decision would be a step back, and the run has made as many as the policies allow."""
    if context.backtracks < context.policies.max_backtracks:
        return False
    return is_backtracked(context) or policy_backtracks(context)


def retries_same_node(context: NodeEngineContext) -> bool:
    """(1) The engine asks for the same node again; a delay of 0 is a retry, too (C-63)."""
    result = context.result
    return result is not None and result.retry_delay_ms is not None and result.next_node == context.node_name


def waits_before_next(context: NodeEngineContext) -> bool:
    """(1b) The engine asks for another node after a delay (C-60)."""
    result = context.result
    return (
        result is not None
        and result.retry_delay_ms is not None
        and result.next_node is not None
        and result.next_node != context.node_name
    )


def is_backtracked(context: NodeEngineContext) -> bool:
    """(2) The engine asks for a step back."""
    result = context.result
    return result is not None and result.backtracked and result.next_node is not None


def is_success_with_next(context: NodeEngineContext) -> bool:
    """(3) The node succeeded, and the result names a next node."""
    return is_success(context) and _next(context) is not None


def is_success(context: NodeEngineContext) -> bool:
    """(4) The node succeeded; evaluated after (3), so no next node is named."""
    return context.result is not None and context.result.outcome == "SUCCESS"


def policy_retries(context: NodeEngineContext) -> bool:
    """The chart decides, and the node may be retried (NE-020)."""
    if not _is_charts(context):
        return False
    assert context.result is not None
    policy = policy_of(context.policies, context.node_name)
    return may_retry(context, policy, is_retryable=context.result.is_retryable)


def policy_falls_back(context: NodeEngineContext) -> bool:
    """The chart decides, and the node's policy has `on_failure`; evaluated after `policy_retries`."""
    return _is_charts(context) and policy_of(context.policies, context.node_name).on_failure is not None


def policy_backtracks(context: NodeEngineContext) -> bool:
    """The chart decides, no retry and no `on_failure` is left, and the node's policy allows a step back."""
    if not _is_charts(context) or policy_retries(context) or policy_falls_back(context):
        return False
    return backtrack_target(context, policy_of(context.policies, context.node_name)) is not None


def is_failure_with_next(context: NodeEngineContext) -> bool:
    """(4b) The node failed, and the engine named a node to continue with (C-60)."""
    return is_failure(context) and _next(context) is not None


def is_failure(context: NodeEngineContext) -> bool:
    """(5) The node failed; evaluated after (4b), so no next node is named."""
    return context.result is not None and context.result.outcome == "FAILURE"


def _is_charts(context: NodeEngineContext) -> bool:
    """The node failed, and the engine left the decision to the chart."""
    return context.policy == "chart" and is_failure(context) and _next(context) is None


def _next(context: NodeEngineContext) -> str | None:
    return context.result.next_node if context.result is not None else None


TABLE: Final[tuple[tuple[Question, Decision], ...]] = (
    (exceeds_backtracks, "backtrack_limit"),
    (retries_same_node, "retry"),
    (waits_before_next, "wait_and_go_on"),
    (is_backtracked, "backtrack"),
    (is_success_with_next, "transition"),
    (is_success, "finish"),
    (policy_retries, "retry"),
    (policy_falls_back, "transition"),
    (policy_backtracks, "backtrack"),
    (is_failure_with_next, "transition"),
    (is_failure, "fail_node"),
)
"""Conditions in the order in which they are evaluated; where none holds, the result is undecidable."""


def decide(context: NodeEngineContext) -> Decision:
    """The decision after the last attempt. Total: every context has one, even without a result."""
    return next((decision for asks, decision in TABLE if asks(context)), "fail_undecidable")


def target_of(context: NodeEngineContext) -> str:
    """The node that a transition or a step back leads to: named by the engine, else by the policies."""
    named = _next(context)
    if named is not None:
        return named
    policy = policy_of(context.policies, context.node_name)
    target = policy.on_failure if policy.on_failure is not None else backtrack_target(context, policy)
    assert target is not None, "asked only after a decision that has a target"
    return target


def is_way_back(context: NodeEngineContext) -> bool:
    """Whether moving to `target_of` is a step back, which counts against the bound of backtracks."""
    if _next(context) is not None:
        return is_backtracked(context)
    return not policy_falls_back(context) and policy_backtracks(context)


def planned_delay_ms(context: NodeEngineContext) -> int:
    """Milliseconds before the next attempt; `context.retries` already counts this retry (NE-005, C-63)."""
    result = context.result
    assert result is not None
    if result.retry_delay_ms is not None:
        return result.retry_delay_ms
    return backoff_delay_ms(
        context,
        policy_of(context.policies, context.node_name),
        retry=context.retries,
        seed=context.seed,
        retry_after_ms=result.error.retry_after_ms if result.error is not None else None,
    )
