"""The engine: runs one attempt of one node. A failure of the node's handler becomes a result, never an exception."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ValidationError

from rawko.machines.node_engine.context import RunState
from rawko.machines.node_engine.errors import NodeEngineError
from rawko.machines.node_engine.nodes import Adapters, NodeCall, NodeOutcome, NodeRegistry
from rawko.machines.node_engine.policies import NodePolicy, Policies, applied, policy_of
from rawko.machines.node_engine.ports import first_defect
from rawko.machines.node_engine.results import EngineResult
from rawko.vocabulary.errors import Category, ErrorContext


class NodeEngine:
    """Runs nodes of a registry, one attempt at a time (NE-001, NE-009).

    Args:
        policy: "engine": the engine decides on retry, backoff and steps back, and its results contain the decision.
            "chart": the result is the node's own, and the machine decides (NE-020).

    Raises:
        UnknownNode: A policy names a node that is not registered.
    """

    def __init__(
        self, nodes: NodeRegistry, policies: Policies | None = None, *, policy: Literal["engine", "chart"] = "engine"
    ) -> None:
        self.nodes = nodes
        self.policies = policies or Policies()
        self.policy = policy
        require_known(nodes, self.policies)

    async def run_once(
        self, node: str, state: RunState, ports: Adapters, ctx: Mapping[str, Any], seed: int | str
    ) -> EngineResult:
        """Run one attempt. A handler that raises, returns an invalid value or times out gives a failed result.

        Raises:
            UnknownNode: No node of this name is registered.
        """
        entry = self.nodes.get(node)
        policy = policy_of(self.policies, node)
        call = NodeCall(node, state, ports.only(entry.ports), ctx, seed)
        try:
            async with asyncio.timeout(policy.timeout_ms / 1000) as bound:
                outcome: object = await entry.handler(call)
            result = self._read(node, outcome, policy)
        except NodeEngineError as error:
            result = _failure(node, str(error), "validation_error", is_retryable=False)
        except TimeoutError as error:
            late = f"did not end within {policy.timeout_ms} ms"
            result = _failure(node, late if bound.expired() else _said(error), "timeout")
        except Exception as error:  # noqa: BLE001 - a handler is foreign code: its failure is a result
            result = _failure(node, _said(error), "tool_failure")
        return applied(result, state, self.policies, seed) if self.policy == "engine" else result

    def _read(self, node: str, outcome: object, policy: NodePolicy) -> EngineResult:
        """The handler's answer as a result; a success without a next node gets that of the policy.

        Raises:
            UnknownNode: The answer names a node that is not registered.
        """
        if not isinstance(outcome, NodeOutcome):
            told = f"answered {outcome!r:.80}; accepted: succeeded(...) or failed(...)"
            return _failure(node, told, "validation_error", is_retryable=False)
        if outcome.next_node is not None:
            self.nodes.get(outcome.next_node, f"the next node of {node!r}")
        try:
            return EngineResult(
                outcome="SUCCESS" if outcome.is_success else "FAILURE",
                next_node=outcome.next_node or (policy.on_success if outcome.is_success else None),
                events=tuple(dict(event) for event in outcome.events),
                data=dict(outcome.data),
                tokens=outcome.tokens,
                is_retryable=outcome.is_retryable,
                error=None if outcome.is_success else _error_of(node, outcome),
            )
        except (ValueError, TypeError) as error:  # a negative count, events that are no mappings
            told = first_defect(error) if isinstance(error, ValidationError) else str(error)
            return _failure(node, f"answered nonsense: {told}", "validation_error", is_retryable=False)


def require_known(nodes: NodeRegistry, policies: Policies) -> None:
    """Check that policies name only registered nodes.

    Raises:
        UnknownNode: The message says which policy names the node.
    """
    for name in policies.nodes:
        nodes.get(name, "a policy")
    for owner, policy in [("default", policies.default), *policies.nodes.items()]:
        for key in ("on_success", "on_failure", "backtrack_to"):
            target = getattr(policy, key)
            if target is not None:
                nodes.get(target, f"{key} of the policy of {owner!r}")


def _error_of(node: str, outcome: NodeOutcome) -> ErrorContext:
    return ErrorContext(
        agent=node,
        attempted=f"node {node!r}",
        message=outcome.message or f"node {node!r} failed",
        category=outcome.category,
        retry_after_ms=outcome.retry_after_ms,
    )


def _failure(node: str, told: str, category: Category, *, is_retryable: bool = True) -> EngineResult:
    error = ErrorContext(agent=node, attempted=f"node {node!r}", message=f"node {node!r}: {told}", category=category)
    return EngineResult(outcome="FAILURE", is_retryable=is_retryable, error=error)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
