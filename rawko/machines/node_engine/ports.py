"""What the machine needs of the world, and the four calls that both drivers make: each answers data, or fails as data.

Whatever an engine or a callback raises or returns, a driver gets a checked value or an `ActorFailed`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from pydantic import ValidationError

from rawko.interpreter.data.context_model import checked
from rawko.interpreter.data.values import Record, thaw
from rawko.interpreter.errors import NotJsonError
from rawko.machines.node_engine.context import CALLBACKS, CallbackName, RunState, StopCheck
from rawko.machines.node_engine.errors import NodeEngineError
from rawko.machines.node_engine.nodes import Adapters
from rawko.machines.node_engine.results import EngineResult
from rawko.runtime.actor_kinds import ActorFailed
from rawko.vocabulary.errors import Category, ErrorContext


class Engine(Protocol):
    """Runs one attempt of one node."""

    async def run_once(
        self, node: str, state: RunState, ports: Adapters, ctx: Mapping[str, Any], seed: int | str
    ) -> EngineResult:
        """What the attempt came to; an engine may also answer the same as a plain mapping."""
        ...


class Callbacks(Protocol):
    """Whom a driver tells of attempts, in this order (NE-006)."""

    async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
        """Keep the state; the attempt is told of only when this returns.

        May be called twice with one state: by a run that was killed and goes on.
        """
        ...

    async def on_attempt(self, result: EngineResult) -> None:
        """An attempt is over, and kept."""
        ...


class NoCallbacks:
    """Nobody keeps anything, nobody is told: neither is called. Derive from it to have one of the two."""

    async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
        pass

    async def on_attempt(self, result: EngineResult) -> None:
        pass


ShouldStop: TypeAlias = Callable[[], Awaitable[StopCheck]]


async def never_stop() -> StopCheck:
    """Nobody wants it to stop."""
    return StopCheck()


@dataclass(frozen=True, slots=True)
class NodeEnginePorts:
    """What a run needs of the world (NE-003).

    Attributes:
        adapters: What stands behind the nodes' ports.
        should_stop: Asked before every attempt, and during waits.
        called: Which callbacks are called; None: those that are not NoCallbacks' own.
    """

    engine: Engine
    adapters: Adapters = field(default_factory=Adapters)
    callbacks: Callbacks = field(default_factory=NoCallbacks)
    should_stop: ShouldStop = never_stop
    called: tuple[CallbackName, ...] | None = None


def callbacks_called(ports: NodeEnginePorts) -> tuple[CallbackName, ...]:
    """The callbacks that somebody waits for: a call that does nothing is not made, and costs no step and no row."""
    if ports.called is not None:
        return ports.called
    kind = type(ports.callbacks)
    return tuple(name for name in CALLBACKS if getattr(kind, name, None) is not getattr(NoCallbacks, name))


async def run_once(ports: NodeEnginePorts, state: RunState, ctx: Mapping[str, Any], seed: int | str) -> EngineResult:
    """One attempt of the state's node.

    Raises:
        ActorFailed: The engine raised, or answered what is no result: a delay that is negative or not a number, say.
    """
    return EngineResult.model_validate(thaw(await run_once_data(ports, state, ctx, seed)))


async def run_once_data(ports: NodeEnginePorts, state: RunState, ctx: Mapping[str, Any], seed: int | str) -> Record:
    """As `run_once`, for a machine, which takes data: nothing in it can be changed by the engine any more.

    Raises:
        ActorFailed: As `run_once`.
    """
    try:
        answer: object = await ports.engine.run_once(state.node_name, state, ports.adapters, ctx, seed)
    except Exception as error:
        raise _failed("run_once", error) from error
    return _checked_result(answer)


async def should_stop(ports: NodeEnginePorts) -> StopCheck:
    """Whether the run must stop.

    Raises:
        ActorFailed: It raised, or answered what is no StopCheck.
    """
    try:
        answer: object = await ports.should_stop()
        return StopCheck.model_validate(answer)
    except Exception as error:
        raise _failed("should_stop", error) from error


async def on_persist(
    ports: NodeEnginePorts, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str
) -> None:
    """Keep the state.

    Raises:
        ActorFailed: It raised.
    """
    try:
        await ports.callbacks.on_persist(state, tuple(events), node_name)
    except Exception as error:
        raise _failed("on_persist", error) from error


async def on_attempt(ports: NodeEnginePorts, result: EngineResult) -> None:
    """Tell of the attempt.

    Raises:
        ActorFailed: It raised.
    """
    try:
        await ports.callbacks.on_attempt(result)
    except Exception as error:
        raise _failed("on_attempt", error) from error


def _checked_result(answer: object) -> Record:
    """The result as JSON says it."""
    try:
        return checked(EngineResult, answer, "result")
    except (ValueError, NotJsonError) as error:
        raise _failed("run_once", error) from error


def _failed(attempted: str, error: Exception) -> ActorFailed:
    return ActorFailed(ErrorContext(attempted=attempted, message=_words(error, attempted), category=_category(error)))


def _words(error: Exception, attempted: str) -> str:
    if isinstance(error, ValidationError):
        return f"{attempted} answered nonsense: {first_defect(error)}"
    return str(error) if isinstance(error, NodeEngineError) else f"{type(error).__name__}: {error}"


def _category(error: Exception) -> Category:
    match error:
        case ActorFailed(error={"category": "permission_error"}):
            return "permission_error"
        case TimeoutError():
            return "timeout"
        case NodeEngineError() | ValueError() | NotJsonError():
            return "validation_error"
        case _:
            return "unknown"


def first_defect(error: ValidationError) -> str:
    """What is wrong first, in one line."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the answer"
    return f"{place}: {first['msg']}, found {first['input']!r:.80}"
