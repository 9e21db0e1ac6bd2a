"""Errors of the node engine.

NodeEngineError
├── UnknownNode     no node of that name is registered
├── DuplicateNode   two nodes have the same name
├── MissingPort     a node needs a port that no adapter is bound to
├── MissingInput    a run has no seed, or no first node
├── UnknownDriver   AGENT_DRIVER does not name a driver
├── LeaseTaken      another worker has the run
└── LeaseLost       the run belongs to another worker now
"""

from __future__ import annotations

from collections.abc import Iterable

from rawko.vocabulary.documents import accepted


class NodeEngineError(Exception):
    """Base of all errors of the node engine."""


class UnknownNode(NodeEngineError):
    """`name` is not registered; `where` says who names it."""

    def __init__(self, name: str, known: Iterable[str], where: str = "") -> None:
        names = sorted(known)
        source = f" ({where})" if where else ""
        super().__init__(f"no node {name!r}{source}{accepted(names, found=name, label='nodes')}")
        self.name = name
        self.where = where


class DuplicateNode(NodeEngineError):
    """`name` is registered already."""

    def __init__(self, name: str) -> None:
        super().__init__(f"node {name!r} is registered twice")
        self.name = name


class MissingPort(NodeEngineError):
    """`port` has no adapter. `node` declares the port; "" where no node does."""

    def __init__(self, port: str, bound: Iterable[str], node: str = "") -> None:
        whose = f" of node {node!r}" if node else ""
        super().__init__(f"port {port!r}{whose} has no adapter{accepted(sorted(bound), found=port, label='bound')}")
        self.port = port
        self.node = node


class MissingInput(NodeEngineError):
    """The context fields `names` are empty, and every run needs them."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        lacking = " and no ".join(map(repr, self.names))
        super().__init__(f"the context has no {lacking}; accepted: NodeEngineContext(node_name=..., seed=...)")


class UnknownDriver(NodeEngineError):
    """`name` is not the name of a driver."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"AGENT_DRIVER is {name!r}{accepted(known, found=name)}")
        self.name = name


class LeaseTaken(NodeEngineError):
    """The run belongs to `owner` until `expires_at_ms` (epoch milliseconds), if it does not renew its lease."""

    def __init__(self, run_id: str, owner: str, expires_at_ms: int) -> None:
        super().__init__(f"run {run_id!r} is leased by worker {owner!r} until {expires_at_ms} (epoch ms)")
        self.run_id = run_id
        self.owner = owner
        self.expires_at_ms = expires_at_ms


class LeaseLost(NodeEngineError):
    """`owner` does not have the run's lease any more."""

    def __init__(self, run_id: str, owner: str) -> None:
        super().__init__(f"run {run_id!r} does not belong to {owner!r} any more")
        self.run_id = run_id
        self.owner = owner
