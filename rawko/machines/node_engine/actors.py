"""Actors of the node engine: run_once, should_stop, on_persist, on_attempt. Only they do I/O.

Each reads the machine's JSON, makes one call of `ports`, and returns JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.values import fields_of, thaw
from rawko.machines.node_engine import ports as calls
from rawko.machines.node_engine.context import RunState
from rawko.machines.node_engine.ports import NodeEnginePorts, never_stop
from rawko.machines.node_engine.results import EngineResult
from rawko.runtime.actor_kinds import immediate


def actors(ports: NodeEnginePorts) -> Bindings:
    """Bind the machine's actors to these ports."""
    bound = Bindings()
    bound.add("actor", "run_once", partial(_run_once, ports))
    asks = _go_on if ports.should_stop is never_stop else partial(_should_stop, ports)
    bound.add("actor", "should_stop", asks)
    bound.add("actor", "on_persist", partial(_on_persist, ports))
    bound.add("actor", "on_attempt", partial(_on_attempt, ports))
    return bound


async def _run_once(ports: NodeEnginePorts, input: Mapping[str, Any]) -> Mapping[str, Any]:
    return await calls.run_once_data(ports, _state(input["state"]), thaw(input["ctx"]), input["seed"])


@immediate
def _go_on(input: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer where no `should_stop` is given."""
    return {"stop": False, "reason": None}


async def _should_stop(ports: NodeEnginePorts, input: Mapping[str, Any]) -> dict[str, Any]:
    verdict = await calls.should_stop(ports)
    return {"stop": verdict.stop, "reason": verdict.reason}


async def _on_persist(ports: NodeEnginePorts, input: Mapping[str, Any]) -> None:
    await calls.on_persist(ports, _state(input["state"]), thaw(input["events"]), input["node_name"])


async def _on_attempt(ports: NodeEnginePorts, input: Mapping[str, Any]) -> None:
    await calls.on_attempt(ports, EngineResult.model_validate(thaw(input["result"])))


def _state(given: Mapping[str, Any]) -> RunState:
    """A RunState copied from the input, so that changes by the callee do not reach the machine's context."""
    own = {"path": tuple(given["path"]), "data": thaw(given["data"]), "result": thaw(given["result"])}
    return RunState.model_validate({**fields_of(given), **own})
