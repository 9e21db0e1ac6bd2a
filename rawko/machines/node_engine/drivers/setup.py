"""What both drivers are given, and what a driver is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from rawko.machines.node_engine.context import REQUESTED, NodeEngineContext, RunReport
from rawko.machines.node_engine.engine import NodeEngine
from rawko.machines.node_engine.errors import MissingInput
from rawko.machines.node_engine.nodes import Adapters, NodeRegistry
from rawko.machines.node_engine.ports import (
    Callbacks,
    NoCallbacks,
    NodeEnginePorts,
    ShouldStop,
    callbacks_called,
    never_stop,
)
from rawko.machines.node_engine.walk import missing_input
from rawko.runtime.session import LogWriter

Observer: TypeAlias = Callable[[str, Mapping[str, Any]], None]
"""Called with the name and the data of every event that a run tells (see `notes`)."""


@dataclass(frozen=True, slots=True)
class RunSetup:
    """One run: where it begins, by what rules, and on what ports.

    Attributes:
        context: Its input; `context_from` makes one of a state that was persisted.
        log: Where log lines go, as (level, message, fields); `logging` by default.
    """

    context: NodeEngineContext
    ports: NodeEnginePorts
    observe: Observer | None = None
    log: LogWriter | None = None

    @property
    def input(self) -> NodeEngineContext:
        """What a driver begins with: the context, which knows the callbacks that there are."""
        return self.context.model_copy(update={"callbacks": callbacks_called(self.ports)})


class Driver(Protocol):
    """Drives one run to its end."""

    async def run(self) -> RunReport:
        """Run to the end. Called once."""
        ...

    def stop(self, reason: str = REQUESTED) -> None:
        """Ask the run to stop; it does so wherever it is, and keeps what it is writing (C-62)."""
        ...


def set_up(
    nodes: NodeRegistry,
    context: NodeEngineContext,
    *,
    adapters: Adapters | None = None,
    callbacks: Callbacks | None = None,
    should_stop: ShouldStop = never_stop,
    observe: Observer | None = None,
    log: LogWriter | None = None,
) -> RunSetup:
    """A run over registered nodes, checked before it begins; the context says by what policies, and who decides.

    Raises:
        MissingInput: The context has no seed, or no first node.
        UnknownNode: The first node, or one that a policy names, is not registered.
        MissingPort: A node needs a port that no adapter is bound to.
    """
    engine = NodeEngine(nodes, context.policies, policy=context.policy)
    if missing := missing_input(context):
        raise MissingInput(missing)
    nodes.get(context.node_name, "the first node")
    bound = adapters or Adapters()
    nodes.require_ports(bound)
    ports = NodeEnginePorts(engine, bound, callbacks or NoCallbacks(), should_stop)
    return RunSetup(context, ports, observe, log)
