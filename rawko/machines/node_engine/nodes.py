"""Nodes, the ports that they need, and the registry: a node is added in one place. Pure; nothing is called here.

SCREEN = Port[Screen]("screen")
nodes = NodeRegistry()

@nodes.node(ports=[SCREEN])
async def perceive(call: NodeCall) -> NodeOutcome:
    text = await call.port(SCREEN).read()
    return succeeded(data={"text": text})
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar, cast

from rawko.machines.node_engine.context import RunState
from rawko.machines.node_engine.errors import DuplicateNode, MissingPort, UnknownNode
from rawko.vocabulary.errors import Category

T = TypeVar("T")

# ---------------------------------------------------------------- ports and adapters


@dataclass(frozen=True)  # no slots: with them, Port[Screen](...) raises in Python 3.11
class Port(Generic[T]):
    """What a node needs of the world, by name; T is the Protocol that an adapter has."""

    name: str
    description: str = field(default="", compare=False)


class Adapters:
    """Which adapter stands behind which port. Frozen: `bound` gives another one."""

    def __init__(self, adapters: Mapping[str, object] | None = None) -> None:
        self._adapters = dict(adapters or {})

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the ports that have an adapter."""
        return tuple(self._adapters)

    def bound(self, port: Port[T], adapter: T) -> Adapters:
        """These adapters and one more, or another one behind that port."""
        return Adapters({**self._adapters, port.name: adapter})

    def get(self, port: Port[T]) -> T:
        """The adapter of a port.

        Raises:
            MissingPort: None is bound.
        """
        if port.name not in self._adapters:
            raise MissingPort(port.name, self._adapters)
        return cast(T, self._adapters[port.name])

    def __contains__(self, port: Port[Any]) -> bool:
        return port.name in self._adapters

    def only(self, ports: Iterable[Port[Any]]) -> Adapters:
        """The adapters of some ports: a node sees what it has declared, and nothing else."""
        names = {port.name for port in ports}
        return Adapters({name: adapter for name, adapter in self._adapters.items() if name in names})

    def __repr__(self) -> str:
        return f"Adapters({', '.join(sorted(self._adapters))})"


# ---------------------------------------------------------------- what a handler is given and gives


@dataclass(frozen=True, slots=True)
class NodeCall:
    """One attempt of a node.

    Attributes:
        state: Where the walk stands; `state.data` is what the nodes know.
        adapters: Those of the ports that the node has declared.
        ctx: The run's free data.
        seed: The run's only source of chance.
    """

    node: str
    state: RunState
    adapters: Adapters
    ctx: Mapping[str, Any]
    seed: int | str

    def port(self, port: Port[T]) -> T:
        """The adapter of a port that the node has declared.

        Raises:
            MissingPort: The node has not declared it.
        """
        return self.adapters.get(port)

    def chance(self, purpose: str = "") -> float:
        """A number in [0, 1) that seed, attempt and purpose settle: a replay draws the same (C-67)."""
        return int(self.replay_id(purpose)[:12], 16) / 16**12

    def replay_id(self, purpose: str = "") -> str:
        """An id for what this attempt creates, the same in every replay (C-67)."""
        text = f"{self.seed}:{self.node}:{self.state.step_ordinal}:{purpose}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """What a handler says of its attempt; made by `succeeded` and `failed`.

    Attributes:
        next_node: Where to go on; None leaves that to the policies.
        data: Changes of the state's data, by key.
        events: What it tells, for whoever persists.
        tokens: What it used.
        message, category: Of a failure.
        is_retryable: The same attempt may succeed later.
        retry_after_ms: How long whatever failed asks to wait.
    """

    is_success: bool
    next_node: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Mapping[str, Any]] = ()
    tokens: int = 0
    message: str = ""
    category: Category = "tool_failure"
    is_retryable: bool = True
    retry_after_ms: int | None = None


def succeeded(
    next_node: str | None = None,
    *,
    data: Mapping[str, Any] | None = None,
    events: Sequence[Mapping[str, Any]] = (),
    tokens: int = 0,
) -> NodeOutcome:
    """The attempt did what the node is for. Without `next_node` the node's policy says where to go on."""
    return NodeOutcome(True, next_node, data or {}, events, tokens)


def failed(
    message: str,
    next_node: str | None = None,
    *,
    category: Category = "tool_failure",
    is_retryable: bool = True,
    retry_after_ms: int | None = None,
    data: Mapping[str, Any] | None = None,
    events: Sequence[Mapping[str, Any]] = (),
    tokens: int = 0,
) -> NodeOutcome:
    """The attempt failed. With `next_node` the run goes on there at once, degraded; else the policies decide."""
    return NodeOutcome(False, next_node, data or {}, events, tokens, message, category, is_retryable, retry_after_ms)


Handler: TypeAlias = Callable[[NodeCall], Awaitable[NodeOutcome]]
H = TypeVar("H", bound=Handler)

# ---------------------------------------------------------------- the registry


@dataclass(frozen=True, slots=True)
class Node:
    """A named handler and the ports that it needs."""

    name: str
    handler: Handler
    ports: tuple[Port[Any], ...] = ()


class NodeRegistry:
    """All nodes that a run may visit."""

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._nodes: dict[str, Node] = {}
        for node in nodes:
            self.add(node)

    def add(self, node: Node) -> None:
        """Register a node.

        Raises:
            DuplicateNode: One of that name is there.
        """
        if node.name in self._nodes:
            raise DuplicateNode(node.name)
        self._nodes[node.name] = node

    def node(self, name: str | None = None, *, ports: Iterable[Port[Any]] = ()) -> Callable[[H], H]:
        """Register the decorated async function as a node, under its own name or another."""

        def register(handler: H) -> H:
            own = str(getattr(handler, "__name__", repr(handler)))
            self.add(Node(name or own, handler, tuple(ports)))
            return handler

        return register

    def get(self, name: str, where: str = "") -> Node:
        """The node of a name; `where` says who names it, for the message.

        Raises:
            UnknownNode: There is none; the message has the nearest spelling.
        """
        found = self._nodes.get(name)
        if found is None:
            raise UnknownNode(name, self._nodes, where)
        return found

    def require_ports(self, adapters: Adapters) -> None:
        """Check that every node has all it needs.

        Raises:
            MissingPort: A port has no adapter.
        """
        for node in self:
            for port in node.ports:
                if port not in adapters:
                    raise MissingPort(port.name, adapters.names, node.name)

    def __contains__(self, name: str) -> bool:
        return name in self._nodes

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)

    def __repr__(self) -> str:
        return f"NodeRegistry({', '.join(self._nodes)})"
